"""What a host's shelf must hold before it can be probed or start a run."""

from __future__ import annotations

import importlib.resources
import logging
from pathlib import Path
from typing import Final

from orchestrator.contract import errors
from workers.contact import Contact, short_hash
from workers.payload.rackprobe import build

_log = logging.getLogger(__name__)

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
    """See that the host's playbooks find ``rackprobe``, where there is one for its machine.

    Raises: HostError.
    """
    meeting = contact.meet()
    if meeting.stocked:
        return
    binary = rackprobe_for(meeting.arch, cache)
    if binary is not None:
        name = f"rackprobe-{short_hash(binary)}"
        contact.shelve(name, binary)
        # a binary under its hash is never written again, so no run loses the one it executes;
        # the plain name is a word on the PATH that leads to the one of this worker
        script = f'#!/bin/sh\nexec "${{0%/*}}/{name}" "$@"\n'
        contact.shelve("rackprobe", script.encode(), anew=True)
    meeting.stocked = True


def rackprobe_for(arch: str, cache: Path) -> bytes | None:
    """The probe for a machine as ``uname -m`` names it; None if there is none to be had."""
    try:
        path = build.binary(build.target_for(arch), cache=cache / "rackprobe")
    except errors.Misfit as error:
        _log.info("%s", error.message)
        return None
    except errors.LabError as error:
        # playbooks that need no rackprobe can still be executed
        _log.warning("the host goes without rackprobe: %s", error.message)
        return None
    return path.read_bytes()
