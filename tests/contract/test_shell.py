"""What hosts execute is clean shell: each playbook of the catalogue, compiled whole."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from orchestrator.contract.domain import NoisePolicy, new_id
from orchestrator.playbook import compile as compiler
from orchestrator.playbook import loader, params
from tests.scripts import FACTS

CATALOGUE = Path(__file__).parents[2] / "playbooks"
#: what shellcheck warns of and is meant so
MEANT = ",".join(
    (
        "SC2010",  # ls into grep, of names that the kernel made
        "SC2034",  # a variable that only some playbooks need
        "SC2086",  # words that are to be split
        "SC2119",  # a function that only some playbooks give arguments
        "SC2120",
        "SC2209",  # a word that happens to be a command's name
        "SC2317",  # a function that is called by its name in a variable
        "SC2329",
        "SC3040",  # set -o posix, where a shell has it
        "SC3045",  # ulimit -c, which every shell of a host has
    )
)


@pytest.mark.needs("shellcheck")
@pytest.mark.parametrize("path", sorted(CATALOGUE.glob("*.yaml")), ids=lambda path: path.stem)
def test_compiled_playbook_is_clean_shell(path: Path) -> None:
    playbook = loader.load(path.read_bytes(), name=path.name)
    values = params.resolve_tool(playbook, params.parse_values(playbook, {}), frozenset())
    script = compiler.compile_script(
        playbook,
        values,
        FACTS,
        run_id=new_id(),
        repeat=1,
        host="host",
        kernel="6.1",
        noise=NoisePolicy.NOTE,
    )

    options = ("--shell=sh", "--norc", "--format=gcc", "--severity=warning", f"--exclude={MEANT}")
    checked = subprocess.run(
        ("shellcheck", *options, "-"),
        input=script,
        capture_output=True,
        check=False,
    )

    assert checked.stdout.decode() == ""
