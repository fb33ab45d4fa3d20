"""Parsers of /proc files, of small commands, and of any output by a pattern."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator import parsers
from orchestrator.contract import errors
from orchestrator.parsers.base import Capture, Parser

SMALL = [
    parsers.find(f"{name}@1")
    for name in (
        "df_k",
        "epoch_offset",
        "kernel_log",
        "line_count",
        "loadavg",
        "meminfo",
        "proc_stat",
        "regex",
    )
]
BEFORE = b"cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 50 0 50 400 0 0 0 0 0 0\nintr 1000 1 2\nctxt 5000\n"
AFTER = (
    b"cpu  200 0 150 950 50 0 0 50 0 0\ncpu0 75 0 75 450 0 0 0 0 0 0\nintr 3000 2 3\nctxt 9000\n"
)


def values(ident: str, capture: Capture) -> dict[str, float]:
    """The values of a reading, as delivered."""
    return {name: value.value for name, value in parsers.find(ident).parse(capture).values.items()}


@pytest.mark.parametrize("parser", SMALL, ids=lambda parser: parser.name)
@given(raw=st.binary(max_size=200), rc=st.none() | st.integers(-1, 255))
def test_random_bytes_never_raise_but_parse_errors(parser: Parser, raw: bytes, rc: int) -> None:
    capture = Capture(out=raw, err=raw, before=raw, after=raw, rc=rc, pattern="(?P<value>.)")
    try:
        reading = parser.parse(capture)
    except errors.ParseError:
        return
    assert set(reading.values) <= set(parser.fields)


def test_unknown_parser_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(errors.UnknownName, match="did you mean iperf2_text@1"):
        parsers.find("iperf2_txt@1")


def test_registry_names_each_parser_with_its_version() -> None:
    assert {"rackprobe_latency@1", "rackprobe_stream@1", "regex@1"} <= set(parsers.REGISTRY)
    assert all(ident == parser.ident for ident, parser in parsers.REGISTRY.items())


def test_proc_stat_gives_rates_over_the_elapsed_time() -> None:
    found = values("proc_stat@1", Capture(before=BEFORE, after=AFTER, elapsed_s=2.0))
    assert found["ctxt-per-s"] == 2000
    assert found["intr-per-s"] == 1000
    # 400 ticks, of which 150 idle and 50 waiting
    assert found["busy"] == pytest.approx(0.5)
    assert found["steal"] == pytest.approx(0.125)


def test_proc_stat_without_elapsed_time_counts_ticks() -> None:
    reading = parsers.find("proc_stat@1").parse(Capture(before=BEFORE, after=AFTER))
    assert reading.values["ctxt-per-s"].value == pytest.approx(1000)
    assert reading.flags == ("elapsed_by_ticks",)


@pytest.mark.parametrize(
    "capture",
    [
        Capture(before=BEFORE),
        Capture(before=AFTER, after=BEFORE, elapsed_s=1.0),
        Capture(before=BEFORE, after=BEFORE, elapsed_s=1.0),
        Capture(before=BEFORE, after=AFTER.replace(b"9000", b"1"), elapsed_s=1.0),
        Capture(before=BEFORE, after=AFTER, elapsed_s=0.0),
    ],
    ids=["one side", "backwards", "no time", "counter reset", "no seconds"],
)
def test_proc_stat_that_cannot_be_true_is_refused(capture: Capture) -> None:
    with pytest.raises(errors.ParseError):
        parsers.find("proc_stat@1").parse(capture)


def test_monitor_with_several_files_is_read_by_each_parser() -> None:
    after = b"0.52 0.58 0.59 1/257 12345\nMemTotal: 32000 kB\nMemFree: 1000 kB\n" + AFTER
    capture = Capture(before=BEFORE, after=after, elapsed_s=2.0)
    assert values("loadavg@1", capture)["load1"] == 0.52
    assert values("meminfo@1", capture)["free"] == 1000
    assert values("proc_stat@1", capture)["ctxt-per-s"] == 2000


def test_meminfo_adds_free_and_cache_where_all_parts_are_known() -> None:
    text = b"MemTotal: 32000 kB\nMemFree: 1000 kB\nBuffers: 20 kB\nCached: 300 kB\n"
    assert values("meminfo@1", Capture(out=text))["free-and-cache"] == 1320
    assert "free-and-cache" not in values("meminfo@1", Capture(out=text[:-14]))


@pytest.mark.parametrize(
    "row",
    [
        b"/dev/vda 1000 400 500 45% /\n",
        b"/dev/mapper/a-name-that-is-long\n              1000 400 500 45% /data\n",
    ],
)
def test_df_is_read_in_one_line_or_two(row: bytes) -> None:
    header = b"Filesystem     1K-blocks     Used Available Use% Mounted on\n"
    found = values("df_k@1", Capture(out=header + row))
    assert (found["total"], found["available"]) == (1000, 500)
    assert found["used-ratio"] == pytest.approx(400 / 900)


def test_df_of_two_file_systems_is_refused() -> None:
    rows = b"/dev/vda 1000 400 500 45% /\n" * 2
    with pytest.raises(errors.ParseError, match="2 file systems"):
        parsers.find("df_k@1").parse(Capture(out=rows))


def test_epoch_offset_is_host_minus_lab() -> None:
    capture = Capture(out=b"1000005\n", wall_s=1000002.5)
    assert values("epoch_offset@1", capture) == {"offset": 2.5}
    with pytest.raises(errors.ParseError, match="lab's clock"):
        parsers.find("epoch_offset@1").parse(replace(capture, wall_s=None))


def test_kernel_log_counts_each_report_once() -> None:
    log = (
        b"[    1.0] BUG: unable to handle page fault for address: 0\n"
        b"[    1.1] RIP: 0010:foo+0x1/0x2\n"
        b"[    2.0] stress invoked oom-killer: gfp_mask=0x0\n"
        b"[    2.1] Out of memory: Killed process 12 (stress)\n"
        b"[    3.0] WARNING: CPU: 0 PID: 1 at kernel/x.c:1 y+0x1/0x2\n"
        b"[    4.0] rcu: INFO: rcu_sched self-detected stall on CPU\n"
    )
    found = values("kernel_log@1", Capture(out=log, rc=0))
    assert (found["oopses"], found["ooms"], found["warnings"], found["stalls"]) == (1, 1, 1, 1)


def test_kernel_log_that_could_not_be_read_is_not_zero_oopses() -> None:
    denied = Capture(err=b"dmesg: read kernel buffer failed: Operation not permitted\n", rc=0)
    with pytest.raises(errors.ParseError, match="not permitted"):
        parsers.find("kernel_log@1").parse(denied)


def test_lines_are_counted_and_none_is_a_number() -> None:
    assert values("line_count@1", Capture(out=b"a\n\nb")) == {"lines": 3, "filled": 2}
    assert values("line_count@1", Capture())["lines"] == 0


def matched(pattern: str, out: bytes, unit: str = "us") -> dict[str, float]:
    """What the pattern finds."""
    return values("regex@1", Capture(out=out, pattern=pattern, unit=unit))


def test_pattern_finds_a_number_in_any_output() -> None:
    out = b"# zork 3\nzork latency = 12.5e1 us (ok)\r\n"
    assert matched(r"latency = (?P<value>[\d.e]+) us", out)["value"] == 125


def test_value_has_the_unit_that_the_metric_declares() -> None:
    capture = Capture(out=b"x 3\n", pattern=r"x (?P<value>\d+)", unit="MiB/s")
    assert parsers.find("regex@1").parse(capture).values["value"].unit == "MiB/s"


def test_several_matches_give_first_and_last_but_no_value() -> None:
    assert matched(r"x (?P<value>\d+)", b"x 1\nx 2\nx 3\n") == {"first": 1, "last": 3}


@pytest.mark.parametrize(
    ("pattern", "out", "sentence"),
    [
        (r"x (?P<value>\d+)", b"y 1\n", "nothing matches"),
        (r"x (?P<value>\w+)", b"x nan\n", "not a number"),
        (r"x (?P<value>\S+)", b"x 1,5\n", "not a number"),
        (r"x (?P<value>\S+)", b"x 1e999\n", "finite"),
        (r"x (\d+)", b"x 1\n", "needs a group"),
        (r"x (?P<value>\d+", b"x 1\n", "not a regular expression"),
        (r"(?P<value>(\d+)+)x", b"1\n", "repeat a group"),
        (r"\d+\d+(?P<value>1)", b"1\n", "side by side"),
        (r".*.*.*.*(?P<value>1)", b"1\n", "side by side"),
        (r"a*b*c*d*e*f*g*h*i*(?P<value>1)", b"1\n", "at most 8"),
        (r"(?P<value>1)\1", b"11\n", "refer back"),
        ("x" * 201 + "(?P<value>1)", b"1\n", "at most 200"),
        (r"x (?P<value>\d+)", b"x" * (1 << 20) + b"y", "bytes of output"),
    ],
)
def test_pattern_or_output_that_cannot_be_used_is_refused(
    pattern: str, out: bytes, sentence: str
) -> None:
    with pytest.raises(errors.ParseError, match=sentence):
        matched(pattern, out)


def test_unknown_unit_of_a_pattern_is_refused() -> None:
    with pytest.raises(errors.ParseError, match="unknown unit"):
        matched(r"(?P<value>1)", b"1\n", unit="MB")


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (r".*a.*b.*(?P<value>\d)", b"a" * 100_000),
        (r"\S+b(?P<value>\d)", b"a" * 40_000),
        (r"\d+a\d+b(?P<value>\d)", b"1" * 40_000),
    ],
)
def test_expensive_pattern_over_a_long_line_is_refused_at_once(pattern: str, line: bytes) -> None:
    begin = time.monotonic()
    with pytest.raises(errors.ParseError, match="too long for this pattern"):
        matched(pattern, line + b"\n")
    assert time.monotonic() - begin < 1


def test_number_in_a_long_line_of_json_is_found() -> None:
    line = b'{"x": [' + b"1234567, " * 50_000 + b'0], "qps": 4711.5, "more": 1}\n'
    assert matched(r'"qps":\s*(?P<value>[\d.]+)', line, unit="1/s")["value"] == 4711.5
