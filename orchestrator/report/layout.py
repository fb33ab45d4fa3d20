"""Columns of plain ASCII text within a width: what does not fit beside goes below."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import floor, log10
from typing import Final

#: what a mail may be wide
WIDTH: Final = 76
#: what was not measured
UNMEASURED: Final = "-"
#: a wider key is broken over lines
KEY_WIDTH: Final = 26
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


def paragraph(text: str, *, indent: str = "") -> list[str]:
    """Lines of a sentence within the width; nothing of it is left out."""
    return textwrap.wrap(
        ascii_only(text), WIDTH, subsequent_indent=indent, break_on_hyphens=False
    ) or [""]


def blocks(keys: Sequence[Column], columns: Sequence[Column], headings: Sequence[str]) -> list[str]:
    """Lines of a table. Keys stand left in each block; a new heading gets its own line."""
    keys = [_wrapped_safe(key) for key in keys]
    room = WIDTH - sum(_width(key) + len(_GAP) for key in keys)
    lines: list[str] = []
    for part in _parts(columns, room):
        if lines:
            lines.append("")
        lines += _block(keys, part, headings)
    return lines


def decimals(values: Iterable[float]) -> int:
    """Digits after the point: all that the values have, or as many as make four digits."""
    there = [abs(value) for value in values]
    if not there or not max(there):
        return 0
    return min(exact(there), max(2, 3 - floor(log10(max(there)))))


def exact(values: Iterable[float]) -> int:
    """Digits after the point that the values have."""
    return max(map(_places, values), default=0)


def number(value: float | None, digits: int) -> str:
    """A number with its digits after the point; what is None was not measured."""
    return UNMEASURED if value is None else f"{value:.{digits}f}"


def _places(value: float) -> int:
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _wrapped_safe(key: Column) -> Column:
    return Column(ascii_only(key.header), tuple(ascii_only(cell) for cell in key.cells))


def _width(column: Column) -> int:
    longest = max(map(len, (column.header, *column.cells)))
    return min(longest, KEY_WIDTH)


def _parts(columns: Sequence[Column], room: int) -> list[list[Column]]:
    """The columns in groups that fit into the room; a single one that does not stands alone."""
    parts: list[list[Column]] = [[]]
    used = 0
    for column in columns:
        needed = max(map(len, (column.header, *column.cells))) + len(_GAP)
        if parts[-1] and used + needed - len(_GAP) > room:
            parts.append([])
            used = 0
        parts[-1].append(column)
        used += needed
    return parts


def _block(keys: Sequence[Column], columns: Sequence[Column], headings: Sequence[str]) -> list[str]:
    key_widths = [_width(key) for key in keys]
    widths = [max(map(len, (column.header, *column.cells))) for column in columns]

    def line(names: Sequence[str], cells: Sequence[str]) -> str:
        left = [name.ljust(width) for name, width in zip(names, key_widths, strict=True)]
        right = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        return _GAP.join([*left, *right]).rstrip()

    lines = [line([key.header for key in keys], [column.header for column in columns])]
    heading = ""
    for place, this in enumerate(headings):
        if this != heading:
            lines += ["", *paragraph(this)] if this else [""]
            heading = this
        names = [textwrap.wrap(key.cells[place], KEY_WIDTH) or [""] for key in keys]
        lines.append(line([name[0] for name in names], [column.cells[place] for column in columns]))
        for rest in range(1, max(map(len, names))):
            lines.append(
                line(
                    [name[rest] if rest < len(name) else "" for name in names], [""] * len(columns)
                )
            )
    return lines
