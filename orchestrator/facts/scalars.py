"""Values out of the texts of files; None for what is not there or not what it should be."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime


def first(table: Mapping[str, str], *names: str) -> str | None:
    """The first of these entries that has any content."""
    return next((table[name] for name in names if table.get(name)), None)


def whole(text: str | None) -> int | None:
    """A whole number."""
    return int(text) if text and re.fullmatch(r"\s*-?\d{1,18}\s*", text) else None


def decimal(text: str | None) -> float | None:
    """A number as the files of /proc write it."""
    return float(text) if text and re.fullmatch(r"\d{1,15}(?:\.\d{1,9})?", text) else None


def count(ranges: str | None) -> int | None:
    """How many processors a list like ``0-3,6`` names."""
    total = 0
    for part in (ranges or "").split(","):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part.strip())
        if not match:
            return None
        total += int(match[2] or match[1]) - int(match[1]) + 1
    return total


def joined(values: Mapping[str, int] | None) -> str | None:
    """The value that all files share, or all values side by side."""
    return " and ".join(sorted(values)) if values else None


def switch(text: str | None) -> bool | None:
    """Off or on."""
    return {"0": False, "1": True}.get(text or "")


def digest(group: Mapping[str, str]) -> str | None:
    """A short digest of a group, by which two hosts or boots are told apart."""
    if not group:
        return None
    text = "\n".join(f"{name}:{content}" for name, content in sorted(by_name(group).items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def by_name(group: Mapping[str, str]) -> dict[str, str]:
    """A group by the last part of each path."""
    return {path.rpartition("/")[2]: content.strip() for path, content in group.items()}


def pressure(text: str) -> float | None:
    """The share of the last ten seconds in which some task waited. Units: %."""
    match = re.search(r"^some avg10=(\d{1,3}\.\d+)", text, re.MULTILINE)
    return float(match[1]) if match else None


def identifier(text: str | None) -> str | None:
    """A machine or boot id."""
    return text.lower() if text and re.fullmatch(r"[0-9A-Fa-f-]{32,36}", text) else None


def epoch(text: str | None) -> int | None:
    """Seconds of the epoch of a time in UTC."""
    try:
        return int(datetime.strptime(text or "", "%Y-%m-%dT%H:%M:%S%z").timestamp())
    except ValueError:
        return None


def space(lines: list[str]) -> int | None:
    """Available KiB by ``df -k``, whose long names stand in a line of their own."""
    match = re.search(r"\d+\s+\d+\s+(\d{1,15})\s+\d+%", " ".join(lines[1:])[:1000])
    return int(match[1]) if match else None
