"""Which rows of an iperf output are totals, and whether a total may be believed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.contract import errors
from orchestrator.contract.units import Dimension
from orchestrator.parsers.base import Point, Reading, Value
from orchestrator.parsers.iperf_command import Asked
from orchestrator.parsers.iperf_rows import IMPLAUSIBLE_BIT_S, Row

#: what both tools can say of a total
FIELDS = {
    "sum-bandwidth": Dimension.BIT_RATE,
    "sum-transfer": Dimension.SIZE,
    "sum-seconds": Dimension.TIME,
    "streams": Dimension.RATIO,
    "jitter": Dimension.TIME,
    "lost-ratio": Dimension.RATIO,
}
#: part of the asked time that a complete run covers
COMPLETE = 0.95
#: transfer and rate of a run of at least this long must agree, but for rounding and this part
_CHECKED_SECONDS = 5.0
_AGREEMENT = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The row that stands for the run; ``derived``: added up here, iperf printed no sum."""

    row: Row
    streams: int
    derived: bool = False


def split_runs(rows: Iterable[Row], interval: float | None) -> list[list[Row]]:
    """The rows of one stream and role, one list per run: glued outputs have several."""
    runs: list[list[Row]] = []
    for row in rows:
        open_run = runs[-1] if runs else []
        goes_on = bool(open_run) and (row.start > 0 or not _closed(open_run, interval))
        if goes_on:
            open_run.append(row)
        else:
            runs.append([row])
    return runs


def _closed(run: Sequence[Row], interval: float | None) -> bool:
    """Whether the run has had its total: what starts at 0 now is another run."""
    if len(run) == 1:
        return interval is None or run[0].seconds > 1.5 * interval
    return run[-1].start == 0


def total_of(run: Sequence[Row], asked: Asked) -> Row | None:
    """The total of one stream's run, or None if it ended before it printed one."""
    total = run[-1]
    if total.start > 0 or total.end < max(row.end for row in run):
        return None
    if len(run) == 1 and asked.interval and asked.seconds:
        # the first interval starts at 0 like a total
        first_interval = total.end <= asked.interval * 1.01
        if first_interval and total.end < COMPLETE * asked.seconds:
            return None
    return total


def add(rows: Sequence[Row]) -> Row:
    """The sum of streams that ran side by side."""
    transfers = [row.transfer for row in rows if row.transfer is not None]
    rates = [row.rate for row in rows if row.rate is not None]
    whole = len(transfers) == len(rates) == len(rows)
    return replace(
        rows[0],
        stream="ALL",
        start=min(row.start for row in rows),
        end=max(row.end for row in rows),
        transfer=sum(transfers) if whole else None,
        rate=sum(rates) if whole else None,
        transfer_error=sum(row.transfer_error for row in rows),
        rate_error=sum(row.rate_error for row in rows),
        line="; ".join(row.line for row in rows),
    )


def believed(row: Row) -> tuple[float, float]:
    """Rate and transfer of a total, if they may be believed.

    Units: bit/s, B.
    Raises: ParseError for one without a finite rate, without traffic, faster than any machine,
    or whose transfer and rate contradict each other.
    """
    if row.rate is None or row.transfer is None:
        raise errors.ParseError(f"the total is not a number: {row.line}")
    if not 0 <= row.rate <= IMPLAUSIBLE_BIT_S:
        raise errors.ParseError(f"no machine is that fast: {row.line}")
    if row.transfer <= 0 or row.rate == 0 or row.seconds <= 0:
        raise errors.ParseError(f"no traffic was measured: {row.line}")
    if row.seconds < _CHECKED_SECONDS:
        return row.rate, row.transfer
    expected = row.transfer * 8 / row.seconds
    rounding = row.rate_error + row.transfer_error * 8 / row.seconds
    if abs(expected - row.rate) > rounding + _AGREEMENT * row.rate:
        raise errors.ParseError(f"transfer and bandwidth contradict each other: {row.line}")
    return row.rate, row.transfer


def is_short(row: Row, asked: Asked) -> bool:
    """Whether the run ended before the time that was asked for."""
    return asked.seconds is not None and row.end < COMPLETE * asked.seconds


def scope(row: Row, kind: str, **more: object) -> Mapping[str, object]:
    """Where a value of this row belongs."""
    found: dict[str, object] = {"kind": kind, "stream": row.stream}
    found |= {"start_s": row.start, "end_s": row.end}
    if row.role:
        found["role"] = row.role
    if row.direction:
        found["direction"] = row.direction
    return found | more


def points(row: Row, kind: str, **more: object) -> list[Point]:
    """Transfer and throughput of one row, as far as they are numbers."""
    found = []
    where = scope(row, kind, **more)
    if row.transfer is not None:
        found.append(Point("transfer", Value(row.transfer, "B"), where))
    if row.rate is not None and row.rate <= IMPLAUSIBLE_BIT_S:
        found.append(Point("throughput", Value(row.rate, "bit/s"), where))
    return found


def count(name: str, value: float, where: Mapping[str, object] | None = None) -> Point:
    """A count as a detail."""
    return Point(name, Value(float(value), "1"), where or {})


def values(headline: Headline) -> dict[str, Value]:
    """The fields that stand for the run."""
    rate, transfer = believed(headline.row)
    return {
        "sum-bandwidth": Value(rate, "bit/s"),
        "sum-transfer": Value(transfer, "B"),
        "sum-seconds": Value(headline.row.seconds, "s"),
        "streams": Value(float(headline.streams), "1"),
    }


def reading(
    headline: Headline | None,
    details: Iterable[Point],
    flags: Iterable[str],
    *,
    partial: bool,
    extra: Mapping[str, Value],
    method: Mapping[str, str],
) -> Reading:
    """A reading with or without a headline; each flag once, sorted."""
    found = values(headline) | dict(extra) if headline else dict(extra)
    return Reading(
        values=found,
        points=tuple(details),
        flags=tuple(sorted(set(flags))),
        partial=partial,
        method=method,
    )
