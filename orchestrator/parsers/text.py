"""Captured bytes as lines that a pattern can be anchored to."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MAX_LINE = 1000
_ENDLESS = re.compile(r"\d{19}")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b.")
_PRINTK = re.compile(r"\[ *\d+\.\d{6}\] ")


@dataclass(frozen=True, slots=True)
class Text:
    """Lines without terminators, and what had to be taken away to get them."""

    lines: tuple[str, ...]
    flags: tuple[str, ...] = ()
    #: the last line has no terminator: it may have been cut anywhere
    unterminated: bool = False


def clean(raw: bytes) -> Text:
    """The lines of a capture, without NUL bytes, carriage returns and escape codes."""
    flags = []
    if b"\x00" in raw:
        flags.append("nul_bytes")
        raw = raw.replace(b"\x00", b"")
    if b"\r" in raw:
        flags.append("crlf")
    text = raw.decode("utf-8", "replace")
    if "\x1b" in text:
        flags.append("escape_codes")
        text = _ESCAPE.sub("", text)
    if _PRINTK.search(text):
        flags.append("kernel_messages")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    unterminated = lines[-1] != ""
    return Text(tuple(lines if unterminated else lines[:-1]), tuple(flags), unterminated)


def is_plain(line: str) -> bool:
    """Whether a tool could have printed this for people: no endless line, no endless number.

    What is not plain could take long to search, and its numbers could not be converted.
    """
    return len(line) <= _MAX_LINE and not _ENDLESS.search(line)


def quote(line: str) -> str:
    """A line as an error message may show it: short and without control characters."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in line.strip())
    return shown if len(shown) <= 120 else shown[:117] + "..."
