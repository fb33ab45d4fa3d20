"""iperf 3 with ``-J``: the document it prints at the end, judged against what was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.contract import errors
from orchestrator.parsers import (
    iperf3_document,
    iperf3_text,
    iperf_command,
    iperf_total,
    iperf_trouble,
    text,
)
from orchestrator.parsers.base import Capture, Parser, Point, Reading, Value
from orchestrator.parsers.iperf3_document import number, table, tables
from orchestrator.parsers.iperf_command import Asked
from orchestrator.parsers.iperf_rows import Row
from orchestrator.parsers.iperf_total import Headline

#: part of the sent bytes that a complete TCP receiver has counted
_RECEIVED = 0.9


def parse(capture: Capture) -> Reading:
    """The throughput of one run, as the receiver saw it.

    Raises: ParseError if nothing was measured or if it may not be believed.
    """
    out, err = text.clean(capture.out), text.clean(capture.err)
    document, flags, others = iperf3_document.find("\n".join(out.lines))
    complaints = iperf_trouble.find(others, err.lines)
    if document is None:
        raise errors.ParseError(
            iperf_trouble.why(complaints, capture.rc, "iperf printed no complete JSON document")
        )
    failure = document.get("error")
    if isinstance(failure, str):
        complaints = (text.quote(failure), *complaints)
    flags = [*out.flags, *flags]
    asked = iperf_command.asked(capture.command)
    end, test = table(document, "end"), table(table(document, "start"), "test_start")
    udp = asked.udp or test.get("protocol") == "UDP"
    headline = _headline(end, flags, confirmed=not complaints, udp=udp, document=document)
    if headline is None:
        raise errors.ParseError(
            iperf_trouble.why(complaints, capture.rc, "no traffic was measured")
        )
    wanted = _wanted(asked, test)
    if iperf_total.is_short(headline.row, wanted):
        flags.append("short_run")
    if headline.row.seconds < 1:
        flags.append("short_duration")
    present = len(tables(end, "streams"))
    if present and wanted.streams and present < wanted.streams:
        flags.append("streams_missing")
    partial = bool(complaints) or bool({"short_run", "streams_missing"} & {*flags})
    points = [*_totals(end, test), *_intervals(document), *_around(end)]
    points.append(iperf_total.count("streams", headline.streams))
    return iperf_total.reading(
        headline,
        points,
        flags,
        partial=partial,
        extra=_extra(end, headline.row),
        method=_method(end),
    )


def _wanted(asked: Asked, test: Mapping[str, Any]) -> Asked:
    """What the command asked for, or what the document says that it asked for."""
    seconds = asked.seconds
    if not asked.known or asked.server:
        seconds = number(test, "duration") or None
    streams = asked.streams or number(test, "num_streams")
    return Asked(known=True, seconds=seconds, streams=int(streams) if streams else None)


def _row(total: Mapping[str, Any], role: str, direction: str = "") -> Row:
    start, seconds = number(total, "start") or 0.0, number(total, "seconds")
    return Row(
        stream="SUM",
        start=start,
        end=start + seconds if seconds else start,
        transfer=number(total, "bytes"),
        rate=number(total, "bits_per_second"),
        role=role,
        direction=direction,
        line=f"{role} {number(total, 'bytes')} bytes in {seconds} s",
    )


def _headline(
    end: Mapping[str, Any],
    flags: list[str],
    *,
    confirmed: bool,
    udp: bool,
    document: Mapping[str, Any],
) -> Headline | None:
    """The receiver's sum if it is complete and confirmed, else the sender's."""
    sent = _row(table(end, "sum_sent") or table(end, "sum"), "sender")
    received = _row(table(end, "sum_received"), "receiver")
    start = table(document, "start")
    declared = number(table(start, "test_start"), "num_streams")
    streams = int(declared or len(tables(start, "connected")) or 1)
    if not received.transfer:
        flags.append("receiver_missing")
    elif not sent.transfer:
        return Headline(row=received, streams=streams)
    elif not udp and received.transfer < _RECEIVED * sent.transfer:
        flags.append("receiver_incomplete")
    elif confirmed:
        return Headline(row=received, streams=streams)
    return Headline(row=sent, streams=streams) if sent.transfer else None


def _totals(end: Mapping[str, Any], test: Mapping[str, Any]) -> Iterator[Point]:
    """Sender and receiver, and the reverse direction of a run in both."""
    both = "sum_sent_bidir_reverse" in end
    forward = "forward" if both else "reverse" if test.get("reverse") else ""
    named = [("sum_sent", "sender", forward), ("sum_received", "receiver", forward)]
    if both:
        named += [
            ("sum_sent_bidir_reverse", "sender", "reverse"),
            ("sum_received_bidir_reverse", "receiver", "reverse"),
        ]
    for name, role, direction in named:
        total = table(end, name)
        row = _row(total, role, direction)
        if not row.transfer:
            continue
        where = iperf_total.scope(row, "total")
        yield from iperf_total.points(row, "total")
        yield Point("duration", Value(row.seconds, "s"), where)
        retransmits = number(total, "retransmits")
        if retransmits is not None:
            yield iperf_total.count("retransmits", retransmits, where)


def _intervals(document: Mapping[str, Any]) -> Iterator[Point]:
    """Each interval once, and none of the warm-up."""
    rows: dict[tuple[float, float], tuple[Row, float | None]] = {}
    for interval in tables(document, "intervals"):
        total = table(interval, "sum")
        if not total.get("omitted"):
            row = _row(total, "")
            rows[row.start, row.end] = row, number(total, "retransmits")
    for row, retransmits in rows.values():
        yield from iperf_total.points(row, "interval")
        if retransmits is not None:
            where = iperf_total.scope(row, "interval")
            yield iperf_total.count("retransmits", retransmits, where)
    yield iperf_total.count("intervals", len(rows))


def _around(end: Mapping[str, Any]) -> Iterator[Point]:
    """Processor time, round trip and datagrams."""
    cpu = table(end, "cpu_utilization_percent")
    for name in ("local", "remote"):
        percent = number(cpu, f"{name if name == 'remote' else 'host'}_total")
        if percent is not None:
            yield Point(f"cpu_{name}", Value(percent / 100, "1"), {})
    if (rtt := _rtt(end)) is not None:
        yield Point("rtt_mean", Value(rtt, "s"), {})
    received = table(end, "sum_received") or table(end, "sum")
    if "lost_packets" not in received:
        received = table(end, "sum")
    lost, packets = number(received, "lost_packets"), number(received, "packets")
    jitter = number(received, "jitter_ms")
    if packets and lost is not None and lost >= 0:
        yield iperf_total.count("datagrams_lost", lost)
        yield iperf_total.count("datagrams_total", packets)
    if packets and jitter is not None:
        yield Point("jitter", Value(jitter / 1000, "s"), {"role": "receiver"})


def _rtt(end: Mapping[str, Any]) -> float | None:
    """The mean round trip of all streams. Units: s."""
    senders = [table(stream, "sender") for stream in tables(end, "streams")]
    means = [mean for sender in senders if (mean := number(sender, "mean_rtt"))]
    return sum(means) / len(means) / 1e6 if means else None


def _extra(end: Mapping[str, Any], headline: Row) -> dict[str, Value]:
    found = {}
    retransmits = number(table(end, "sum_sent"), "retransmits")
    if retransmits is not None:
        found["retransmits"] = Value(retransmits, "1")
    details = {point.name: point.value for point in _around(end)}
    for name in ("cpu_local", "cpu_remote", "rtt_mean", "jitter"):
        if name in details and (name != "jitter" or headline.role == "receiver"):
            found[name.replace("_", "-")] = details[name]
    if "datagrams_lost" in details and headline.role == "receiver":
        ratio = details["datagrams_lost"].value / details["datagrams_total"].value
        found["lost-ratio"] = Value(ratio, "1")
    return found


def _method(end: Mapping[str, Any]) -> dict[str, str]:
    congestion = end.get("sender_tcp_congestion")
    return {"congestion-control": congestion} if isinstance(congestion, str) else {}


PARSER = Parser(name="iperf3_json", version=1, parse=parse, fields=iperf3_text.FIELDS)
