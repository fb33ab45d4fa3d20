"""What stands above a block of numbers: the kernel's label, a remark, and the group it opens.

In a wrapped mail lines and paragraphs tell; in a flat one only sentence ends, command lines and
the label itself do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from orchestrator.importers import command

LABEL: Final = r"(?:linux-|v)?\d+\.\d+[\w.+~-]*[\w+~]|\d+\.\d+"

#: punctuation around a heading
_MARKS: Final = " .:;,-=*"
#: a heading is short; of a longer text its end is taken
_LONGEST: Final = 80
_AT_END: Final = re.compile(
    rf"(?<![\w./:-])(?P<kernel>{LABEL})[:,]?\s*(?:\((?P<remark>[^()]*)\))?[\s:.=-]*\Z"
)
_ON_LINE: Final = re.compile(rf"(?:^|\n)[ *]*(?P<kernel>{LABEL})(?P<remark>[ ,:(][^\n]*)\s*\Z")
#: what the tool prints around its results
_CHATTER: Final = re.compile(
    r"\[\s*\d+\s*\]\s+local [^\n\[]+? connected with \S+ port \d+"
    r"|\[\s*\d+\s*\]\s*\d[\d.]*\s*-\s*\d[\d.]*\s+sec\s+[\d.]+ \w*Bytes\s+[\d.]+ \w*bits/sec"
    r"|\[\s*ID\s*\]\s*Interval\s+Transfer\s+Bandwidth"
    r"|Client connecting to \S+ TCP port \d+|TCP window size: *[\d.]+ \w*Byte(?: \(default\))?"
    r"|-{5,}|(?:^|(?<=\s))[#$](?=\s)",
)
_REPEAT: Final = re.compile(r"(?:(?:run|repeat|test|try|pass|round)\b)?[\s#]*\d*[\s:.)=*-]*", re.I)
_LEAD: Final = re.compile(
    r"(?:(?:^|\s)(?:kernel|linux|version|on|under|with|for|of)[:,]?)+\s*\Z", re.I
)


@dataclass(frozen=True)
class Heading:
    """A kernel's label, what the source remarks of it, and the group that begins here, if any."""

    kernel: str
    remark: str
    group: str


def find(body: str, begin: int, end: int) -> Heading | None:
    """The heading that a part of the text ends with."""
    commands = command.spans(body, begin, end)
    part = _blanked(body, begin, end, commands)
    found = _AT_END.search(part) or _ON_LINE.search(part)
    if found is None:
        return None
    label = found.start("kernel")
    opened = max((stop - begin for _, stop in commands if stop - begin <= label), default=0)
    return Heading(
        kernel=found["kernel"],
        remark=" ".join((found["remark"] or "").split()).strip(" ,:()"),
        group=_group(part[opened:label]),
    )


def leftover(body: str, begin: int, end: int) -> str:
    """What a part of the text says beside the tool's own words and a count of repeats."""
    text = " ".join(_blanked(body, begin, end, command.spans(body, begin, end)).split())
    return "" if _REPEAT.fullmatch(text) else text


def _blanked(body: str, begin: int, end: int, commands: list[tuple[int, int]]) -> str:
    """A part of the text, the same length, with the tool's own words blanked out."""
    part = body[begin:end]
    for first, last in commands:
        part = (
            part[: first - begin]
            + _spaces(part[first - begin : last - begin])
            + part[last - begin :]
        )
    return _CHATTER.sub(lambda found: _spaces(found.group()), part)


def _spaces(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _group(before: str) -> str:
    """The heading of a group: what stands on the label's line, else the paragraph above it."""
    *above, same_line = before.split("\n")
    text = _LEAD.sub("", same_line).strip(_MARKS)
    if not text:
        paragraphs = re.split(r"\n\s*\n", "\n".join(above).rstrip())
        text = " ".join(paragraphs[-1].split()).strip(_MARKS)
    sentence = re.split(r"[.!?:;]\s+", text)[-1].strip()
    if re.fullmatch(rf"(?:{LABEL})\s*(?:\([^()]*\))?", sentence):
        return ""
    if len(sentence) > _LONGEST:
        sentence = sentence[-_LONGEST:].partition(" ")[2]
    return sentence
