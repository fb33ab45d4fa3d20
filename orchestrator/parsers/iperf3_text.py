"""iperf 3, text for people; for hosts and runs where no JSON document can be had."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from orchestrator.contract import errors
from orchestrator.contract.units import Dimension
from orchestrator.parsers import iperf_command, iperf_rows, iperf_total, iperf_trouble, text
from orchestrator.parsers.base import Capture, Parser, Point, Reading, Value
from orchestrator.parsers.iperf_command import Asked
from orchestrator.parsers.iperf_rows import SUM, Row
from orchestrator.parsers.iperf_total import Headline

_CPU = re.compile(r"CPU Utilization: local/\w+ ([\d.]+)% .*, remote/\w+ ([\d.]+)% ")
_CONGESTION = re.compile(r"(?:snd|rcv)_tcp_congestion (\S+)")
_CONNECTED = re.compile(r"\[\s*\d+\](?:\[..-.\])? local \S+ port \d+ connected to ")
_RETRANSMITS = re.compile(r"(\d+)(?:\s|$)")
_CWND = re.compile(r"\d+\s+(\d+(?:\.\d+)?) ([KMG]?)Bytes")
_FACTOR = {"": 1.0, "K": 1024.0, "M": 1024.0**2, "G": 1024.0**3}


def parse(capture: Capture) -> Reading:
    """The throughput of one run, as the receiver saw it.

    Raises: ParseError if nothing was measured or if it may not be believed.
    """
    out, err = text.clean(capture.out), text.clean(capture.err)
    page = iperf_rows.read(out)
    asked = iperf_command.asked(capture.command)
    complaints = iperf_trouble.find(page.others, err.lines)
    rows = _directed([row for row in page.rows if not row.omitted], page.others)
    if not rows:
        raise errors.ParseError(
            iperf_trouble.why(complaints, capture.rc, "iperf printed no result")
        )
    if not asked.known:
        connected = sum(1 for line in page.others if _CONNECTED.match(line))
        asked = replace(asked, streams=connected or None)
    totals, intervals = _sorted_out(rows)
    flags = list(page.flags)
    if len({(row.stream, row.direction, row.role) for row in totals}) < len(totals):
        raise errors.ParseError("the output holds more than one run")
    headline = _headline(totals, asked, flags)
    points = [point for row in intervals for point in _points(row, "interval")]
    points += [point for row in totals for point in _points(row, "total")]
    points.append(iperf_total.count("intervals", len({(r.start, r.end) for r in intervals})))
    extra, method = _around(page.others, points)
    partial = bool(complaints)
    if headline is None:
        flags.append("no_total")
        partial = True
    else:
        points.append(iperf_total.count("streams", headline.streams))
        extra |= _extra(totals, headline.row)
        if iperf_total.is_short(headline.row, asked):
            flags.append("short_run")
        partial = partial or bool({"short_run", "receiver_missing", "streams_missing"} & {*flags})
    if capture.rc in (137, -9):
        flags.append("killed")
        partial = True
    return iperf_total.reading(headline, points, flags, partial=partial, extra=extra, method=method)


def _directed(rows: list[Row], others: Iterable[str]) -> list[Row]:
    """Rows with a direction, where the other side sends."""
    if any(line.startswith("Reverse mode, ") for line in others):
        return [replace(row, direction="reverse") for row in rows]
    return rows


def _sorted_out(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Totals and intervals. A row without a role is a total if it closes the stream's intervals."""
    by_stream: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        by_stream[row.stream, row.direction].append(row)
    totals: list[Row] = []
    intervals: list[Row] = []
    for stream in by_stream.values():
        plain = [row for row in stream if not row.role]
        found = [row for row in stream if row.role]
        last = plain[-1] if plain else None
        closes = (
            last is not None
            and not found
            and last.start == 0
            and len(plain) > 1
            and last.end >= max(row.end for row in plain)
        )
        if last is not None and closes:
            found.append(last)
            plain = plain[:-1]
        totals += found
        intervals += {(row.start, row.end): row for row in plain}.values()
    return totals, intervals


def _headline(totals: list[Row], asked: Asked, flags: list[str]) -> Headline | None:
    """The receiver's total of the forward direction; the sender's if there is none."""
    ways = {row.direction for row in totals}
    rows = [row for row in totals if row.direction != "reverse"] if len(ways) > 1 else totals
    if not rows:
        return None
    streams = {row.stream for row in rows} - {SUM}
    wanted = asked.streams or max(1, len(streams))
    if streams and len(streams) < wanted:
        flags.append("streams_missing")
    for role in ("receiver", "sender", ""):
        chosen = _chosen([row for row in rows if row.role == role], wanted, flags)
        if chosen is None:
            continue
        if chosen.row.rate is None and role == "receiver":
            continue
        if role == "receiver" and chosen.row.transfer == 0 and len(rows) > 1:
            continue
        if role == "sender":
            flags.append("receiver_missing")
        return chosen
    return None


def _chosen(rows: list[Row], wanted: int, flags: list[str]) -> Headline | None:
    sums = [row for row in rows if row.stream == SUM]
    streams = [row for row in rows if row.stream != SUM]
    if sums:
        return Headline(row=sums[-1], streams=len(streams) or wanted)
    if len(streams) != wanted:
        return None
    if len(streams) == 1:
        return Headline(row=streams[0], streams=1)
    flags += ["no_sum", "total_derived"]
    return Headline(row=iperf_total.add(streams), streams=len(streams), derived=True)


def _points(row: Row, kind: str) -> list[Point]:
    found = iperf_total.points(row, kind)
    where = iperf_total.scope(row, kind)
    retransmits = _retransmits(row)
    if retransmits is not None:
        found.append(iperf_total.count("retransmits", retransmits, where))
    if "Cwnd" in row.columns and (cwnd := _CWND.match(row.tail)):
        found.append(Point("cwnd", Value(float(cwnd[1]) * _FACTOR[cwnd[2]], "B"), where))
    if row.datagrams and row.role == "receiver":
        found.append(Point("jitter", Value(row.datagrams.jitter, "s"), where))
        found.append(iperf_total.count("datagrams_lost", row.datagrams.lost, where))
        found.append(iperf_total.count("datagrams_total", row.datagrams.total, where))
    return found


def _retransmits(row: Row) -> int | None:
    """The column Retr, where the header has one: other headers put other counts there."""
    match = _RETRANSMITS.match(row.tail) if "Retr" in row.columns else None
    return int(match[1]) if match else None


def _extra(totals: list[Row], headline: Row) -> dict[str, Value]:
    """What belongs to the headline but stands in another row, or in other columns."""
    found = {}
    for row in totals:
        same = (row.stream, row.direction) == (headline.stream, headline.direction)
        retransmits = _retransmits(row)
        if same and retransmits is not None:
            found["retransmits"] = Value(float(retransmits), "1")
    if headline.datagrams and headline.role == "receiver":
        found["jitter"] = Value(headline.datagrams.jitter, "s")
        if headline.datagrams.total > 0:
            ratio = headline.datagrams.lost / headline.datagrams.total
            found["lost-ratio"] = Value(ratio, "1")
    return found


def _around(others: Iterable[str], points: list[Point]) -> tuple[dict[str, Value], dict[str, str]]:
    """What ``-V`` prints beside the rows: processor time, congestion control."""
    extra: dict[str, Value] = {}
    method: dict[str, str] = {}
    for line in others:
        if cpu := _CPU.match(line):
            for name, percent in (("local", cpu[1]), ("remote", cpu[2])):
                value = Value(float(percent) / 100, "1")
                extra[f"cpu-{name}"] = value
                points.append(Point(f"cpu_{name}", value, {}))
        elif congestion := _CONGESTION.match(line):
            method["congestion-control"] = congestion[1]
    return extra, method


FIELDS = iperf_total.FIELDS | {
    "retransmits": Dimension.RATIO,
    "cpu-local": Dimension.RATIO,
    "cpu-remote": Dimension.RATIO,
    "rtt-mean": Dimension.TIME,
}

PARSER = Parser(
    name="iperf3_text",
    version=1,
    parse=parse,
    fields={name: found for name, found in FIELDS.items() if name != "rtt-mean"},
)
