"""The output of the facts snippet (``contract/facts.sh``) as named entries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

_MARKER = re.compile(r"^@@FACTS ([\w.]+) (.*)\n", re.MULTILINE)
_END = re.compile(r"^@@FACTS end ok\s*\Z", re.MULTILINE)
_TALLY = re.compile(r"\s*(\d+) (\w+):(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One fact: its content, or the text of the error that stood in the way."""

    content: str = ""
    error: str = ""
    #: only the first part is there
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """All entries of one output. ``complete``: the last line has come through."""

    entries: Mapping[str, Entry] = field(default_factory=lambda: MappingProxyType({}))
    complete: bool = False

    def text(self, name: str) -> str | None:
        """The content of a fact; None if there is none, or an empty one."""
        entry = self.entries.get(name)
        return entry.content.strip() or None if entry and not entry.error else None

    def lines(self, name: str) -> list[str]:
        """The lines of a fact; none if it is missing."""
        return (self.text(name) or "").splitlines()

    def group(self, name: str) -> dict[str, str]:
        """The files of a group by path. What could not be read is not in it."""
        found: dict[str, str] = {}
        for line in self.lines(name):
            path, colon, content = line.partition(":")
            if colon and path.startswith("/"):
                found[path] = f"{found[path]}\n{content}" if path in found else content
        return found

    def tally(self, name: str) -> dict[str, dict[str, int]]:
        """Of a tally: file name -> content -> in how many files of that name it stands."""
        found: dict[str, dict[str, int]] = {}
        for line in self.lines(name):
            if match := _TALLY.fullmatch(line):
                found.setdefault(match[2], {})[match[3]] = int(match[1])
        return found


def read(raw: bytes) -> Sheet:
    """The entries of an output; of a name that comes twice the first. Any bytes are accepted."""
    text = raw.decode("utf-8", "replace").replace("\r\n", "\n")
    text = text if text.endswith("\n") else text + "\n"
    markers = list(_MARKER.finditer(text))
    entries: dict[str, Entry] = {}
    for index, marker in enumerate(markers):
        name, status = marker.groups()
        end = markers[index + 1].start() if index + 1 < len(markers) else len(text)
        content = text[marker.end() : end].removesuffix("\n")
        if status == "ok" or status.startswith("cut "):
            entry = Entry(content=content, cut=status != "ok")
        else:
            entry = Entry(error=status or "failed")
        entries.setdefault(name, entry)
    return Sheet(MappingProxyType(entries), bool(_END.search(text)))
