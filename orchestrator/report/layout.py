"""Columns of plain ASCII text within a width: what does not fit beside goes below."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from math import floor, log10
from typing import Final

#: what a mail may be wide
WIDTH: Final = 76
#: what was not measured
UNMEASURED: Final = "-"
#: a wider key is broken over lines; none to less than the lesser
_WIDEST: Final = 26
_NARROWEST: Final = 6
_GAP: Final = "  "


@dataclass(frozen=True, slots=True)
class Column:
    """A header and a cell for each row."""

    header: str
    cells: tuple[str, ...]


def ascii_only(text: str) -> str:
    """Text in which everything but printable ASCII is written as an escape."""
    clean = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    return clean.encode("ascii", "backslashreplace").decode("ascii")


def paragraph(text: str, *, indent: str = "", width: int = WIDTH) -> list[str]:
    """Lines of a sentence within the width; nothing of it is left out."""
    return textwrap.wrap(
        ascii_only(text), width, subsequent_indent=indent, break_on_hyphens=False
    ) or [""]


def blocks(
    keys: Sequence[Column],
    columns: Sequence[Column],
    headings: Sequence[str],
    *,
    width: int = WIDTH,
) -> list[str]:
    """Lines of a table. Keys stand left in each block; a new heading gets its own line."""
    keys = [
        Column(ascii_only(key.header), tuple(ascii_only(cell) for cell in key.cells))
        for key in keys
    ]
    widest = max(map(_width, columns), default=0)
    widths = _shares([_width(key) for key in keys], width - widest)
    room = width - sum(widths) - len(_GAP) * len(keys)
    lines: list[str] = []
    for part in _parts(columns, room):
        if lines:
            lines.append("")
        lines += _block(keys, widths, part, headings)
    return lines


def decimals(values: Iterable[float]) -> int:
    """Digits after the point: all that the values have, or as many as make four digits in all."""
    there = [abs(value) for value in values]
    if not there or not max(there):
        return 0
    return min(exact(there), max(0, 3 - floor(log10(max(there)))))


def exact(values: Iterable[float]) -> int:
    """Digits after the point that the values have."""
    return max(map(_places, values), default=0)


def number(value: float | None, digits: int) -> str:
    """A number with its digits after the point; what is None was not measured."""
    return UNMEASURED if value is None else f"{value:.{digits}f}"


def _places(value: float) -> int:
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _width(column: Column) -> int:
    return max(map(len, (column.header, *column.cells)))


def _shares(widths: Sequence[int], room: int) -> list[int]:
    """Widths of keys, the widest ones cut until all of them and their gaps have room."""
    cap = min(max(widths), _WIDEST)
    while cap > _NARROWEST and sum(min(width, cap) + len(_GAP) for width in widths) > room:
        cap -= 1
    return [min(width, cap) for width in widths]


def _parts(columns: Sequence[Column], room: int) -> list[list[Column]]:
    """The columns in groups that fit into the room."""
    parts: list[list[Column]] = [[]]
    used = 0
    for column in columns:
        needed = _width(column) + len(_GAP)
        if parts[-1] and used + needed - len(_GAP) > room:
            parts.append([])
            used = 0
        parts[-1].append(column)
        used += needed
    return parts


def _block(
    keys: Sequence[Column],
    key_widths: Sequence[int],
    columns: Sequence[Column],
    headings: Sequence[str],
) -> list[str]:
    def row(names: Sequence[str], cells: Sequence[str]) -> list[str]:
        """A row; what is too long of its keys goes on below."""
        wrapped = [
            textwrap.wrap(name, width) for name, width in zip(names, key_widths, strict=True)
        ]
        right = [cell.rjust(_width(column)) for cell, column in zip(cells, columns, strict=True)]
        lines = []
        for below, parts in enumerate(zip_longest(*wrapped, fillvalue="")):
            left = [part.ljust(width) for part, width in zip(parts, key_widths, strict=True)]
            lines.append(_GAP.join(left if below else [*left, *right]).rstrip())
        return lines

    lines = row([key.header for key in keys], [column.header for column in columns])
    heading = ""
    for place, this in enumerate(headings):
        if this != heading:
            lines += ["", *paragraph(this)] if this else [""]
            heading = this
        lines += row(
            [key.cells[place] for key in keys], [column.cells[place] for column in columns]
        )
    return lines
