"""A mail as text that can be searched, with the line of every place in it.

Archives give mails wrapped or as one long line, quoted or not, several in one file. Quote marks
become spaces here, so that a place in the text stays the place in the source.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

_QUOTES: Final = re.compile(r"(?:(?<=\s)|^)[>|][>| ]*(?=\S)|(?:(?<=\s)|^)>+(?=\s|$)", re.MULTILINE)
#: what stands between two mails of one file, or before the first
_BETWEEN: Final = re.compile(
    r"From mboxrd@z\b|^From \S+ +\w{3} \w{3} +\d|Return-Path:", re.MULTILINE
)


@dataclass(frozen=True)
class Text:
    """The text of a source; ``name`` is what messages call it."""

    name: str
    body: str

    @cached_property
    def _breaks(self) -> list[int]:
        return [place for place, char in enumerate(self.body) if char == "\n"]

    def line(self, place: int) -> int:
        """The line that a place of the body is in, counted from 1."""
        return bisect_right(self._breaks, place - 1) + 1

    def where(self, place: int) -> str:
        """How a message names a place."""
        return f"{self.name}: line {self.line(place)}"

    def excerpt(self, place: int, length: int = 70) -> str:
        """What stands at a place, for a message."""
        return " ".join(self.body[place : place + length].split())

    def mails(self) -> list[tuple[int, int]]:
        """Begin and end of each mail in the body."""
        cuts = [0, *(found.start() for found in _BETWEEN.finditer(self.body)), len(self.body)]
        return [(begin, end) for begin, end in pairwise(cuts) if begin < end]


def read(data: bytes, name: str) -> Text:
    """The text of a source, as UTF-8 or else Latin-1, without carriage returns and quote marks."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    text = re.sub(r"\r\n?", "\n", text).replace("\xa0", " ").replace("\t", " ")
    return Text(name, _QUOTES.sub(lambda found: " " * len(found.group()), text))
