"""Text from elsewhere, made safe to show.

What a host or a mail says may hold bytes that move the cursor, set the title or reverse the order
of what is read; all such characters are shown as escapes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_UNSHOWN: Final = frozenset({"Cc", "Cs", "Cn", "Co", "Zl", "Zp"})


def safe(text: str, *, ascii_only: bool = False) -> str:
    """One line of text without control characters."""
    shown = "".join(char if _harmless(char) else _escape(char) for char in text)
    return shown.encode("ascii", "backslashreplace").decode() if ascii_only else shown


def safe_lines(text: str, *, ascii_only: bool = False) -> str:
    """Text whose line ends and tabs are kept, without other control characters."""
    lines = text.split("\n")
    return "\n".join(
        "\t".join(safe(part, ascii_only=ascii_only) for part in line.split("\t")) for line in lines
    )


def _harmless(char: str) -> bool:
    return unicodedata.category(char) not in _UNSHOWN and char not in _BIDI


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def ago(moment: str, now: datetime) -> str:
    """How long ago an instant (ISO 8601) was, roughly."""
    return f"{duration(now - datetime.fromisoformat(moment))} ago"


def duration(span: timedelta) -> str:
    """A time span, roughly: its two largest units at most."""
    seconds = max(0, round(span.total_seconds()))
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if minutes < 10 and seconds else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def count(number: int, noun: str) -> str:
    """A number with its noun in the right form."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def utc_now() -> datetime:
    """The wall clock, aware."""
    return datetime.now(UTC)


def memory(size: int) -> str:
    """Bytes of memory, roughly."""
    return f"{size / 2**30:.3g} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def unit(name: str) -> str:
    """A unit as it is printed; that of plain numbers is nothing."""
    return "" if name == "1" else name


def span(limits: Sequence[float] | None) -> str:
    """The least and the greatest of a range."""
    if limits is None:
        return ""
    low, high = limits
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
