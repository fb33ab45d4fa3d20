"""What a host's shelf must hold before it can be probed or start a run."""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from typing import Final

from workers.contact import Contact, short_hash

_FACTS: Final = importlib.resources.files("orchestrator.contract").joinpath("facts.sh")


def stock_facts(contact: Contact) -> str:
    """The name under which the facts snippet is on the host's shelf.

    Raises: HostError.
    """
    snippet = _FACTS.read_bytes()
    name = f"facts-{short_hash(snippet)}.sh"
    contact.shelve(name, snippet)
    return name


def stock_rackprobe(contact: Contact, cache: Path) -> None:
    """See that the host's playbooks find ``rackprobe``, if there is one for its architecture.

    Raises: HostError.
    """
    binary = None
    if binary is None:
        return
