"""Sheets as ASCII text of at most 76 columns, which pastes into a mail."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Final

from orchestrator.cli.sheet import Column, Sheet
from orchestrator.cli.text import safe

WIDTH: Final = 76
_GAP: Final = "  "
#: a last column that has to be wrapped keeps this width
_LAST_WIDTH: Final = 24
#: and any other that may be wrapped, this one
_WRAPPED: Final = 10


def document(sheets: Iterable[Sheet]) -> str:
    """The text of sheets, one below the other."""
    return "\n\n".join(filter(None, map(render, sheets)))


def render(sheet: Sheet) -> str:
    """The text of a sheet, without a line end after the last line."""
    parts = [
        _wrap(sheet.title) if sheet.title else [],
        _pairs(sheet),
        _columns(sheet.columns),
        [line for cell in sheet.sentences for line in _wrap(cell.text)],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def wrapped(text: str) -> list[str]:
    """The lines of a sentence; a word that is wider than a line stays whole, to be copied."""
    return textwrap.wrap(
        _ascii(text),
        WIDTH,
        subsequent_indent=_GAP,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _ascii(text: str) -> str:
    return safe(text, ascii_only=True)


def _wrap(text: str, indent: str = _GAP) -> list[str]:
    return textwrap.wrap(_ascii(text), WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def _pairs(sheet: Sheet) -> list[str]:
    width = max((len(name) for name, _ in sheet.pairs), default=0) + len(_GAP)
    lines: list[str] = []
    for name, cell in sheet.pairs:
        head = _ascii(name).ljust(width)
        lines += textwrap.wrap(
            head + _ascii(cell.text),
            WIDTH,
            subsequent_indent=" " * width,
            drop_whitespace=True,
            break_on_hyphens=False,
        ) or [head.rstrip()]
    return lines


def _columns(columns: Sequence[Column]) -> list[str]:
    """Rows beside each other where they fit, the last cell wrapped; otherwise one block a row."""
    if not columns:
        return []
    widths = _widths(columns)
    if sum(widths) + len(_GAP) * (len(widths) - 1) > WIDTH:
        return _blocks(columns)
    lines = [_line([column.header for column in columns], columns, widths)]
    for cells in zip(*(column.cells for column in columns), strict=True):
        parts = [
            textwrap.wrap(_ascii(cell.text), width, break_on_hyphens=False)
            for cell, width in zip(cells, widths, strict=True)
        ]
        rows = list(zip_longest(*parts, fillvalue="")) or [("",) * len(widths)]
        lines += [_line(row, columns, widths) for row in rows]
    return lines


def _widths(columns: Sequence[Column]) -> list[int]:
    """Widths within a line if that can be: the last gives way first, then the widest."""
    widths = [_width(column) for column in columns]
    least = [
        min(width, _WRAPPED if column.wrap else width)
        for column, width in zip(columns, widths, strict=True)
    ]
    least[-1] = min(least[-1], _LAST_WIDTH)
    last = len(widths) - 1
    while sum(widths) + len(_GAP) * (len(widths) - 1) > WIDTH:
        spare = [width - low for width, low in zip(widths, least, strict=True)]
        if not any(spare):
            break
        able = [place for place, left in enumerate(spare) if left]
        widths[last if spare[last] else max(able, key=lambda place: widths[place])] -= 1
    return widths


def _width(column: Column) -> int:
    return max(map(len, (column.header, *(_ascii(cell.text) for cell in column.cells))))


def _line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    return _GAP.join(
        cell.rjust(width) if column.right else cell.ljust(width)
        for cell, column, width in zip(cells, columns, widths, strict=True)
    ).rstrip()


def _blocks(columns: Sequence[Column]) -> list[str]:
    lines: list[str] = []
    for cells in zip(*(column.cells for column in columns), strict=True):
        if lines:
            lines.append("")
        pairs = tuple(
            (column.header.lower(), cell)
            for column, cell in zip(columns, cells, strict=True)
            if cell.text
        )
        lines += _pairs(Sheet(pairs=pairs))
    return lines
