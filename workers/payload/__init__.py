"""What the worker puts on a host: the host's side of the protocol, and the probe.

The scripts are written in parts, one word of the glossary each, and joined for the host.
"""

from __future__ import annotations

import importlib.resources
from typing import Final

_PARTS: Final = importlib.resources.files(__name__) / "parts"


def meet_script() -> bytes:
    """The first call to a host, for standard input of ``sh -s -- NONCE [BASE]``."""
    return _joined("base", "meet")


def hostrun_script() -> bytes:
    """The script on a host's shelf that answers every other call."""
    return _joined("base", "words", "processes", "lock", "wrapper", "verbs")


def _joined(*parts: str) -> bytes:
    return b"\n".join((_PARTS / f"{part}.sh").read_bytes() for part in parts)
