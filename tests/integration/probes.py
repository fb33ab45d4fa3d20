"""The probe built for this machine, executed, and read."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.payload.rackprobe import build

#: shared by all tests and later runs: the name of a binary holds the hash of its sources
CACHE = Path(tempfile.gettempdir()) / f"benchrack-test-{os.getuid()}" / "rackprobe"
NONCE = "0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Ended:
    """How the probe ended and what it printed."""

    rc: int
    out: bytes
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The JSON in the frame."""
        begin = self.out.index(b"\n", self.out.index(b"@@RACK BEGIN")) + 1
        found: dict[str, Any] = json.loads(self.out[begin : self.out.index(b"@@RACK END")])
        return found


def native() -> Path:
    """The binary for this machine."""
    return build.binary(build.target_for(platform.machine()), cache=CACHE)


def execute(*arguments: str, before: tuple[str, ...] = (), program: Path | None = None) -> Ended:
    """One call of the probe; ``before`` are the words in front of it."""
    command = (*before, str(program or native()), *arguments)
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    return Ended(done.returncode, done.stdout, done.stderr.decode())
