"""Requirements, noise and remarks -> the functions of a script that deal with them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from orchestrator.contract.domain import NoisePolicy
from orchestrator.playbook import requirements, scalars
from orchestrator.playbook.model import Playbook
from orchestrator.playbook.quoting import function, quote
from orchestrator.playbook.scalars import Value
from orchestrator.playbook.words import shell_words


def write_remarks(playbook: Playbook) -> str:
    """The function that notes what the playbook asks for and this version does not do."""
    quiet = playbook.quiet
    notes = []
    if quiet.governor:
        notes.append(("governor-not-set", "this version leaves the governor as it is"))
    if quiet.stop_services:
        notes.append(("services-not-stopped", "this version leaves services running"))
    if quiet.drop_caches:
        notes.append(("caches-not-dropped", "this version leaves caches as they are"))
    if quiet.refuse_logged_in:
        notes.append(("logins-not-watched", "this version does not look who is logged in"))
    if quiet.live:
        notes.append(("live-not-sent", "this version sends no output before the end"))
    if any(monitor.every for monitor in playbook.monitors):
        notes.append(("monitors-twice", "this version reads monitors before and after only"))
    calls = [f"    br_note {code} {quote(sentence)}" for code, sentence in notes]
    return function("br_remarks", calls)


def write_requirements(playbook: Playbook, values: Mapping[str, Value], noise: NoisePolicy) -> str:
    """The function that looks whether the host will do, the dear looks last."""
    requires, quiet = playbook.requires, playbook.quiet
    calls = []
    if requires.root != "no" or any(
        step.root for step in requirements.used_steps(playbook, values).values()
    ):
        calls.append(f"br_need_root {requires.root}")
    if requires.arch:
        calls.append(f"br_need_arch {shell_words(requires.arch)}")
    if requires.kernel_min:
        calls.append(f"br_need_kernel {requires.kernel_min}")
    calls += [f"br_need_config {quote(option)}" for option in requires.kernel_config]
    if requires.cpus_online:
        calls.append(f"br_need_cpus {requires.cpus_online}")
    if requires.memory_free:
        calls.append(_kib("br_need_memory", requires.memory_free))
    if requires.workdir_free:
        calls.append(_kib("br_need_space", requires.workdir_free))
    if requires.workdir_exec:
        calls.append("br_need_exec")
    if requires.dev_shm:
        calls.append("br_need_shm")
    for tool in requirements.wanted(playbook, values):
        words = shell_words(tool.version)
        calls.append(f"br_need_tool {quote(tool.name)} '{tool.min_version or ''}' {words}")
    if quiet.max_load1 is not None:
        limit = math.floor(quiet.max_load1 * 100 + 1e-6)
        text = scalars.plain(quiet.max_load1)
        calls.append(f"br_need_quiet {limit} {text} {math.ceil(quiet.wait_quiet)} {noise}")
    return function("br_requirements", [f"    {call} || return 1" for call in calls])


def _kib(function: str, size: int) -> str:
    # some shells count with 32 bits; no host has as much
    kib = min(math.ceil(size / 1024), 999_999_999)
    return f"{function} {kib} '{kib} KiB'"
