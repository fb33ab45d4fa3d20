"""A playbook, its values and a host -> one self-contained shell script. Pure and deterministic.

The fixed parts stand in ``parts/*.sh`` and begin every name with ``br_``; what is generated here
are the values, one function a step, and the calls that tie them together.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
from collections.abc import Mapping

from orchestrator.contract import errors
from orchestrator.contract.domain import NoisePolicy
from orchestrator.playbook import consistency, params, requirements
from orchestrator.playbook.model import Playbook
from orchestrator.playbook.quoting import here_document, quote
from orchestrator.playbook.requirements import HostFacts as HostFacts
from orchestrator.playbook.requirements import refuse_unsupported as refuse_unsupported
from orchestrator.playbook.scalars import Value
from orchestrator.playbook.writing_needs import write_remarks, write_requirements
from orchestrator.playbook.writing_stages import write_stages, write_steps

_PARTS = ("base", "steps", "background", "requires", "guard")
_RUN_ID = re.compile(r"[0-9a-f]{32}")


def compile_script(
    playbook: Playbook,
    values: Mapping[str, Value],
    facts: HostFacts,
    *,
    run_id: str,
    repeat: int,
    host: str,
    kernel: str,
    noise: NoisePolicy,
) -> bytes:
    """The script of one run; also good to be executed by hand: ``sh SCRIPT``.

    Raises: InputError for what this version does not do, or values that cannot be.
    """
    refuse_unsupported(playbook)
    if values.get("tool") == consistency.AUTO:
        raise errors.InputError(f"{playbook.name}: the tool is not resolved yet")
    if not _RUN_ID.fullmatch(run_id):
        raise errors.InputError(f"{run_id!r} is not a run's id: 32 hexadecimal digits")
    known = {"host": host, "kernel": kernel, "repeat": str(repeat), "run": run_id}
    known |= params.canonical_values(playbook, values)
    blocks = [
        _head(playbook, facts, run_id=run_id, known=known),
        *(_part(name) for name in _PARTS),
        _texts(playbook, values),
        write_remarks(playbook),
        write_requirements(playbook, values, noise),
        *write_steps(playbook, values, known),
        write_stages(playbook, values),
        _part("main"),
    ]
    return "\n".join(blocks).encode()


@functools.cache
def _part(name: str) -> str:
    return (importlib.resources.files(__package__) / "parts" / f"{name}.sh").read_text("utf-8")


@functools.cache
def _facts_snippet() -> str:
    return (importlib.resources.files("orchestrator.contract") / "facts.sh").read_text("utf-8")


def _head(playbook: Playbook, facts: HostFacts, *, run_id: str, known: Mapping[str, str]) -> str:
    missing = "skipped" if playbook.requires.on_missing == "skip" else "failed"
    lines = [
        "#!/bin/sh",
        f"# benchrack: playbook {playbook.name}, compiled for one run.",
        "# By hand: sh THIS_FILE. It makes a folder for its results and says where it is.",
        "",
        'if [ -n "${BASH_VERSION:-}" ]; then set -o posix; fi',
        f"BR_RUN={run_id}",
        f"BR_CPUS={facts.cpus}",
        f"BR_ON_MISSING={missing}",
    ]
    for name, text in known.items():
        lines.append(f"P_{name}={quote(text)}")
    lines.append(f"export {' '.join(f'P_{name}' for name in known)}")
    return "\n".join(lines) + "\n"


def _texts(playbook: Playbook, values: Mapping[str, Value]) -> str:
    body = here_document(_facts_snippet(), path='"$BR_TMP/facts.sh"')
    for name, step in requirements.used_steps(playbook, values).items():
        if step.script is not None:
            body += here_document(step.script, path=f'"$BR_TMP/text.{name}"')
    return f"br_write_texts() {{\n{body}}}\n"
