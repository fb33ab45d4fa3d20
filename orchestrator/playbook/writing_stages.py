"""Stages and steps -> the functions of a script that execute them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from orchestrator.playbook import consistency, params, requirements
from orchestrator.playbook.model import Playbook
from orchestrator.playbook.quoting import function, quote
from orchestrator.playbook.scalars import Value
from orchestrator.playbook.stages import Ready, Stage, Step
from orchestrator.playbook.words import as_root, shell_word, shell_words

#: bytes, as ulimit counts
_BLOCK = 512
#: a step without a timeout of its own has what is left of its stage
_NO_LIMIT = 999_999_999


def write_steps(
    playbook: Playbook, values: Mapping[str, Value], known: Mapping[str, str]
) -> Iterator[str]:
    """A function for each step, which turns into the step's program."""
    for number, (name, step) in enumerate(requirements.used_steps(playbook, values).items()):
        if step.script is not None:
            words = f'sh "$BR_TMP/text.{name}"'
        else:
            words = " ".join(shell_word(word, known) for word in step.run or ())
        become = as_root(known) if step.root else "exec"
        yield f"br_do_{number}() {{ # {name}\n    {become} {words}\n}}\n"


def write_stages(playbook: Playbook, values: Mapping[str, Value]) -> str:
    """A function for each stage, and the one that goes through all of them but cleanup."""
    used = list(requirements.used_steps(playbook, values))
    functions = []
    for name, stage in playbook.stages.named():
        calls = []
        for step in stage.steps:
            full = f"{name}.{step.id}"
            if full in used:
                calls += _calls(full, step, used.index(full), values)
        if name == "cleanup":
            # each of its steps has its chance, whatever became of the others
            calls = [call.removesuffix(" || return 1") for call in calls]
        functions.append(function(f"br_stage_{name}", calls))
    functions.append(function("br_stages", _order(playbook, values)))
    limit = params.stage_timeout_s(playbook, "cleanup", values)
    return "\n".join(functions) + f"\nBR_CLEANUP_S={limit}\n"


def _order(playbook: Playbook, values: Mapping[str, Value]) -> list[str]:
    def stage(name: str, declared: Stage) -> str:
        limit = params.stage_timeout_s(playbook, name, values)
        on = quote(" ".join(declared.retry_on))
        return f"br_stage {name} {limit} {declared.retries} {on}"

    def monitors(when: str) -> list[str]:
        return [
            f"    br_monitor {monitor.name} {when} {shell_words(monitor.read)}"
            for monitor in playbook.monitors
        ]

    guarded = " ".join(playbook.abort_on)
    stages = playbook.stages
    return [
        f"    {stage('check', stages.check)} || return 1",
        f"    {stage('prepare', stages.prepare)} || return 1",
        "    br_measured=1",
        f"    br_guard_begin {guarded}".rstrip(),
        *monitors("before"),
        f"    {stage('run', stages.run)}",
        *monitors("after"),
        "    br_end_running",
        *(
            f"    {call}"
            for name, step in requirements.used_steps(playbook, values).items()
            if step.background
            for call in _saves(name, step)
        ),
        f"    br_guard_end {guarded}".rstrip(),
        f"    {stage('collect', stages.collect)}",
    ]


def _calls(name: str, step: Step, number: int, values: Mapping[str, Value]) -> list[str]:
    blocks = math.ceil(step.max_output / _BLOCK)
    seconds = math.ceil(step.timeout) if step.timeout else _NO_LIMIT
    void = (f"void:{code}" for code in step.void_exit)
    codes = quote(" ".join((*map(str, step.ok_exit), *void)))
    words = f"{name} {seconds} {blocks} {codes} br_do_{number}"
    calls = []
    if step.background:
        if step.ready and step.ready.tcp_port:
            port = _port(step.ready.tcp_port, values)
            calls.append(f"br_port_free {name} {port} {port:04X} || return 1")
        calls.append(f"br_launch {words}")
        if step.ready:
            calls.append(f"br_ready {name} {_ready(step.ready, values)} || return 1")
    else:
        calls.append(f"br_step {words} || return 1")
        calls += [f"{call} || return 1" for call in _saves(name, step)]
    if step.if_tool:
        inner = [f"        {call}" for call in calls]
        return [f"    if ! br_skip {name} {quote(step.if_tool)}; then", *inner, "    fi"]
    return [f"    {call}" for call in calls]


def _saves(name: str, step: Step) -> list[str]:
    blocks = math.ceil(step.max_output / _BLOCK)
    return [f"br_save {name} {quote(file)} {blocks}" for file in step.save]


def _ready(ready: Ready, values: Mapping[str, Value]) -> str:
    within = math.ceil(ready.within)
    if ready.tcp_port:
        return f"{within} port {_port(ready.tcp_port, values):04X}"
    return f"{within} output {quote(ready.output_has or '')}"


def _port(text: str, values: Mapping[str, Value]) -> int:
    reference = consistency.REFERENCE.fullmatch(text)
    return int(values[reference[1]]) if reference else int(text)
