"""iperf 2 with ``-y C``: the same rows as comma-separated values, with no sum."""

from __future__ import annotations

import re

from orchestrator.contract import errors
from orchestrator.parsers import iperf2_text, iperf_command, iperf_total, iperf_trouble, text
from orchestrator.parsers.base import Capture, Parser, Reading
from orchestrator.parsers.iperf_rows import SUM, Datagrams, Row

_LINE = re.compile(
    r"(?P<time>\d{14}(?:\.\d+)?),[^,]*,\d*,[^,]*,\d*,(?P<stream>-?\d+),"
    r"(?P<start>\d+\.\d+)-(?P<end>\d+\.\d+),(?P<bytes>-?\d+),(?P<rate>-?\d+)"
    r"(?:,(?P<jitter>-?[\d.]+),(?P<lost>-?\d+),(?P<total>-?\d+),[^,]*,-?\d+)?"
)


def parse(capture: Capture) -> Reading:
    """The throughput of one client run.

    Raises: ParseError if nothing was measured or if it may not be believed.
    """
    out, err = text.clean(capture.out), text.clean(capture.err)
    whole = out.lines[:-1] if out.unterminated else out.lines
    whole = tuple(line for line in whole if text.is_plain(line))
    matches = [match for line in whole if (match := _LINE.fullmatch(line.strip()))]
    others = [line for line in whole if not _LINE.fullmatch(line.strip())]
    complaints = iperf_trouble.find(others, err.lines)
    if not matches:
        raise errors.ParseError(
            iperf_trouble.why(complaints, capture.rc, "iperf printed no result")
        )
    flags = list(out.flags)
    if out.unterminated:
        flags.append("line_cut")
    if any(match["time"].startswith("1970") for match in matches):
        flags.append("timestamp_unusable")
    if any((match["total"] or "").startswith("-") for match in matches):
        flags.append("loss_unusable")
    rows = [_row(match) for match in matches]
    return iperf2_text.assemble(rows, iperf_command.asked(capture.command), flags, complaints)


def _row(match: re.Match[str]) -> Row:
    total = int(match["total"] or -1)
    datagrams = None
    if total > 0:
        jitter = float(match["jitter"]) / 1000
        datagrams = Datagrams(jitter=jitter, lost=int(match["lost"]), total=total)
    return Row(
        # older versions number their sum -1
        stream=SUM if match["stream"] == "-1" else match["stream"],
        start=float(match["start"]),
        end=float(match["end"]),
        transfer=float(match["bytes"]),
        rate=float(match["rate"]),
        transfer_error=0.5,
        rate_error=0.5,
        role="receiver" if datagrams else "",
        datagrams=datagrams,
        line=text.quote(match.group()),
    )


PARSER = Parser(name="iperf2_csv", version=1, parse=parse, fields=iperf_total.FIELDS)
