"""The playbooks that a lab knows: those that come with benchrack, and its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import orchestrator
from orchestrator import inventory
from orchestrator.contract import errors
from orchestrator.parsers import REGISTRY
from orchestrator.playbook import check, loader, model


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A playbook with its exact text and where that lies."""

    playbook: model.Playbook
    source: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Playbooks by name."""

    entries: Mapping[str, Entry]

    @classmethod
    def read(cls, own: Path) -> Catalogue:
        """The built-in catalogue and a lab's own folder.

        Raises: PlaybookError if a file is wrong, or if two have one name.
        """
        entries: dict[str, Entry] = {}
        for folder in (builtin_folder(), own):
            for path in sorted(folder.glob("*.yaml")) if folder.is_dir() else ():
                entry = read_entry(path.read_bytes(), str(path))
                name = entry.playbook.name
                if name in entries:
                    raise errors.PlaybookError(
                        f"{path}: playbook {name!r} is also in {entries[name].path}; "
                        "rename one of them"
                    )
                entries[name] = entry
        return cls(entries=entries)

    def find(self, name: str) -> Entry:
        """The playbook of that name.

        Raises: UnknownName.
        """
        if name not in self.entries:
            raise inventory.unknown("playbook", name, self.entries)
        return self.entries[name]


def read_entry(data: bytes, path: str) -> Entry:
    """A playbook from its text, checked against the parsers.

    Raises: PlaybookError.
    """
    playbook = loader.load(data, name=path)
    check.check(playbook, REGISTRY)
    return Entry(playbook=playbook, source=data.decode("utf-8-sig"), path=path)


def builtin_folder() -> Path:
    """Where the catalogue lies: inside an installed package, or beside it in a checkout."""
    package = Path(orchestrator.__file__).parent
    installed = package / "_playbooks"
    return installed if installed.is_dir() else package.parent / "playbooks"
