"""iperf 2, text for people: the total of the client, and the details below it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from orchestrator.contract import errors
from orchestrator.contract.units import Dimension
from orchestrator.parsers import (
    iperf2_details,
    iperf_command,
    iperf_rows,
    iperf_total,
    iperf_trouble,
    text,
)
from orchestrator.parsers.base import Capture, Parser, Point, Reading, Value
from orchestrator.parsers.iperf_command import Asked
from orchestrator.parsers.iperf_rows import SUM, Row
from orchestrator.parsers.iperf_total import Headline

_CONNECTED = re.compile(r"\[\s*\*?\d+\] local \S+ port \d+ connected with ")
_UDP = re.compile(r"\bUDP port\b|\bUDP buffer size\b")
_SERVER = re.compile(r"Server listening on ")


def parse(capture: Capture) -> Reading:
    """The throughput of one client run.

    Raises: ParseError if nothing was measured or if it may not be believed.
    """
    out, err = text.clean(capture.out), text.clean(capture.err)
    page = iperf_rows.read(out)
    asked = iperf_command.asked(capture.command)
    complaints = iperf_trouble.find(page.others, err.lines)
    if not page.rows:
        raise errors.ParseError(
            iperf_trouble.why(complaints, capture.rc, "iperf printed no result")
        )
    flags = [*page.flags, *iperf2_details.banner_flags(page, err, asked)]
    if iperf2_details.is_bounceback(page.rows):
        return iperf2_details.bounceback(page.rows, flags)
    if any(map(_UDP.search, page.others)) or asked.udp:
        page = replace(page, rows=tuple(map(_with_role, page.rows)))
        if any(iperf_trouble.NO_RECEIVER in complaint for complaint in complaints):
            raise errors.ParseError(iperf_trouble.why(complaints, capture.rc, ""))
    asked = _completed(asked, page.others)
    return assemble(page.rows, asked, flags, complaints, iperf2_details.points(page, asked))


def _with_role(row: Row) -> Row:
    """Only a report of the receiver has datagrams."""
    return replace(row, role="receiver" if row.datagrams else "sender")


def _completed(asked: Asked, others: Iterable[str]) -> Asked:
    """What was asked for, as far as the output tells where the command does not."""
    others = list(others)
    server = asked.server or any(map(_SERVER.match, others))
    if asked.known and not server:
        return asked
    connected = sum(1 for line in others if _CONNECTED.match(line))
    return replace(asked, server=server, streams=connected or None)


def assemble(
    rows: Iterable[Row],
    asked: Asked,
    flags: Iterable[str],
    complaints: tuple[str, ...],
    details: Iterable[Point] = (),
) -> Reading:
    """A reading from rows, however they were printed."""
    flags, rows = list(flags), _directed(rows, asked)
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.stream, row.role].append(row)
    runs = {key: iperf_total.split_runs(group, asked.interval) for key, group in groups.items()}
    mixed_tests = asked.server and any(row.direction == "both" for row in rows)
    if mixed_tests:
        flags.append("sum_mixes_tests")
        runs = {key: found for key, found in runs.items() if key[0] != SUM}
    several = max(map(len, runs.values())) > 1
    points = [*details, *_points(runs, asked, several=several, mixed_tests=mixed_tests)]
    totals = [
        total
        for found in runs.values()
        if (total := iperf_total.total_of(found[-1], asked)) is not None
    ]
    headline = None
    if several:
        flags.append("several_runs")
    elif not mixed_tests:
        headline = _headline(totals, asked, flags)
    partial = bool(complaints) or "streams_missing" in flags
    if headline is None and not several and not mixed_tests:
        partial = True
        flags.append("no_total")
    if "streams_missing" in flags:
        seen = len({row.stream for row in rows} - {SUM})
        points.append(iperf_total.count("streams_seen", seen))
        points.append(iperf_total.count("streams_requested", asked.streams or 1))
    if headline is not None:
        points.append(iperf_total.count("streams", headline.streams))
        if headline.derived:
            points += iperf_total.points(headline.row, "total")
        if iperf_total.is_short(headline.row, asked):
            partial = True
            flags.append("short_run")
    return iperf_total.reading(
        headline, points, flags, partial=partial, extra=_extra(headline), method={}
    )


def _directed(rows: Iterable[Row], asked: Asked) -> list[Row]:
    """Rows with their direction, where there is more than one or where it is reversed."""
    rows = list(rows)
    streams = {row.stream for row in rows} - {SUM}
    reverse = {stream for stream in streams if stream.startswith("*")}
    if not reverse:
        return rows
    mixed = reverse != streams

    def direction(row: Row) -> str:
        if row.stream == SUM and mixed:
            return "both"
        return "reverse" if row.stream in reverse or not mixed else "forward"

    return [replace(row, direction=direction(row)) for row in rows]


def _points(
    runs: Mapping[tuple[str, str], list[list[Row]]],
    asked: Asked,
    *,
    several: bool,
    mixed_tests: bool,
) -> list[Point]:
    points: list[Point] = []
    intervals = 0
    for found in runs.values():
        for number, run in enumerate(found, 1):
            total = iperf_total.total_of(run, asked)
            more: dict[str, object] = {"run": number} if several else {}
            parts = {(row.start, row.end): row for row in run if row is not total}
            intervals = max(intervals, len(parts))
            for row in parts.values():
                points += iperf_total.points(row, "interval", **more)
            if total is not None:
                points += iperf_total.points(total, "total", **more)
    if intervals:
        points.append(iperf_total.count("intervals", intervals))
    if several:
        points.append(iperf_total.count("runs", max(map(len, runs.values()))))
    if mixed_tests:
        points = [_without_direction(point) for point in points]
    return points


def _without_direction(point: Point) -> Point:
    """A detail without a direction: on a server the streams belong to several tests."""
    where = {key: value for key, value in point.scope.items() if key != "direction"}
    return Point(point.name, point.value, where)


def _headline(totals: list[Row], asked: Asked, flags: list[str]) -> Headline | None:
    """The total of the run: the receiver's, else iperf's own sum, else all streams together."""
    sums = [row for row in totals if row.stream == SUM and row.direction != "both"]
    streams = [row for row in totals if row.stream != SUM and row.direction != "reverse"]
    if any(row.direction == "both" for row in totals):
        flags.append("sum_mixes_directions")
    elif not streams:
        streams = [row for row in totals if row.stream != SUM]
    receivers = [row for row in streams if row.role == "receiver"]
    senders = [row for row in streams if row.role != "receiver"]
    wanted = asked.streams or 1
    if receivers and len(receivers) >= max(wanted, len(senders)):
        return _together(receivers)
    if sums:
        count = sums[-1].count or len(senders) or wanted
        if count < wanted:
            flags.append("streams_missing")
        return Headline(row=sums[-1], streams=count)
    if len(senders) > 1:
        flags.append("no_sum")
    if senders and (len(senders) == wanted if asked.streams else len(senders) == 1):
        if len(senders) > 1:
            flags.append("total_derived")
        return _together(senders)
    if senders and len(senders) < wanted:
        flags.append("streams_missing")
    return None


def _together(rows: list[Row]) -> Headline:
    if len(rows) == 1:
        return Headline(row=rows[0], streams=1)
    return Headline(row=iperf_total.add(rows), streams=len(rows), derived=True)


def _extra(headline: Headline | None) -> dict[str, Value]:
    """What stands beside the throughput in the row of the headline."""
    if headline is None or headline.derived:
        return {}
    found: dict[str, Value] = {}
    retransmits = iperf2_details.retransmits(headline.row)
    if retransmits is not None:
        found["retransmits"] = Value(float(retransmits), "1")
    if (counted := headline.row.datagrams) is not None:
        found["jitter"] = Value(counted.jitter, "s")
        if counted.total > 0 and counted.lost >= 0:
            found["lost-ratio"] = Value(counted.lost / counted.total, "1")
    return found


PARSER = Parser(
    name="iperf2_text",
    version=1,
    parse=parse,
    fields=iperf_total.FIELDS
    | {
        "retransmits": Dimension.RATIO,
        "latency-avg": Dimension.TIME,
        "latency-min": Dimension.TIME,
        "latency-max": Dimension.TIME,
        "request-rate": Dimension.RATE,
    },
)
