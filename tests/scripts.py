"""Compiled scripts executed for real, in the shells that hosts have."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.contract.domain import NoisePolicy, new_id
from orchestrator.playbook import compile as compiler
from orchestrator.playbook import loader, params
from orchestrator.playbook.record import Record, read_record
from tests import services

SHELLS = [
    pytest.param(("dash",), id="dash", marks=pytest.mark.needs("dash")),
    pytest.param(("busybox", "ash"), id="ash", marks=pytest.mark.needs("busybox")),
    pytest.param(("bash",), id="bash", marks=pytest.mark.needs("bash")),
    pytest.param(("mksh",), id="mksh", marks=pytest.mark.needs("mksh")),
]
#: the words that start a shell
Shell = tuple[str, ...]
#: stages that do the least
MAIN = "stages: {run: {steps: [{id: main, run: [echo, '1']}]}}\n"

FACTS = compiler.HostFacts(cpus=1, memory_kib=65536, arch="x86_64")
_HEAD = """\
playbook: 1
name: tiny
title: Tiny
metrics:
  - {name: m, unit: s, better: lower, primary: true,
     from: {step: run.main, parser: regex@1, field: value, pattern: "(?P<value>1)"}}
"""


def compiled(
    text: str,
    given: Mapping[str, str] | None = None,
    *,
    noise: NoisePolicy = NoisePolicy.REFUSE,
    run_id: str | None = None,
) -> bytes:
    """The script of a playbook of which only the part that matters is given."""
    playbook = loader.load((_HEAD + text).encode(), name="tiny.yaml")
    values = params.resolve_tool(playbook, params.parse_values(playbook, given or {}), frozenset())
    return compiler.compile_script(
        playbook,
        values,
        FACTS,
        run_id=run_id or new_id(),
        repeat=2,
        host="elan",
        kernel="2.6.1",
        noise=noise,
    )


def run_stage(*steps: str, more: str = "") -> str:
    """Stages whose run stage has these steps, each ``{id: ...}`` in flow style."""
    lines = "".join(f"      - {step}\n" for step in steps)
    return f"stages:\n  run:\n    steps:\n{lines}{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """A script that has ended."""

    rc: int
    said: str
    record: Record
    streams: Mapping[str, bytes]
    folder: Path

    @property
    def end(self) -> tuple[str, str]:
        """Outcome and reason."""
        return str(self.record.outcome), self.record.reason


def start(shell: Shell, script: bytes, folder: Path) -> subprocess.Popen[bytes]:
    """Execute a script as hostrun.sh does, in a folder of its own."""
    for name in ("", "out", "work"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "script").write_bytes(script)
    environment = os.environ | {
        "BENCHRACK_DIR": str(folder),
        "BENCHRACK_OUT": str(folder / "out"),
        "BENCHRACK_BIN": str(folder / "bin"),
    }
    command = [services.find(shell[0]) or shell[0], *shell[1:], str(folder / "script")]
    return subprocess.Popen(
        command,
        cwd=folder / "work",
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[bytes], folder: Path) -> Executed:
    """Wait for a script; what it left, and proof that none of its processes is alive."""
    try:
        said, _ = process.communicate(timeout=30)
    finally:
        # a script that hangs shall not outlive its test
        if process.poll() is None or alive(folder):
            os.killpg(process.pid, signal.SIGKILL)
    streams = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    assert alive(folder) == []
    return Executed(
        rc=process.returncode,
        said=said.decode(),
        record=read_record(streams.get("result", b"")),
        streams=streams,
        folder=folder,
    )


def execute(shell: Shell, script: bytes, folder: Path) -> Executed:
    """Execute a script to its end."""
    return finish(start(shell, script, folder), folder)


def alive(folder: Path) -> list[str]:
    """The command lines of what still lives of a script: all that inherited its folder."""
    mark = b"BENCHRACK_DIR=" + os.fsencode(folder) + b"\0"
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().decode())
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found
