"""The iperf parsers against every captured sample, whole and damaged."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator import parsers
from orchestrator.contract import errors
from orchestrator.parsers.base import Capture, Parser, Reading
from tests.unit import samples

NAMES = samples.names("iperf", "seed_iperf2", "syn_iperf", "ssh_tty")
IPERF = [parser for parser in parsers.REGISTRY.values() if parser.name.startswith("iperf")]

#: means over several runs: a parser computes no statistics, whoever imports the table does
BEYOND_A_PARSER = 3
#: how far apart damaged copies are cut; a sample has up to 10,000 bytes
CUT_EVERY = 37


def parser_of(sample: samples.Sample) -> Parser:
    """The parser that a playbook would name for this command."""
    if "_json" in sample.name:
        return parsers.find("iperf3_json@1")
    if "iperf3" in sample.name:
        return parsers.find("iperf3_text@1")
    return parsers.find("iperf2_csv@1" if "csv" in sample.name else "iperf2_text@1")


def read(name: str) -> tuple[Reading | None, samples.Sample]:
    """The reading of a sample; None if it was refused."""
    sample = samples.load(name)
    try:
        return parser_of(sample).parse(sample.capture), sample
    except errors.ParseError:
        return None, sample


@pytest.mark.parametrize("name", NAMES)
def test_status_of_a_sample_is_recognised(name: str) -> None:
    reading, sample = read(name)
    found = "failed" if reading is None else "partial" if reading.partial else "ok"
    assert found == sample.expect["status"]


@pytest.mark.parametrize("name", NAMES)
def test_headline_of_a_sample_is_read_or_not_claimed(name: str) -> None:
    reading, sample = read(name)
    wanted = sample.expect["headline"]
    found = reading.values.get("sum-bandwidth") if reading else None
    if wanted is None:
        assert found is None
    else:
        assert found is not None
        resolution = next(
            (
                m.get("resolution")
                for m in sample.expect["metrics"]
                if m["value"] == wanted["value"]
            ),
            None,
        )
        assert samples.is_near(found.value, {**wanted, "resolution": resolution})


@pytest.mark.parametrize("name", NAMES)
def test_wrong_answers_of_simple_parsers_are_not_given(name: str) -> None:
    reading, sample = read(name)
    assert reading is None or samples.forbidden(reading, sample.expect) == []


def test_metrics_of_all_samples_are_found() -> None:
    lacking = []
    for name in NAMES:
        reading, sample = read(name)
        if reading is not None:
            lacking += [
                (name, metric["name"]) for metric in samples.missing(reading, sample.expect)
            ]
    assert len(lacking) == BEYOND_A_PARSER
    assert {metric for _, metric in lacking} == {"throughput_mean"}


@pytest.mark.parametrize("name", NAMES)
def test_values_are_in_declared_dimensions(name: str) -> None:
    reading, sample = read(name)
    declared = parser_of(sample).fields
    assert reading is None or set(reading.values) <= set(declared)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("seed_")])
def test_cut_output_is_refused_or_read_without_a_better_number(name: str) -> None:
    whole, sample = read(name)
    parser = parser_of(sample)
    for end in range(0, len(sample.capture.out), CUT_EVERY):
        try:
            cut = parser.parse(replace(sample.capture, out=sample.capture.out[:end]))
        except errors.ParseError:
            continue
        bandwidth = cut.values.get("sum-bandwidth")
        if bandwidth is None or cut.partial:
            continue
        assert whole is not None, f"cut at {end}: a number out of a failed run"
        assert bandwidth.value == pytest.approx(whole.values["sum-bandwidth"].value, rel=0.05)


@pytest.mark.parametrize("parser", IPERF, ids=lambda parser: parser.name)
@given(out=st.binary(max_size=300), err=st.binary(max_size=60), rc=st.none() | st.integers(-1, 255))
def test_random_bytes_are_refused(parser: Parser, out: bytes, err: bytes, rc: int | None) -> None:
    with pytest.raises(errors.ParseError):
        parser.parse(Capture(out=out, err=err, rc=rc))


@pytest.mark.parametrize("parser", IPERF, ids=lambda parser: parser.name)
@given(data=st.data())
def test_mangled_output_never_raises_but_parse_errors(parser: Parser, data: st.DataObject) -> None:
    sample = samples.load(data.draw(st.sampled_from(NAMES)))
    raw = bytearray(sample.capture.out)
    for place in data.draw(st.lists(st.integers(0, max(0, len(raw) - 1)), max_size=20)):
        if raw:
            raw[place] = data.draw(st.integers(0, 255))
    try:
        reading = parser.parse(replace(sample.capture, out=bytes(raw)))
    except errors.ParseError:
        return
    assert set(reading.values) <= set(parser.fields)


def test_two_runs_glued_together_give_no_headline() -> None:
    sample = samples.load("iperf2_tcp_p1_3s")
    twice = replace(sample.capture, out=sample.capture.out * 2)
    reading = parsers.find("iperf2_text@1").parse(twice)
    assert "sum-bandwidth" not in reading.values
    assert "several_runs" in reading.flags


@pytest.mark.parametrize("name", ["iperf3_tcp_3s", "iperf3_tcp_p4"])
def test_two_runs_of_iperf3_glued_together_are_refused(name: str) -> None:
    sample = samples.load(name)
    with pytest.raises(errors.ParseError, match="more than one run"):
        parser_of(sample).parse(replace(sample.capture, out=sample.capture.out * 2))


def test_two_different_documents_are_refused() -> None:
    first, second = samples.load("iperf3_json_3s"), samples.load("iperf3_json_reverse")
    both = replace(first.capture, out=first.capture.out + second.capture.out)
    with pytest.raises(errors.ParseError, match="more than one run"):
        parsers.find("iperf3_json@1").parse(both)


def test_refused_connection_is_quoted_in_the_error() -> None:
    sample = samples.load("iperf2_connection_refused_p4")
    with pytest.raises(errors.ParseError, match="tcp connect failed: Connection refused"):
        parser_of(sample).parse(sample.capture)


def test_run_that_ends_early_is_partial() -> None:
    line = b"[SUM]  0.0-280.0 sec    173 GBytes  5.31 Gbits/sec\n"
    command = ("iperf", "-c", "localhost", "-P", "10", "-t", "300")
    reading = parsers.find("iperf2_text@1").parse(Capture(out=line, command=command))
    assert reading.partial
    assert "short_run" in reading.flags


def test_transfer_that_contradicts_the_bandwidth_is_refused() -> None:
    line = b"[SUM]  0.0-300.0 sec  1.73 GBytes  4.96 Gbits/sec\n"
    with pytest.raises(errors.ParseError, match="contradict"):
        parsers.find("iperf2_text@1").parse(Capture(out=line))


def test_streams_that_are_not_all_there_are_not_added() -> None:
    rows = b"[  3]  0.0-10.0 sec   513 MBytes   430 Mbits/sec\n"
    command = ("iperf", "-c", "localhost", "-P", "4", "-t", "10")
    reading = parsers.find("iperf2_text@1").parse(Capture(out=rows, command=command))
    assert "sum-bandwidth" not in reading.values
    assert reading.partial


def test_broken_numbers_of_json_are_repaired_and_flagged() -> None:
    sample = samples.load("iperf3_json_3s")
    broken = sample.capture.out.replace(b'"omit":\t0', b'"omit":\t-nan', 1)
    assert broken != sample.capture.out
    reading = parsers.find("iperf3_json@1").parse(replace(sample.capture, out=broken))
    assert "json_repaired" in reading.flags
    assert reading.values["sum-bandwidth"].value == pytest.approx(19931592589.852535)


def test_deep_nesting_is_refused_without_recursion() -> None:
    bomb = b'{"start": {}, "end": ' + b"[" * 100_000
    with pytest.raises(errors.ParseError):
        parsers.find("iperf3_json@1").parse(Capture(out=bomb))


def test_stream_of_events_reads_like_the_document() -> None:
    events = (
        b'{"event":"start","data":{"test_start":{"duration":2,"num_streams":1}}}\n'
        b'{"event":"interval","data":{"sum":{"start":0,"end":1,"seconds":1,"bytes":9,'
        b'"bits_per_second":72}}}\n'
        b'{"event":"end","data":{"sum_sent":{"start":0,"seconds":2,"bytes":20,'
        b'"bits_per_second":80,"retransmits":1},"sum_received":{"start":0,"seconds":2,'
        b'"bytes":20,"bits_per_second":80}}}\n'
    )
    reading = parsers.find("iperf3_json@1").parse(Capture(out=events))
    assert reading.values["sum-bandwidth"].value == 80
    assert reading.values["retransmits"].value == 1
    assert not reading.partial


@pytest.mark.parametrize("parser", IPERF, ids=lambda parser: parser.name)
@pytest.mark.parametrize(
    "hostile",
    [
        b"{\n" * 200_000,
        b'{"a":[\n' * 100_000,
        b"[ 3] 0.0-1.0 sec " * 30_000,
        b"[  3] 0.0-1.0 sec " + b"9" * 100_000 + b" MBytes 1 bits/sec\n",
        b"tcp connect" + b" a" * 200_000,
    ],
    ids=["braces", "nesting", "rows in a line", "endless number", "endless complaint"],
)
def test_hostile_output_is_refused_in_time(parser: Parser, hostile: bytes) -> None:
    begin = time.monotonic()
    with pytest.raises(errors.ParseError):
        parser.parse(Capture(out=hostile, err=hostile))
    assert time.monotonic() - begin < 10
