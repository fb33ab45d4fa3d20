"""A playbook, its values and a host -> one self-contained shell script. Pure and deterministic.

The fixed parts stand in ``parts/*.sh`` and begin every name with ``br_``; what is generated here
are the values, one function a step, and the calls that tie them together.
"""

from __future__ import annotations

import functools
import importlib.resources
import math
import re
from collections.abc import Iterator, Mapping

from orchestrator.contract import errors
from orchestrator.contract.domain import NoisePolicy
from orchestrator.playbook import consistency, params, requirements, scalars
from orchestrator.playbook.model import Playbook
from orchestrator.playbook.quoting import here_document, quote
from orchestrator.playbook.requirements import HostFacts as HostFacts
from orchestrator.playbook.requirements import refuse_unsupported as refuse_unsupported
from orchestrator.playbook.scalars import Value
from orchestrator.playbook.stages import Stage, Step

_PARTS = ("base", "steps", "background", "requires", "guard")
#: built-in references that only the host knows: the shell variable
_ON_HOST = {"workdir": '"$P_workdir"', "cpus": '"$P_cpus"'}
_BLOCK = 512
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
        _remarks(playbook),
        _requirements(playbook, values, noise),
        *_steps(playbook, values, known),
        _stages(playbook, values),
        _part("main"),
    ]
    return "\n".join(blocks).encode()


def command(playbook: Playbook, step: Step, values: Mapping[str, Value]) -> tuple[str, ...]:
    """The words that a step executes; what only the run or the host knows stays ``{name}``."""
    known = params.canonical_values(playbook, values)
    return tuple(
        consistency.REFERENCE.sub(lambda match: known.get(match[1], match[0]), word)
        for word in step.run or ()
    )


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


def _remarks(playbook: Playbook) -> str:
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
        notes.append(("live", "output was sent while it was measured"))
    if any(monitor.every for monitor in playbook.monitors):
        notes.append(("monitors-twice", "this version reads monitors before and after only"))
    calls = [f"    br_note {code} {quote(sentence)}" for code, sentence in notes]
    return _function("br_remarks", calls)


def _requirements(playbook: Playbook, values: Mapping[str, Value], noise: NoisePolicy) -> str:
    requires, quiet = playbook.requires, playbook.quiet
    calls = []
    if requires.root != "no" or any(
        step.root for step in requirements.used_steps(playbook, values).values()
    ):
        calls.append(f"br_need_root {requires.root}")
    if requires.arch:
        calls.append(f"br_need_arch {_quoted(requires.arch)}")
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
        words = _quoted(tool.version)
        calls.append(f"br_need_tool {quote(tool.name)} '{tool.min_version or ''}' {words}")
    if quiet.max_load1 is not None:
        limit = math.floor(quiet.max_load1 * 100 + 1e-6)
        text = scalars.plain(quiet.max_load1)
        calls.append(f"br_need_quiet {limit} {text} {math.ceil(quiet.wait_quiet)} {noise}")
    return _function("br_requirements", [f"    {call} || return 1" for call in calls])


def _kib(function: str, size: int) -> str:
    # some shells count with 32 bits; no host has as much
    kib = min(math.ceil(size / 1024), 999_999_999)
    return f"{function} {kib} '{kib} KiB'"


def _steps(
    playbook: Playbook, values: Mapping[str, Value], known: Mapping[str, str]
) -> Iterator[str]:
    for number, (name, step) in enumerate(requirements.used_steps(playbook, values).items()):
        if step.script is not None:
            words = f'sh "$BR_TMP/text.{name}"'
        else:
            words = " ".join(_word(word, known) for word in step.run or ())
        become = _as_root(known) if step.root else "exec"
        yield f"br_do_{number}() {{ # {name}\n    {become} {words}\n}}\n"


def _as_root(known: Mapping[str, str]) -> str:
    carried = ["BENCHRACK_DIR", "BENCHRACK_RUN", "BENCHRACK_STEP", "PATH", "LC_ALL", "TZ", "TERM"]
    carried += [f"P_{name}" for name in (*known, *_ON_HOST)]
    return "exec $BR_ROOT env " + " ".join(f'{name}="${name}"' for name in carried)


def _word(word: str, known: Mapping[str, str]) -> str:
    """One shell word; references are replaced once, what they hold is never looked at again."""
    pieces = []
    end = 0
    for match in consistency.REFERENCE.finditer(word):
        pieces.append(("text", word[end : match.start()]))
        name = match[1]
        pieces.append(("host", _ON_HOST[name]) if name in _ON_HOST else ("text", known[name]))
        end = match.end()
    pieces.append(("text", word[end:]))
    joined: list[str] = []
    text = ""
    for kind, piece in pieces:
        if kind == "text":
            text += piece
            continue
        joined += [quote(text)] if text else []
        joined.append(piece)
        text = ""
    if text or not joined:
        joined.append(quote(text))
    return "".join(joined)


def _stages(playbook: Playbook, values: Mapping[str, Value]) -> str:
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
        functions.append(_function(f"br_stage_{name}", calls))
    functions.append(_function("br_stages", _order(playbook, values)))
    limit = params.stage_timeout_s(playbook, "cleanup", values)
    return "\n".join(functions) + f"\nBR_CLEANUP_S={limit}\n"


def _order(playbook: Playbook, values: Mapping[str, Value]) -> list[str]:
    def stage(name: str, declared: Stage) -> str:
        limit = params.stage_timeout_s(playbook, name, values)
        on = quote(" ".join(declared.retry_on))
        return f"br_stage {name} {limit} {declared.retries} {on}"

    def monitors(when: str) -> list[str]:
        return [
            f"    br_monitor {monitor.name} {when} {_quoted(monitor.read)}"
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
    # without a timeout of its own a step has what is left of its stage
    seconds = math.ceil(step.timeout) if step.timeout else 999999999
    codes = quote(" ".join(str(code) for code in step.ok_exit))
    words = f"{name} {seconds} {blocks} {codes} br_do_{number}"
    calls = []
    if step.background:
        if step.ready and step.ready.tcp_port:
            port = _port(step.ready.tcp_port, values)
            calls.append(f"br_port_free {name} {port} {port:04X} || return 1")
        calls.append(f"br_launch {words}")
        if step.ready:
            calls.append(f"br_ready {name} {_ready(step, values)} || return 1")
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


def _ready(step: Step, values: Mapping[str, Value]) -> str:
    if step.ready is None:
        raise errors.InputError(f"the step {step.id} says nothing of when it is ready")
    within = math.ceil(step.ready.within)
    if step.ready.tcp_port:
        return f"{within} port {_port(step.ready.tcp_port, values):04X}"
    return f"{within} output {quote(step.ready.output_has or '')}"


def _port(text: str, values: Mapping[str, Value]) -> int:
    reference = consistency.REFERENCE.fullmatch(text)
    return int(values[reference[1]]) if reference else int(text)


def _quoted(words: tuple[str, ...]) -> str:
    return " ".join(quote(word) for word in words)


def _function(name: str, lines: list[str]) -> str:
    body = "\n".join(lines or ["    :"])
    return f"{name}() {{\n{body}\n}}\n"
