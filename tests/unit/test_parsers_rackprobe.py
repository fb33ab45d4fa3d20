"""The rackprobe parsers: captured results, the frame in every kind of damage, the statistics."""

from __future__ import annotations

import zlib
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contract import errors
from orchestrator.contract.units import dimension
from orchestrator.parsers import rackprobe
from orchestrator.parsers.base import Capture, Reading

FOLDER = Path(__file__).parents[1] / "data" / "rackprobe"
NONCE = "00112233445566778899aabbccddeeff"
LATENCIES = ("timer_abs_user", "pipe_fifo", "no_raw", "few_samples", "i486_qemu", "interrupted")
STREAMS = ("tcp_10", "unix_intervals", "interrupted")


def captured(name: str) -> bytes:
    """What the probe printed."""
    return (FOLDER / f"{name}.txt").read_bytes()


def latency(out: bytes, *, nonce: str = NONCE, err: bytes = b"") -> Reading:
    """The reading of a latency capture."""
    return rackprobe.LATENCY.parse(Capture(out=out, err=err, nonce=nonce))


def stream(name: str) -> Reading:
    """The reading of a captured stream result."""
    return rackprobe.STREAM.parse(Capture(out=captured(f"stream_{name}"), nonce=NONCE))


def edited(out: bytes, old: bytes, new: bytes) -> bytes:
    """A capture with another payload, framed rightly."""
    begin = out.index(b"\n", out.index(b"@@RACK BEGIN")) + 1
    payload = out[begin : out.index(b"@@RACK END")]
    assert payload.count(old) >= 1
    payload = payload.replace(old, new)
    nonce = NONCE.encode()
    return (
        b"@@RACK BEGIN %s %d v1\n" % (nonce, len(payload))
        + payload
        + b"@@RACK END %s %08x\n" % (nonce, zlib.crc32(payload))
    )


@pytest.mark.parametrize("name", LATENCIES)
def test_latency_of_a_captured_result_has_declared_fields_and_units(name: str) -> None:
    reading = latency(captured(f"latency_{name}"))

    for field, value in reading.values.items():
        assert dimension(value.unit) is rackprobe.LATENCY.fields[field]


@pytest.mark.parametrize("name", STREAMS)
def test_stream_of_a_captured_result_has_declared_fields_and_units(name: str) -> None:
    for field, value in stream(name).values.items():
        assert dimension(value.unit) is rackprobe.STREAM.fields[field]


def test_latency_keeps_the_raw_samples_and_tells_what_the_probe_flagged() -> None:
    reading = latency(captured("latency_timer_abs_user"))

    assert reading.samples is not None
    assert len(reading.samples) == reading.values["samples"].value == 1000
    assert reading.values["max"].value == max(reading.samples)
    assert "policy_other" in reading.flags
    assert not reading.partial


def test_latency_names_the_method_that_comparable_numbers_share() -> None:
    assert latency(captured("latency_pipe_fifo")).method == {
        "method": "pipe",
        "baseline": "absolute",
        "period_us": "1000",
        "policy": "fifo",
        "cpu": "same",
        "timer_class": "highres",
        "dma_latency": "set",
    }


def test_latency_with_few_samples_has_no_percentiles() -> None:
    values = latency(captured("latency_few_samples")).values

    assert {"avg", "min", "max"} <= values.keys()
    assert not values.keys() & rackprobe.PERCENTILES.keys()


def test_latency_without_raw_samples_takes_the_figures_of_the_probe() -> None:
    reading = latency(captured("latency_no_raw"))

    assert reading.samples is None
    assert reading.values["p99"].value > reading.values["p50"].value > 0
    assert "p99.9" not in reading.values


def test_latency_that_was_interrupted_is_partial() -> None:
    reading = latency(captured("latency_interrupted"))

    assert reading.partial
    assert 0 < reading.values["samples"].value < 10000


def test_latency_that_failed_is_refused_with_the_probe_s_reason() -> None:
    with pytest.raises(errors.ParseError, match="failed: SCHED_FIFO is not allowed"):
        latency(captured("latency_fifo_denied"))


def test_latency_that_is_void_is_refused() -> None:
    out = edited(captured("latency_pipe_fifo"), b'"status":"ok"', b'"status":"invalid"')

    with pytest.raises(errors.ParseError, match="invalid: no reason given"):
        latency(out)


def test_latency_whose_samples_do_not_give_its_statistics_is_refused() -> None:
    out = captured("latency_pipe_fifo")
    p99 = int(latency(out).values["p99"].value)

    with pytest.raises(errors.ParseError, match="p99 is 1 ns"):
        latency(edited(out, b'"p99":%d' % p99, b'"p99":1'))


def test_latency_with_a_field_of_another_type_is_refused() -> None:
    out = edited(captured("latency_pipe_fifo"), b'"overruns":0', b'"overruns":"0"')

    with pytest.raises(errors.ParseError, match=r"latency\.stats\.overruns"):
        latency(out)


def test_stream_counts_all_streams_in_the_common_window() -> None:
    reading = stream("tcp_10")
    rates = [p.value.value for p in reading.points if "stream" in p.scope]

    assert len(rates) == reading.values["streams"].value == 10
    assert reading.values["throughput"].value == pytest.approx(sum(rates), rel=1e-6)
    assert reading.values["transferred"].value * 8 == reading.values["throughput"].value
    assert reading.values["ctxt-per-s"].value > 0


def test_stream_s_intervals_cover_the_window_though_the_last_is_shorter() -> None:
    reading = stream("unix_intervals")
    ends = [p.scope["end_s"] for p in reading.points if p.name == "ctxt-per-s"]

    assert ends == [0.3, 0.6, 0.7]
    assert reading.values["duration"].value == 0.7


def test_stream_that_was_interrupted_is_partial_and_counts_whole_intervals() -> None:
    reading = stream("interrupted")

    assert reading.partial
    assert reading.values["duration"].value == 0.8


def test_stream_whose_rate_is_not_its_bytes_is_refused() -> None:
    out = captured("stream_tcp_10")
    rate = int(stream("tcp_10").values["throughput"].value)

    with pytest.raises(errors.ParseError, match="bit/s is not"):
        rackprobe.STREAM.parse(
            Capture(out=edited(out, b":%d," % rate, b":%d," % (rate * 2)), nonce=NONCE)
        )


@pytest.mark.parametrize("prefix", [b"", b"Welcome!\nlast login: @@RACK\n", b"[ 1.0] eth0: up "])
@pytest.mark.parametrize("suffix", [b"", b"logout\n", b"@@RACK BEGIN "])
def test_frame_between_noise_is_found(prefix: bytes, suffix: bytes) -> None:
    out = captured("latency_pipe_fifo")

    assert latency(prefix + out + suffix) == latency(out)


def test_frame_with_carriage_returns_of_a_terminal_is_read() -> None:
    out = captured("latency_pipe_fifo")

    assert latency(out.replace(b"\n", b"\r\n")) == latency(out)


@pytest.mark.parametrize("at", range(0, len(captured("latency_pipe_fifo")), 100))
def test_frame_cut_anywhere_is_refused(at: int) -> None:
    with pytest.raises(errors.ParseError):
        latency(captured("latency_pipe_fifo")[:at])


@pytest.mark.parametrize("at", range(1, len(captured("latency_pipe_fifo")), 97))
def test_frame_with_a_flipped_bit_is_refused(at: int) -> None:
    out = bytearray(captured("latency_pipe_fifo"))
    out[at] ^= 0x04

    with pytest.raises(errors.ParseError):
        latency(bytes(out))


@pytest.mark.parametrize("at", range(100, len(captured("latency_pipe_fifo")) - 60, 500))
def test_frame_with_a_kernel_message_inside_is_refused(at: int) -> None:
    out = captured("latency_pipe_fifo")

    with pytest.raises(errors.ParseError):
        latency(out[:at] + b"[  123.456789] usb 1-1: new device\n" + out[at:])


def test_frame_of_another_run_is_refused() -> None:
    with pytest.raises(errors.ParseError, match="another nonce"):
        latency(captured("latency_pipe_fifo"), nonce="ff")


def test_frame_of_another_run_before_ours_is_passed_over() -> None:
    ours = captured("latency_pipe_fifo")
    other = captured("latency_few_samples").replace(NONCE.encode(), b"f" * 32)

    assert latency(other + ours) == latency(ours)


def test_frame_without_a_wanted_nonce_is_taken_if_it_is_the_only_one() -> None:
    out = captured("latency_pipe_fifo")

    assert latency(out, nonce="") == latency(out)
    with pytest.raises(errors.ParseError, match="more than one"):
        latency(out + out, nonce="")


def test_no_frame_is_refused_with_the_probe_s_complaint() -> None:
    with pytest.raises(errors.ParseError, match="no result: unknown option '--x' of latency"):
        latency(b"", err=b"motd\nrackprobe: unknown option '--x' of latency\n")


samples = st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=400)
shares = st.sampled_from(list(rackprobe.PERCENTILES.values()))


@given(samples, shares)
def test_rank_is_the_smallest_value_that_covers_the_share(
    values: list[int], share: Fraction
) -> None:
    found = rackprobe.rank(sorted(values), share)

    covering = [v for v in values if sum(w <= v for w in values) >= len(values) * share]
    assert found == min(covering)


@pytest.mark.parametrize(
    ("name", "least"),
    [("p50", 20), ("p90", 100), ("p95", 200), ("p99", 1000), ("p99.9", 10**4), ("p99.99", 10**5)],
)
def test_percentile_is_attainable_from_ten_samples_beyond_it(name: str, least: int) -> None:
    share = rackprobe.PERCENTILES[name]

    assert rackprobe.attainable(least, share)
    assert not rackprobe.attainable(least - 1, share)
