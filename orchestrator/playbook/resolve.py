"""A playbook on a host: which tool it uses there, and what is known to be missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.contract import errors
from orchestrator.playbook import consistency
from orchestrator.playbook.model import Playbook
from orchestrator.playbook.requires import Tool
from orchestrator.playbook.scalars import Value
from orchestrator.playbook.stages import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """What the lab knows of a host. ``tools``: programs that were found there."""

    cpus: int
    memory_kib: int
    arch: str
    tools: frozenset[str] = frozenset()


def resolve_tool(
    playbook: Playbook, values: Mapping[str, Value], known_tools: frozenset[str]
) -> dict[str, Value]:
    """The values with ``tool: auto`` replaced by the first tool, as declared, that the host has.

    A tool from the shelf is always there. What was chosen is part of the series.
    Raises: Misfit if the host has none.
    """
    if values.get("tool") != consistency.AUTO:
        return dict(values)
    for tool in consistency.tools(playbook):
        if not _absent(playbook, tool, known_tools):
            return {**values, "tool": tool}
    wanted = ", ".join(t.name for t in playbook.requires.tools if t.wanted_by)
    raise errors.Misfit(f"{playbook.name} needs one of: {wanted}; install one on the host")


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


def misfits(playbook: Playbook, values: Mapping[str, Value], facts: HostFacts) -> tuple[str, ...]:
    """What the known facts already refuse, one sentence each."""
    requires = playbook.requires
    found = [
        f"{tool.name} is not on the host; install it"
        for tool in wanted(playbook, values)
        if not tool.shelf and tool.name not in facts.tools
    ]
    if requires.arch and facts.arch not in requires.arch:
        found.append(f"the host is {facts.arch}; needed is one of: {' '.join(requires.arch)}")
    if requires.cpus_online and facts.cpus < requires.cpus_online:
        found.append(f"the host has {facts.cpus} CPUs; needed are {requires.cpus_online}")
    if requires.memory_free and facts.memory_kib * 1024 < requires.memory_free:
        needed = requires.memory_free // 1024
        found.append(f"the host has {facts.memory_kib} KiB of memory; needed are {needed} KiB free")
    return tuple(found)


def unsupported(playbook: Playbook) -> tuple[str, ...]:
    """What a playbook may say but this version does not do, one sentence each."""
    found = []
    if playbook.loads:
        found.append("this version starts no background loads; remove loads")
    if playbook.kernels:
        found.append("this version boots no kernels from a playbook; remove kernels")
    if playbook.matrix:
        found.append("this version submits one point at a time: remove matrix, and use --set")
    return tuple(found)


def _absent(playbook: Playbook, tool: str, known: frozenset[str]) -> list[str]:
    return [
        needed.name
        for needed in playbook.requires.tools
        if needed.wanted_by == tool and not needed.shelf and needed.name not in known
    ]
