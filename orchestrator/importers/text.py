"""A mail as text that can be searched, with the line of every place in it.

Archives give mails wrapped or as one long line, quoted or not, several in one file. Here quote
marks are gone and blanks are single; each place still knows the line of the source it came from.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from orchestrator.contract import errors

#: bytes of a source; a mail with a table is far from it
LARGEST: Final = 1024 * 1024

#: quote marks stand before a word or alone; archives leave them in the middle of a flat line too
_QUOTES: Final = re.compile(r"(?<!\S)(?:[>|]+(?:\s|$))*(?:>+(?=\S)|[>|]+(?=\s|$))")
#: what stands between two mails of one file, or before the first
_BETWEEN: Final = re.compile(r"From mboxrd@z\b|^From \S+ \w{3} \w{3} \d|Return-Path:", re.MULTILINE)


@dataclass(frozen=True)
class Text:
    """The text of a source; ``name`` is what messages call it."""

    name: str
    body: str
    #: where each line of the body begins, and its number in the source
    begins: tuple[int, ...]
    numbers: tuple[int, ...]

    def line(self, place: int) -> int:
        """The line of the source that a place of the body is in, counted from 1."""
        return self.numbers[bisect_right(self.begins, place) - 1]

    def where(self, place: int) -> str:
        """How a message names a place."""
        return f"{self.name}: line {self.line(place)}"

    def excerpt(self, place: int, length: int = 70) -> str:
        """What stands at a place, up to the end of its line."""
        return self.body[place : place + length].partition("\n")[0].strip()

    def mails(self) -> list[tuple[int, int]]:
        """Begin and end of each mail in the body."""
        cuts = [0, *(found.start() for found in _BETWEEN.finditer(self.body)), len(self.body)]
        return [(begin, end) for begin, end in pairwise(cuts) if begin < end]


def read(data: bytes, name: str) -> Text:
    """The text of a source, as UTF-8 or else Latin-1.

    Raises: ImportRefused for more than a mail may be.
    """
    if len(data) > LARGEST:
        raise errors.ImportRefused(f"{name}: more than {LARGEST} bytes is no mail with a table")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    lines = [" ".join(_QUOTES.sub(" ", line).split()) for line in re.split(r"\r\n|\r|\n", text)]
    # of several empty lines one is enough
    kept = [n for n, line in enumerate(lines) if line or not n or lines[n - 1]]
    begins, place = [], 0
    for n in kept:
        begins.append(place)
        place += len(lines[n]) + 1
    return Text(
        name=name,
        body="\n".join(lines[n] for n in kept),
        begins=tuple(begins),
        numbers=tuple(n + 1 for n in kept),
    )
