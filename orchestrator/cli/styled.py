"""Sheets for a terminal, as wide as it is."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from orchestrator.cli.sheet import Cell, Sheet
from orchestrator.cli.text import safe


def render(sheet: Sheet) -> RenderableType:
    """What rich prints of a sheet. All text goes in as text, never as markup."""
    parts: list[RenderableType] = []
    if sheet.title:
        parts.append(Text(safe(sheet.title), style="bold"))
    if sheet.pairs:
        parts.append(_pairs(sheet))
    if sheet.columns:
        parts.append(_table(sheet))
    parts += [_text(cell) for cell in sheet.sentences]
    return Group(*parts, Text())


def _text(cell: Cell) -> Text:
    return Text(safe(cell.text), style=cell.tone.value)


def _pairs(sheet: Sheet) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, cell in sheet.pairs:
        grid.add_row(Text(name), _text(cell))
    return grid


def _table(sheet: Sheet) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False, show_edge=False)
    for column in sheet.columns:
        table.add_column(
            Text(column.header), justify="right" if column.right else "left", overflow="fold"
        )
    for cells in zip(*(column.cells for column in sheet.columns), strict=True):
        table.add_row(*map(_text, cells))
    return table
