"""A playbook on a host: which steps and tools it uses there, and what is known to be missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.contract import errors
from orchestrator.playbook.model import Playbook
from orchestrator.playbook.requires import Tool
from orchestrator.playbook.scalars import Value
from orchestrator.playbook.stages import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """What the lab knows of a host. ``tools``: programs that it has; None: not known."""

    cpus: int
    memory_kib: int
    arch: str
    tools: frozenset[str] | None = None


def wanted(playbook: Playbook, values: Mapping[str, Value]) -> tuple[Tool, ...]:
    """The tools that these values need."""
    return tuple(
        tool
        for tool in playbook.requires.tools
        if tool.wanted_by is None or tool.wanted_by == values.get("tool")
    )


def compiled_in(step: Step, values: Mapping[str, Value]) -> bool:
    """Whether a step belongs to the resolved tool."""
    return step.tool is None or step.tool == values.get("tool")


def used_steps(playbook: Playbook, values: Mapping[str, Value]) -> dict[str, Step]:
    """The steps of the resolved tool by ``STAGE.STEP``, in order."""
    return {name: step for name, step in playbook.stages.steps() if compiled_in(step, values)}


def misfit(playbook: Playbook, values: Mapping[str, Value], facts: HostFacts) -> str | None:
    """The first thing that the known facts already refuse, in one sentence."""
    requires = playbook.requires
    for tool in wanted(playbook, values):
        known = tool.shelf or facts.tools is None
        if not known and tool.name not in (facts.tools or ()):
            return f"it has no {tool.name}; install it"
    if requires.arch and facts.arch not in requires.arch:
        return f"it is {facts.arch}; needed is one of: {' '.join(requires.arch)}"
    if requires.cpus_online and facts.cpus < requires.cpus_online:
        return f"it has {facts.cpus} CPUs; needed are {requires.cpus_online}"
    if requires.memory_free and facts.memory_kib * 1024 < requires.memory_free:
        needed = requires.memory_free // 1024
        return f"it has {facts.memory_kib} KiB of memory; needed are {needed} KiB free"
    return None


def refuse_unsupported(playbook: Playbook) -> None:
    """Refuse what a playbook may say but this version does not do.

    Raises: InputError.
    """
    if playbook.loads:
        raise _later(playbook, "this version starts no background loads; remove loads")
    if playbook.kernels:
        raise _later(playbook, "this version boots no kernels from a playbook; remove kernels")
    if playbook.repeat.until or playbook.repeat.fresh_boot:
        raise _later(
            playbook,
            "this version repeats by count only; remove until and fresh_boot from repeat",
        )
    if playbook.max_total is not None:
        raise _later(playbook, "this version limits no whole job; remove max_total")
    if playbook.matrix:
        raise _later(
            playbook, "this version submits one point at a time; remove matrix, and use --set"
        )


def _later(playbook: Playbook, sentence: str) -> errors.InputError:
    return errors.InputError(f"{playbook.name}: {sentence}")
