"""Processes of a lab that cannot begin say so in one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["collector", "controller"])
def test_process_without_a_broker_is_told_which_variable_to_set(tmp_path: Path, name: str) -> None:
    environ = {"PATH": os.environ["PATH"], "BENCHRACK_STATE": str(tmp_path)}
    done = subprocess.run(
        (sys.executable, "-m", f"orchestrator.{name}"),
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = f"benchrack {name}: BENCHRACK_BROKER_URL: set it to the lab's broker\n"
    assert (done.returncode, done.stderr) == (2, said)
