"""Compiled scripts against golden files.

To accept a change: BENCHRACK_UPDATE_GOLDEN=1 pytest tests/unit/test_playbook_compile.py, and read
the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from orchestrator.contract import errors
from orchestrator.contract.domain import NoisePolicy
from orchestrator.playbook import compile as compiler
from orchestrator.playbook import loader, params, words

ROOT = Path(__file__).parent.parent.parent
GOLDEN = ROOT / "tests" / "golden" / "playbook"
CASES = {
    "sched-latency-idle": {"samples": "500"},
    "loopback-throughput": {"tool": "iperf2", "seconds": "5"},
    "health-check": {},
}


def script(name: str, given: dict[str, str], **changed: str) -> bytes:
    playbook = loader.load((ROOT / "playbooks" / f"{name}.yaml").read_bytes(), name=name)
    return compiler.compile_script(
        playbook,
        params.parse_values(playbook, given),
        compiler.HostFacts(cpus=1, memory_kib=32768, arch="i486"),
        run_id=changed.get("run_id", "0123456789abcdef" * 2),
        repeat=3,
        host="elan",
        kernel="2.6.1-preempt",
        noise=NoisePolicy.NOTE,
    )


def own_part(compiled: bytes) -> str:
    """What the compiler generated, without the fixed parts and the facts snippet."""
    text = compiled.decode()
    for name in ("base", "steps", "background", "requires", "guard", "main"):
        part = (ROOT / "orchestrator" / "playbook" / "parts" / f"{name}.sh").read_text()
        assert text.count(part) == 1
        text = text.replace(part, f"# [{name}.sh]\n")
    return re.sub(r"(facts\.sh\" <<'(\w+)'\n).*?\n\2\n", r"\1# [facts.sh]\n\2\n", text, flags=re.S)


@pytest.mark.parametrize("name", CASES)
def test_compiled_script_is_the_golden_one(name: str) -> None:
    path = GOLDEN / f"{name}.sh"
    made = own_part(script(name, CASES[name]))
    if os.environ.get("BENCHRACK_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made)
    assert made == path.read_text()


@pytest.mark.parametrize("name", CASES)
def test_compiled_script_is_the_same_each_time_and_small(name: str) -> None:
    assert script(name, CASES[name]) == script(name, CASES[name])
    assert len(script(name, CASES[name])) < 64 * 1024


def test_compile_before_the_tool_is_resolved_is_refused() -> None:
    with pytest.raises(errors.InputError, match="the tool is not resolved yet"):
        script("loopback-throughput", {})


def test_compile_with_what_is_no_run_id_is_refused() -> None:
    with pytest.raises(errors.InputError, match="is not a run's id"):
        script("health-check", {}, run_id="x'; reboot '")


def test_command_leaves_what_only_the_run_knows() -> None:
    name = "sched-latency-idle"
    playbook = loader.load((ROOT / "playbooks" / f"{name}.yaml").read_bytes(), name=name)
    (step,) = playbook.stages.run.steps
    found = words.command(playbook, step, params.parse_values(playbook, {"samples": "500"}))
    assert found[:4] == ("rackprobe", "latency", "--method", "timer_abs")
    assert found[-1] == "{run}"
