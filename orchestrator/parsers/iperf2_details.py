"""iperf 2, what stands beside the throughput: enhanced columns, bounce-back, datagrams, banners."""

from __future__ import annotations

import re
from collections.abc import Iterable

from orchestrator.contract import errors
from orchestrator.parsers import iperf_total, text
from orchestrator.parsers.base import Point, Reading, Value
from orchestrator.parsers.iperf_command import Asked
from orchestrator.parsers.iperf_rows import SUM, Page, Row

_ENHANCED = re.compile(
    r"(?P<writes>\d+)/(?P<errors>\d+)\s+(?P<retransmits>\d+)"
    r"(?:\s+(?P<cwnd>\d+)K/(?P<rtt>\d+)\(\d+\) us\b.*)?"
)
_BOUNCE = re.compile(
    r"(?P<n>\d+)=(?P<avg>[\d.]+)/(?P<min>[\d.]+)/(?P<max>[\d.]+)/[\d.]+ ms\s+(?P<retry>\d+)\s+"
    r"\S+ us\s+(?P<rps>\d+) rps"
)
_WINDOW = re.compile(r"TCP window size:\s+(\d+(?:[.,]\d+)?) ([KM]?)Byte")
_CONNECT = re.compile(r"\[ CT\] final connect times \(min/avg/max/stdev\) = [\d.]+/([\d.]+)/")
_SENT = re.compile(r"\[\s*(?P<stream>\d+|SUM-\d+)\] Sent (?P<count>\d+) datagrams")
_UNORDERED = re.compile(
    r"\[\s*(?P<stream>\d+)\]\s.*\s(?P<count>\d+) datagrams received out-of-order"
)
_FACTOR = {"": 1.0, "K": 1024.0, "M": 1024.0**2}


def banner_flags(page: Page, err: text.Text, asked: Asked) -> list[str]:
    """Properties of what stands around the rows."""
    flags: list[str] = []
    banner = next((i for i, line in enumerate(page.others) if "connecting to" in line), None)
    if banner is None:
        return flags
    before = [line for line in page.others[:banner] if line.strip(" -")]
    if any(" connected with " in line for line in before):
        flags.append("banner_after_connect_lines")
    elif before:
        flags.append("noise_before")
    if any(line.strip() for line in err.lines):
        flags.append("warning_on_stderr")
    if not asked.known:
        flags.append("request_unknown")
    return flags


def points(page: Page, asked: Asked) -> list[Point]:
    """Details from the enhanced columns and from the lines around the rows."""
    found = [point for row in page.rows for point in _enhanced(row, asked)]
    for line in page.others:
        if window := _WINDOW.match(line):
            size = float(window[1].replace(",", ".")) * _FACTOR[window[2]]
            found.append(Point("window_size", Value(size, "B"), {}))
        elif connect := _CONNECT.match(line):
            where = {"kind": "connect"}
            found.append(Point("connect_time_avg", Value(float(connect[1]) / 1000, "s"), where))
    return found + _datagrams(page)


def _enhanced(row: Row, asked: Asked) -> list[Point]:
    columns = _ENHANCED.fullmatch(row.tail) if "Write/Err  Rtry" in row.columns else None
    if columns is None:
        return []
    whole = row.start == 0 and (asked.seconds is None or row.end > 0.5 * asked.seconds)
    where = iperf_total.scope(row, "total" if whole else "interval")
    found = [
        iperf_total.count("writes", int(columns["writes"]), where),
        iperf_total.count("write_errors", int(columns["errors"]), where),
        iperf_total.count("retransmits", int(columns["retransmits"]), where),
    ]
    if columns["cwnd"]:
        found.append(Point("cwnd", Value(int(columns["cwnd"]) * 1024.0, "B"), where))
        found.append(Point("rtt", Value(int(columns["rtt"]) / 1e6, "s"), where))
    return found


def retransmits(row: Row) -> int | None:
    """The retransmits of a row, where it has that column."""
    columns = _ENHANCED.fullmatch(row.tail) if "Write/Err  Rtry" in row.columns else None
    return int(columns["retransmits"]) if columns else None


def _datagrams(page: Page) -> list[Point]:
    sent = [match for line in page.others if (match := _SENT.match(line))]
    sums = [match for match in sent if match["stream"].startswith(SUM)]
    found = []
    if sent:
        total = sum(int(match["count"]) for match in sums or sent)
        found.append(iperf_total.count("datagrams_sent", total))
    for row in page.rows:
        if row.datagrams and row.start == 0 and row.datagrams.total > 0:
            where = {"stream": row.stream, "role": "receiver"}
            found.append(iperf_total.count("datagrams_lost", row.datagrams.lost, where))
            found.append(iperf_total.count("datagrams_total", row.datagrams.total, where))
            found.append(Point("jitter", Value(row.datagrams.jitter, "s"), where))
    for line in page.others:
        if match := _UNORDERED.match(line):
            where = {"stream": match["stream"], "role": "receiver"}
            found.append(iperf_total.count("datagrams_out_of_order", int(match["count"]), where))
    return found


def is_bounceback(rows: Iterable[Row]) -> bool:
    """Whether round trips were measured: the bandwidth of such a run means nothing."""
    return any("BB cnt" in row.columns for row in rows)


def bounceback(rows: tuple[Row, ...], flags: list[str]) -> Reading:
    """The round trips of a bounce-back run.

    Raises: ParseError if the row of the whole run is not there.
    """
    last = rows[-1]
    columns = _BOUNCE.fullmatch(last.tail)
    if columns is None or last.start > 0 or len(rows) < 2:
        raise errors.ParseError(f"no total of the bounce-back run: {last.line}")
    samples = int(columns["n"])
    latency = {name: float(columns[name]) / 1000 for name in ("avg", "min", "max")}
    where = {"kind": "total"}
    details = [
        Point(f"latency_{name}", Value(seconds, "s", samples), where)
        for name, seconds in latency.items()
    ]
    details.append(iperf_total.count("samples", samples, where))
    details.append(iperf_total.count("retransmits", int(columns["retry"]), where))
    details.append(Point("requests_per_second", Value(float(columns["rps"]), "1/s"), where))
    found = {f"latency-{name}": Value(value, "s", samples) for name, value in latency.items()}
    return Reading(
        values=found | {"request-rate": Value(float(columns["rps"]), "1/s")},
        points=tuple(details),
        flags=tuple(sorted(set(flags))),
    )
