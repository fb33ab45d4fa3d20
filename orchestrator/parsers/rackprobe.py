"""rackprobe: scheduling latency and loopback throughput, as our own probe measures them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated, Final

from pydantic import Field

from orchestrator.contract import errors
from orchestrator.contract.units import Dimension
from orchestrator.parsers.base import Capture, Parser, Point, Reading, Value
from orchestrator.parsers.rackprobe_frame import Document, Part, document

#: percentiles as shares; each as the probe writes it
PERCENTILES: Final = MappingProxyType(
    {
        "p50": Fraction(50, 100),
        "p90": Fraction(90, 100),
        "p95": Fraction(95, 100),
        "p99": Fraction(99, 100),
        "p99.9": Fraction(999, 1000),
        "p99.99": Fraction(9999, 10000),
    }
)
#: samples that must lie beyond a percentile for it to mean something
_BEYOND: Final = 10

Count = Annotated[int, Field(ge=0)]
#: ns, as the probe keeps it
Sample = Annotated[int, Field(ge=0, le=2**32 - 1)]


class _Sched(Part):
    policy_effective: str
    dma_latency_state: str


class _Timer(Part):
    kind: str = Field(alias="class")


class _Stats(Part):
    samples: Count
    negative: Count
    overruns: Count
    min: Sample | None = None
    max: Sample | None = None
    mean: Sample | None = None
    p50: Sample | None
    p90: Sample | None
    p95: Sample | None
    p99: Sample | None
    p99_9: Sample | None = Field(alias="p99.9")
    p99_99: Sample | None = Field(alias="p99.99")

    def percentiles(self) -> dict[str, int | None]:
        """The probe's own percentiles; None where it has too few samples."""
        own = (self.p50, self.p90, self.p95, self.p99, self.p99_9, self.p99_99)
        return dict(zip(PERCENTILES, own, strict=True))


class _Latency(Part):
    method: str
    baseline: str
    period_us: Count
    cpu_pattern: str
    stats: _Stats
    raw: tuple[Sample, ...] | None


class _LatencyDocument(Document):
    timer: _Timer
    sched: _Sched
    latency: _Latency


class _StreamTotal(Part):
    bytes: Count
    bits_per_second: Count


class _Interval(Part):
    #: end of the interval, since the window began
    t_ms: Count
    span_ms: Annotated[int, Field(gt=0)]
    bytes: Count
    ctxt: Count | None


class _Stream(Part):
    proto: str
    streams: Annotated[int, Field(gt=0)]
    block_bytes: Count
    cpu_pattern: str
    window_ms: Annotated[int, Field(gt=0)]
    bytes: Annotated[int, Field(gt=0)]
    bits_per_second: Count
    fairness: Annotated[float, Field(ge=0, le=1)]
    per_stream: tuple[_StreamTotal, ...]
    intervals: tuple[_Interval, ...]


class _Cost(Part):
    span_ms: Count
    ctxt_system: Count | None


class _StreamDocument(Document):
    stream: _Stream
    cost: _Cost


def rank(ordered: Sequence[int], share: Fraction) -> int:
    """The smallest of the sorted values that at least ``share`` of them do not exceed."""
    return ordered[-(-len(ordered) * share.numerator // share.denominator) - 1]


def attainable(n: int, share: Fraction) -> bool:
    """Whether n samples reach a percentile: enough of them lie beyond it."""
    return n * (1 - share) >= _BEYOND


def parse_latency(capture: Capture) -> Reading:
    """How late a process ran after it was due.

    Units: values in ns. Percentiles that the samples do not reach are absent.
    Raises: ParseError.
    """
    found = document(capture, _LatencyDocument)
    stats, raw = found.latency.stats, found.latency.raw
    if not stats.samples:
        raise errors.ParseError("rackprobe's result holds no sample")
    numbers = _own(stats) if raw is None else _computed(raw, stats)
    counts = {"samples": stats.samples, "overruns": stats.overruns, "negative": stats.negative}
    values = {name: Value(number, "ns", stats.samples) for name, number in numbers.items()}
    values |= {name: Value(float(count), "1") for name, count in counts.items()}
    return Reading(
        values=values,
        samples=raw,
        flags=found.flags,
        partial=found.status == "partial",
        method=MappingProxyType(
            {
                "method": found.latency.method,
                "baseline": found.latency.baseline,
                "period_us": str(found.latency.period_us),
                "policy": found.sched.policy_effective,
                "cpu": found.latency.cpu_pattern,
                "timer_class": found.timer.kind,
                "dma_latency": found.sched.dma_latency_state,
            }
        ),
    )


def _own(stats: _Stats) -> dict[str, float]:
    """The probe's own figures, where it was told to leave the samples out."""
    own = {"avg": stats.mean, "min": stats.min, "max": stats.max} | stats.percentiles()
    return {name: float(number) for name, number in own.items() if number is not None}


def _computed(raw: tuple[int, ...], stats: _Stats) -> dict[str, float]:
    """Figures from the samples; the probe's own must agree."""
    ordered, n = sorted(raw), len(raw)
    reached = {
        name: rank(ordered, share) if attainable(n, share) else None
        for name, share in PERCENTILES.items()
    }
    if n != stats.samples or (ordered[0], ordered[-1]) != (stats.min, stats.max):
        raise errors.ParseError("rackprobe's samples are not those that its statistics are of")
    for name, own in stats.percentiles().items():
        if own != reached[name]:
            raise errors.ParseError(
                f"rackprobe's {name} is {own} ns, and {reached[name]} ns by its samples"
            )
    numbers = {"avg": sum(raw) / n, "min": float(ordered[0]), "max": float(ordered[-1])}
    return numbers | {name: float(ns) for name, ns in reached.items() if ns is not None}


def parse_stream(capture: Capture) -> Reading:
    """What all streams received in their common window.

    Raises: ParseError.
    """
    found = document(capture, _StreamDocument)
    stream, cost = found.stream, found.cost
    seconds = stream.window_ms / 1000
    throughput = stream.bytes * 8 / seconds
    if abs(throughput - stream.bits_per_second) > 1:
        raise errors.ParseError(
            f"rackprobe's {stream.bits_per_second} bit/s is not {stream.bytes} B in {seconds} s"
        )
    if len(stream.per_stream) != stream.streams:
        raise errors.ParseError(
            f"rackprobe's result has {len(stream.per_stream)} streams of {stream.streams}"
        )
    values = {
        "throughput": Value(throughput, "bit/s"),
        "transferred": Value(float(stream.bytes), "B"),
        "duration": Value(seconds, "s"),
        "fairness": Value(stream.fairness, "1"),
        "streams": Value(float(stream.streams), "1"),
    }
    if cost.ctxt_system is not None and cost.span_ms:
        values["ctxt-per-s"] = Value(cost.ctxt_system * 1000 / cost.span_ms, "1/s")
    return Reading(
        values=values,
        points=tuple(_points(stream)),
        flags=found.flags,
        partial=found.status == "partial",
        method=MappingProxyType(
            {
                "proto": stream.proto,
                "streams": str(stream.streams),
                "block": str(stream.block_bytes),
                "cpu": stream.cpu_pattern,
            }
        ),
    )


def _points(stream: _Stream) -> list[Point]:
    points = [
        Point("throughput", Value(float(one.bits_per_second), "bit/s"), {"stream": number})
        for number, one in enumerate(stream.per_stream)
    ]
    for interval in stream.intervals:
        seconds = interval.span_ms / 1000
        scope = {"kind": "interval", "end_s": interval.t_ms / 1000}
        points.append(Point("throughput", Value(interval.bytes * 8 / seconds, "bit/s"), scope))
        if interval.ctxt is not None:
            points.append(Point("ctxt-per-s", Value(interval.ctxt / seconds, "1/s"), scope))
    return points


LATENCY: Final = Parser(
    name="rackprobe_latency",
    version=1,
    parse=parse_latency,
    fields=MappingProxyType(
        {
            **dict.fromkeys(("avg", "min", "max", *PERCENTILES), Dimension.TIME),
            **dict.fromkeys(("samples", "overruns", "negative"), Dimension.RATIO),
        }
    ),
)

STREAM: Final = Parser(
    name="rackprobe_stream",
    version=1,
    parse=parse_stream,
    fields=MappingProxyType(
        {
            "throughput": Dimension.BIT_RATE,
            "transferred": Dimension.SIZE,
            "duration": Dimension.TIME,
            "ctxt-per-s": Dimension.RATE,
            "fairness": Dimension.RATIO,
            "streams": Dimension.RATIO,
        }
    ),
)

PARSERS: Final = (LATENCY, STREAM)
