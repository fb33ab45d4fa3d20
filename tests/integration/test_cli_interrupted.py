"""Ctrl-C in the first moments of a command: it ends without a word, and never with a traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BENCHRACK = Path(sys.executable).with_name("benchrack")


@pytest.mark.parametrize("after_s", [0.02, 0.05, 0.1, 0.15, 0.2, 0.3])
def test_interrupt_while_it_starts_prints_no_traceback(tmp_path: Path, after_s: float) -> None:
    with subprocess.Popen(
        (BENCHRACK, "--state", tmp_path, "job", "list"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        time.sleep(after_s)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=30)
    # before our first line the interpreter itself is still starting, and says so its own way
    lines = [line for line in said.splitlines() if "orchestrator" in line]
    assert lines == []
