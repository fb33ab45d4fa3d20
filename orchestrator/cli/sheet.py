"""A sheet: what a command shows, before anything is decided about how."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Tone(Enum):
    """What a cell says at a glance; a style on a terminal, nothing in plain text."""

    PLAIN = ""
    NAME = "bold"
    GOOD = "green"
    BUSY = "cyan"
    WAIT = "yellow"
    BAD = "red"
    FAINT = "dim"


@dataclass(frozen=True, slots=True)
class Cell:
    """A piece of text with its tone. The text may come from anywhere: it is escaped when shown."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Column:
    """A header and a cell for each row.

    ``wrap``: a cell may go on below where there is no room; one of the last column always may.
    """

    header: str
    cells: tuple[Cell, ...]
    right: bool = False
    wrap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A title, pairs of names and values, columns, and sentences below; each may be empty."""

    title: str = ""
    pairs: tuple[tuple[str, Cell], ...] = ()
    columns: tuple[Column, ...] = ()
    sentences: tuple[Cell, ...] = ()


def sentence(text: str, tone: Tone = Tone.PLAIN) -> Sheet:
    """A sheet of one sentence."""
    return Sheet(sentences=(Cell(text, tone),))
