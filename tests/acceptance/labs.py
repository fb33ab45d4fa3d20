"""A running lab, driven as an operator drives it: by the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from orchestrator.local.lab import Lab
from orchestrator.settings import Settings
from tests import services

BENCHRACK = str(Path(sys.executable).parent / "benchrack")
#: seconds that one command may take
PATIENCE_S = 150


@dataclass(frozen=True, slots=True)
class Desk:
    """Where an operator sits: a state folder, and the lab that runs on it."""

    state: Path
    lab: Lab | None = None

    def call(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Execute ``benchrack`` with these words."""
        return subprocess.run(
            (BENCHRACK, "--state", str(self.state), *words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            env={**os.environ, **environ},
            check=False,
        )

    def do(self, *words: str) -> str:
        """What a command prints that must end well."""
        done = self.call(*words)
        assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def ask(self, *words: str) -> Any:
        """What a command answers as JSON."""
        return json.loads(self.do("--json", *words))

    def refused(self, *words: str, code: int = 2) -> str:
        """The one sentence with which a command is refused."""
        done = self.call(*words)
        lines = done.stderr.strip().splitlines()
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        assert len(lines) == 1, done.stderr
        assert lines[0].startswith("benchrack: "), lines
        return lines[0].removeprefix("benchrack: ")

    def enrol(self, name: str, server: services.Server, keys: services.Keys, *more: str) -> None:
        """Add a host whose key is known from its making."""
        self.do(
            *("host", "add", name, "--address", server.address, "--port", str(server.port)),
            *("--user", server.user, "--key", str(keys.folder / "id")),
            *("--fingerprint", fingerprint(server), *more),
        )

    def pid(self, process: str) -> int:
        """Process id of one of the lab's own processes."""
        assert self.lab is not None
        return self.lab.pids[process]

    def queued(self) -> int:
        """How many runs there are that have not ended."""
        status = self.ask("status")
        return int(status["counts"]["runs"]) - int(status["counts"]["ended"])


def fingerprint(server: services.Server) -> str:
    """The fingerprint of a server's first host key, as ssh-keygen prints it."""
    with tempfile.NamedTemporaryFile("w", suffix=".pub") as line:
        line.write(server.host_keys[0] + "\n")
        line.flush()
        return services.run("ssh-keygen", "-lf", line.name).split()[1]


@contextmanager
def running(state: Path) -> Iterator[Desk]:
    """A lab on a state folder, with the embedded broker."""
    environ = {key: text for key, text in os.environ.items() if not key.startswith("BENCHRACK_")}
    with Lab(Settings.read(environ, state=state), environ=environ) as lab:
        yield Desk(state, lab)


@dataclass(frozen=True, slots=True)
class Execution:
    """One line pair of a host's own log: uptime at begin and end, and the run."""

    begin: float
    end: float
    run: str


def executions(*bases: Path) -> list[Execution]:
    """What the hosts say that they executed, by their own logs, in the order of the beginnings."""
    found = []
    for base in bases:
        open_: dict[tuple[str, str], float] = {}
        for line in (base / "log").read_text().splitlines():
            uptime, what, _lab, run, attempt, *_ = line.split()
            if what == "begin":
                open_[run, attempt] = float(uptime)
            else:
                found.append(Execution(open_.pop((run, attempt)), float(uptime), run))
        assert not open_, f"{base}: begun and never ended: {open_}"
    return sorted(found, key=lambda one: one.begin)


def overlaps(done: list[Execution]) -> list[tuple[Execution, Execution]]:
    """Pairs of executions that were under way at the same time."""
    return [(one, other) for one, other in pairwise(done) if other.begin < one.end]


def marked_processes(run: str) -> list[int]:
    """Processes that carry a run's marker."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"BENCHRACK_RUN={run}".encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            # it ended, or is somebody else's
            continue
    return found
