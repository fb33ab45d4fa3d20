"""What README shows works as it is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator.assess import assess
from orchestrator.contract.domain import NoisePolicy, Outcome
from orchestrator.parsers import REGISTRY
from orchestrator.playbook import check, loader, params
from orchestrator.playbook import compile as compiler
from tests import scripts

README = (Path(__file__).parent.parent.parent / "README.md").read_text()


@pytest.mark.parametrize("shell", scripts.SHELLS)
def test_playbook_of_the_readme_gives_its_number(shell: scripts.Shell, tmp_path: Path) -> None:
    (source,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    playbook = loader.load(source.encode(), name="README.md")
    check.check(playbook, REGISTRY)
    values = params.parse_values(playbook, {"count": "200"})
    script = compiler.compile_script(
        playbook,
        values,
        scripts.FACTS,
        run_id="a" * 32,
        repeat=1,
        host="h",
        kernel="",
        noise=NoisePolicy.NOTE,
    )
    done = scripts.execute(shell, script, tmp_path)
    found = assess(playbook, values, done.streams, registry=REGISTRY, nonce="", rc=0)
    assert (found.outcome, found.reason) == (Outcome.FINISHED, "")
    assert found.measurements[0].value > 0
