"""The rows that iperf 2 and 3 print as text: an interval or a total of one stream, or a sum.

Each row has its own units. Bits count in powers of ten, bytes in powers of two; iperf writes both
with the same letters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from orchestrator.parsers import text

#: nothing on one machine is faster; what is, is a wrapped counter
IMPLAUSIBLE_BIT_S = 1e13

SUM = "SUM"

_NUMBER = r"-?(?:\d+(?:[.,]\d+)?|inf|nan)"
_STREAM = r"\[\s*(?P<stream>SUM(?:-(?P<count>\d+))?|\*?\s*\d+)\](?:\[(?P<way>[TR]X)-[CS]\])?"
_TIME = r"\s+(?P<start>\d+[.,]\d+)-\s*(?P<end>\d+[.,]\d+)\s+sec\s+"
_ROW = re.compile(
    _STREAM
    + _TIME
    + rf"(?P<transfer>{_NUMBER})\s+(?P<transfer_unit>[KMGTP]?Bytes?|\(null\)s)\s+"
    + rf"(?P<rate>{_NUMBER})\s+(?P<rate_unit>[KMGTP]?(?:bits|bis|Bytes)/sec|\(null\)s/sec)"
    + r"(?P<tail>(?:\s.*)?)"
)
_BROKEN = re.compile(_STREAM + r"\s+\d+[.,]\d+-(?!.* sec\s+(?:BB8-PDF|\d+ datagrams))")
_HEADER = re.compile(r"\[(?:\s*ID|SUM-cnt)\].*Interval\s+(?P<columns>Transfer.*)")
_ROLE = re.compile(r"\s(sender|receiver)\s*$")
_UDP_TAIL = re.compile(
    r"(?P<jitter>\d+[.,]\d+) ms\s+(?P<lost>-?\d+)/\s*(?P<total>\d+) \(\S+?%\)(?P<rest>.*)"
)

_DECIMAL = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {letter: 1024.0**power for power, letter in enumerate(["", "K", "M", "G", "T", "P"])}


@dataclass(frozen=True, slots=True, kw_only=True)
class Datagrams:
    """What a UDP receiver counted. Units: ``jitter`` in s."""

    jitter: float
    lost: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row. None: iperf printed no number that can be one.

    Units: s, B, bit/s. ``*_error`` is half of the last printed digit.
    """

    stream: str
    start: float
    end: float
    transfer: float | None
    rate: float | None
    transfer_error: float = 0.0
    rate_error: float = 0.0
    #: streams that a sum covers, where it says so
    count: int | None = None
    #: sender, receiver, or nothing where iperf does not say
    role: str = ""
    #: forward, reverse, both, or nothing where there is one direction only
    direction: str = ""
    omitted: bool = False
    #: the row's last columns, and the header that names them
    tail: str = ""
    columns: str = ""
    datagrams: Datagrams | None = None
    #: units of transfer and rate, as printed
    units: tuple[str, str] = ("", "")
    #: as printed, for messages
    line: str = ""

    @property
    def seconds(self) -> float:
        """How long it covers."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Page:
    """The rows of an output in the order of printing, and all other lines."""

    rows: tuple[Row, ...]
    others: tuple[str, ...]
    flags: tuple[str, ...] = field(default=())


def read(source: text.Text) -> Page:
    """The rows of a text. A broken row is dropped and flagged, never pieced together."""
    rows: list[Row] = []
    others: list[str] = []
    flags = list(source.flags)
    columns = ""
    for index, line in enumerate(source.lines):
        if not text.is_plain(line):
            flags.append("strange_line_skipped")
            continue
        if header := _HEADER.search(line):
            columns = header["columns"]
        match = _ROW.fullmatch(line.rstrip())
        last = index == len(source.lines) - 1
        if match and source.unterminated and last and match["tail"]:
            match = None
        if match:
            rows.append(_row(match, columns))
            if "," in match["end"] + match["transfer"] + match["rate"]:
                flags.append("decimal_comma")
        elif _BROKEN.match(line):
            flags.append("line_cut" if last and source.unterminated else "corrupt_line_skipped")
        else:
            others.append(line)
    return Page(tuple(rows), tuple(others), tuple(flags) + _flags(rows))


def _flags(rows: Iterable[Row]) -> tuple[str, ...]:
    found = []
    rows = list(rows)
    if any(row.rate is None for row in rows):
        found.append("non_finite_value")
    if len({row.units[0] for row in rows}) > 1 or len({row.units[1] for row in rows}) > 1:
        found.append("unit_switch")
    return tuple(found)


def _row(match: re.Match[str], columns: str) -> Row:
    transfer, transfer_error = _value(match["transfer"], match["transfer_unit"])
    rate, rate_error = _value(match["rate"], match["rate_unit"])
    tail = match["tail"].strip()
    role = _ROLE.search(match["tail"])
    stream = SUM if match["count"] or match["stream"] == SUM else match["stream"].replace(" ", "")
    return Row(
        stream=stream,
        start=_float(match["start"]),
        end=_float(match["end"]),
        transfer=transfer,
        rate=rate,
        transfer_error=transfer_error,
        rate_error=rate_error,
        count=int(match["count"]) if match["count"] else None,
        role=role[1] if role else "",
        direction={"TX": "forward", "RX": "reverse", None: ""}[match["way"]],
        omitted="(omitted)" in tail,
        tail=tail,
        columns=columns,
        datagrams=_datagrams(tail),
        units=(match["transfer_unit"], match["rate_unit"]),
        line=text.quote(match.group()),
    )


def _datagrams(tail: str) -> Datagrams | None:
    found = _UDP_TAIL.search(tail)
    if not found:
        return None
    return Datagrams(
        jitter=_float(found["jitter"]) / 1000, lost=int(found["lost"]), total=int(found["total"])
    )


def _float(number: str) -> float:
    return float(number.replace(",", "."))


def _value(number: str, unit: str) -> tuple[float | None, float]:
    """A printed number in its base unit, and half of its last digit."""
    value = _float(number)
    prefix = unit[0] if unit[0] in "KMGTP" else ""
    if not math.isfinite(value) or unit.startswith("("):
        return None, 0.0
    factor = _DECIMAL[prefix] if "bi" in unit else _BINARY[prefix]
    if "Bytes/sec" in unit:
        factor *= 8
    decimals = len(number.replace(",", ".").partition(".")[2])
    return value * factor, factor * 10.0**-decimals / 2
