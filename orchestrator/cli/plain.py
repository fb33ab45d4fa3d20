"""Sheets as ASCII text of at most 76 columns, which pastes into a mail."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

from orchestrator.cli.sheet import Column, Sheet
from orchestrator.cli.text import safe

WIDTH: Final = 76
_GAP: Final = "  "
#: a last column that has to be wrapped keeps this width
_LAST_WIDTH: Final = 24


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
    *widths, last = [_width(column) for column in columns]
    room = WIDTH - sum(widths) - len(_GAP) * len(widths)
    if room < min(last, _LAST_WIDTH):
        return _blocks(columns)
    widths.append(min(last, room))
    lines = [_line([column.header for column in columns], columns, widths)]
    for cells in zip(*(column.cells for column in columns), strict=True):
        *texts, final = [_ascii(cell.text) for cell in cells]
        first, *rest = textwrap.wrap(final, widths[-1], break_on_hyphens=False) or [""]
        lines.append(_line([*texts, first], columns, widths))
        lines += [_line([*[""] * len(texts), part], columns, widths) for part in rest]
    return lines


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
