"""Child processes that cannot outlive the process that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from orchestrator.local import launch

#: seconds that a killed process group may take to be gone
_KILL_S: Final = 5.0


def python(module: str, *arguments: str) -> tuple[str, ...]:
    """The command that executes a module of this installation."""
    return (sys.executable, "-m", module, *arguments)


def start(
    argv: Sequence[str],
    *,
    log: Path,
    environ: Mapping[str, str],
    at_parents_death: signal.Signals = signal.SIGKILL,
    keep_open: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, without input, its output appended to ``log``.

    The kernel ties its life to the *thread* that calls this: call it from one that lives as long
    as the program should. ``keep_open``: file descriptors that the program inherits.
    """
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "wb") as output:
        return subprocess.Popen(
            (
                *(sys.executable, "-I", "-S", launch.__file__),
                *(str(os.getpid()), str(int(at_parents_death))),
                *argv,
            ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environ),
            start_new_session=True,
            pass_fds=keep_open,
        )


def stop(process: subprocess.Popen[bytes], *, patience_s: float) -> None:
    """End a process and whatever is left of its group: TERM, then KILL; returns when it is gone."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_KILL_S)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def last_line(log: Path) -> str:
    """The last line of a log that says something, for a message."""
    try:
        text = log.read_text(errors="replace")
    except FileNotFoundError:
        return "no output"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no output"
