"""Tables of ``[SUM]`` lines (iperf 2), each block of them under the label of its kernel.

Nothing is skipped in silence: a fragment of a result line that does not make a whole one, or one
whose figures contradict each other, refuses the source.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from orchestrator.contract import errors, units
from orchestrator.contract.domain import Better, Measurement, Note
from orchestrator.importers import command, heading
from orchestrator.importers.base import ImportedRun
from orchestrator.importers.text import Text

PARSER: Final = "mail-iperf2@1"

_N: Final = r"\d+(?:\.\d+)?(?!\.?\d)"
_FIGURES: Final = (
    rf"\s*(?P<begin>{_N})\s*-\s*(?P<end>{_N})\s+sec"
    rf"\s+(?P<amount>{_N})\s+(?P<amount_prefix>[KMG]?)Bytes"
    rf"\s+(?P<rate>{_N})\s+(?P<rate_prefix>[KMG]?)bits/sec(?![\w/])"
)
_SUM: Final = re.compile(r"\[\s*SUM\s*\]" + _FIGURES)
_STREAM: Final = re.compile(r"\[\s*\d+\s*\]" + _FIGURES)
_OTHER_TOOL: Final = re.compile(r"\s+(?:\d+\s+)?(?:sender|receiver)\b")
#: pieces that nothing but a result line has
_FRAGMENT: Final = re.compile(
    r"^ *\[?\s*SUM\b|\[\s*SUM\b(?=\W*\d)|\bSUM\s*\](?=\W*\d)"
    r"|(?<![\d.])\d+(?:\.\d+)?\s*-\s*\d+(?:\.\d+)?\s+sec\b(?=\s+\S{0,12}\d|[^\n\[]{0,40}(?:Bytes|bits/))"
    r"|Bytes\s+\S+\s+[KMG]?bits/sec",
    re.MULTILINE,
)


@dataclass
class _Block:
    """Where the reader is: the kernel, group and command that the next line belongs to."""

    group: str = ""
    kernel: str = ""
    remarks: tuple[Note, ...] = ()
    settings: command.Settings = field(default_factory=command.Settings)


def read(text: Text, begin: int, end: int) -> Iterator[ImportedRun]:
    """The runs of one mail, numbered from 1.

    Raises: ImportRefused for a damaged line or one under no kernel, naming the line.
    """
    lines = list(_SUM.finditer(text.body, begin, end))
    _refuse_fragments(text, begin, end, lines)
    block = _Block()
    after = begin
    for order, line in enumerate(lines, start=1):
        _enter(block, text, after, line.start())
        after = line.end()
        yield ImportedRun(
            playbook=block.settings.playbook,
            params=block.settings.params,
            kernel=block.kernel,
            group=block.group,
            order=order,
            measurements=_measurements(text, line),
            notes=block.remarks,
            line=text.line(line.start()),
        )


def _refuse_fragments(text: Text, begin: int, end: int, lines: list[re.Match[str]]) -> None:
    whole = sorted(line.span() for line in (*lines, *_STREAM.finditer(text.body, begin, end)))
    for piece in _FRAGMENT.finditer(text.body, begin, end):
        before = bisect_left(whole, piece.span())
        around = whole[max(0, before - 1) : before + 1]
        if not any(first < piece.end() and piece.start() < last for first, last in around):
            number = 1 + sum(line.start() < piece.start() for line in lines)
            raise errors.ImportRefused(
                f"{text.where(piece.start())}: [SUM] line number {number} of the mail is damaged: "
                f"{text.excerpt(piece.start())!r}; nothing was imported"
            )


def _enter(block: _Block, text: Text, begin: int, end: int) -> None:
    """Move to the kernel that the text before a line names, if it names one."""
    settings = command.last(text.body, begin, end)
    if settings is not None:
        block.settings = settings
    found = heading.find(text.body, begin, end)
    if found is not None:
        block.kernel = found.kernel
        block.group = found.group or block.group
        block.remarks = (Note(code="source-remark", text=found.remark),) if found.remark else ()
        return
    between = heading.leftover(text.body, begin, end)
    if between and block.kernel:
        raise errors.ImportRefused(
            f"{text.where(end)}: {between[-70:]!r} stands before this [SUM] line "
            "and names no kernel; put the kernel's label on a line of its own"
        )
    if not block.kernel:
        raise errors.ImportRefused(
            f"{text.where(end)}: no kernel label stands before this [SUM] line"
        )


def _measurements(text: Text, line: re.Match[str]) -> tuple[Measurement, ...]:
    where = f"{text.where(line.start())}: {text.excerpt(*_span(line))!r}"
    if _OTHER_TOOL.match(text.body, line.end()):
        raise errors.ImportRefused(f"{where} is a line of iperf 3; import its JSON output instead")
    begin, end = Decimal(line["begin"]), Decimal(line["end"])
    if begin:
        raise errors.ImportRefused(f"{where} is an interval of a run, not a whole run")
    _refuse_contradiction(where, line, seconds=end - begin)
    rate_unit, amount_unit = f"{line['rate_prefix']}bit/s", _size_unit(line["amount_prefix"])
    return (
        _measurement("throughput", line["rate"], rate_unit, Better.HIGHER, primary=True),
        _measurement("transferred", line["amount"], amount_unit, Better.NEITHER),
        _measurement("elapsed", line["end"], "s", Better.NEITHER),
    )


def _refuse_contradiction(where: str, line: re.Match[str], *, seconds: Decimal) -> None:
    """The rate must be the bytes over the seconds, as far as the printed digits tell."""
    slack = _half(line["end"])
    if seconds <= slack:
        raise errors.ImportRefused(f"{where}: a run of no length; nothing was imported")
    size = Decimal(units.UNITS[_size_unit(line["amount_prefix"])][1]) * 8
    amount, rate = Decimal(line["amount"]), Decimal(line["rate"])
    scale = Decimal(units.UNITS[f"{line['rate_prefix']}bit/s"][1])
    least = (amount - _half(line["amount"])) * size / (seconds + slack) / scale
    most = (amount + _half(line["amount"])) * size / (seconds - slack) / scale
    if rate + _half(line["rate"]) < least or rate - _half(line["rate"]) > most:
        raise errors.ImportRefused(
            f"{where}: the figures contradict each other: the bytes over the seconds make "
            f"{least:.3g} to {most:.3g} {line['rate_prefix']}bits/sec; nothing was imported"
        )


def _measurement(
    name: str, printed: str, unit: str, better: Better, *, primary: bool = False
) -> Measurement:
    # decimal up to the base unit, so that the figure comes back as it was printed
    value = float(Decimal(printed) * Decimal(units.UNITS[unit][1]))
    return Measurement(
        name=name, value=value, unit=unit, better=better, parser=PARSER, primary=primary
    )


def _size_unit(prefix: str) -> str:
    return f"{prefix}iB" if prefix else "B"


def _half(printed: str) -> Decimal:
    """Half of the last digit of a printed figure."""
    return Decimal((0, (5,), -len(printed.partition(".")[2]) - 1))


def _span(line: re.Match[str]) -> tuple[int, int]:
    return line.start(), line.end() - line.start()
