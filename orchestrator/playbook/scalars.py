"""Scalar types: text -> value. Each refuses with ValueError, in one sentence that says the mend."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum

#: what a typed scalar can be
Value = int | float | bool | str

#: seconds
DURATION_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
#: bytes
SIZE_UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}

_INT = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)?(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
_QUANTITY = re.compile(r"((?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,9})?)([A-Za-z]*)")
_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


class Type(StrEnum):
    """The types that a parameter may have."""

    INT = "int"
    NUMBER = "number"
    BOOL = "bool"
    DURATION = "duration"
    SIZE = "size"
    SLUG = "slug"
    WORD = "word"
    TEXT = "text"
    PATH = "path"
    CHOICE = "choice"


def parse_int(text: str) -> int:
    """A whole number in plain decimal."""
    if not _INT.fullmatch(text):
        hint = ", no leading 0" if text.lstrip("-").startswith("0") else ""
        raise ValueError(f"{text!r} is not a whole number; write plain decimal{hint}")
    return int(text)


def parse_number(text: str) -> float:
    """A finite number."""
    if not _NUMBER.fullmatch(text) or not any(c.isdigit() for c in text.lower().split("e")[0]):
        raise ValueError(f"{text!r} is not a number; write it in decimal, as 0.5 or 1e9")
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is too large for a number")
    return value


def parse_bool(text: str) -> bool:
    """``true`` or ``false``."""
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


def parse_duration(text: str) -> float:
    """Seconds, from a number with a unit."""
    match = _QUANTITY.fullmatch(text)
    if not match or match[2] not in DURATION_UNITS:
        known = " ".join(DURATION_UNITS)
        raise ValueError(f"{text!r} is not a duration; write a number with one of: {known}")
    # exact decimal: 0.3ms is 0.0003 s
    return float(Decimal(match[1]) * Decimal(str(DURATION_UNITS[match[2]])))


def parse_size(text: str) -> int:
    """Bytes, from a whole number with a binary unit."""
    match = _QUANTITY.fullmatch(text)
    if match and match[2] in ("KB", "MB", "GB", "kB", "K", "M", "G"):
        unit = f"{match[2][0].upper()}iB"
        raise ValueError(f"{match[2]} in {text!r} is ambiguous; write {match[1]}{unit}")
    if not match or match[2] not in SIZE_UNITS or "." in match[1]:
        known = " ".join(SIZE_UNITS)
        raise ValueError(f"{text!r} is not a size; write a whole number with one of: {known}")
    return int(match[1]) * SIZE_UNITS[match[2]]


def parse_slug(text: str) -> str:
    """Lower-case letters, digits and hyphens."""
    if not _SLUG.fullmatch(text):
        raise ValueError(f"{text!r} is not a name: lower-case letters, digits and -, at most 63")
    return text


def parse_word(text: str) -> str:
    """One word that no tool takes for an option."""
    if not text or any(c.isspace() for c in text):
        raise ValueError(f"{text!r} is not one word")
    return _no_option(_no_control(text))


def parse_text(text: str) -> str:
    """Any text but NUL."""
    if "\0" in text:
        raise ValueError("the text holds a NUL, which no program can be given")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("the text is not valid Unicode") from None
    return text


def parse_path(text: str) -> str:
    """A path without ``..`` and ``~``."""
    if not text:
        raise ValueError("a path is not empty")
    if ".." in text.split("/") or text.startswith("~"):
        raise ValueError(f"{text!r}: a path has neither .. nor ~; write it out")
    return _no_option(_no_control(text))


def _no_control(text: str) -> str:
    if any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in parse_text(text)):
        raise ValueError(f"{text!r} holds a control character")
    return text


def _no_option(text: str) -> str:
    if text.startswith("-"):
        raise ValueError(f"{text!r} begins with -, which a tool would take for an option")
    return text


PARSERS: dict[Type, Callable[[str], Value]] = {
    Type.INT: parse_int,
    Type.NUMBER: parse_number,
    Type.BOOL: parse_bool,
    Type.DURATION: parse_duration,
    Type.SIZE: parse_size,
    Type.SLUG: parse_slug,
    Type.WORD: parse_word,
    Type.TEXT: parse_text,
    Type.PATH: parse_path,
    Type.CHOICE: parse_word,
}


def plain(value: Value) -> str:
    """The one text of a value, as a tool and a series see it: plain decimal, bool as 1 or 0."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        if value == int(value):
            return str(int(value))
        return format(Decimal(repr(value)), "f")
    return str(value)


def from_plain(kind: Type, text: str) -> Value:
    """The value that ``plain`` wrote as this text."""
    match kind:
        case Type.BOOL:
            if text not in ("0", "1"):
                raise ValueError(f"{text!r} is neither 1 nor 0")
            return text == "1"
        case Type.DURATION:
            return parse_number(text)
        case Type.SIZE:
            return parse_int(text)
    return PARSERS[kind](text)
