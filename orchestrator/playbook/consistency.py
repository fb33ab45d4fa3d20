"""What the parts of a playbook say about each other: references, names, axes, tools."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from orchestrator.contract import errors
from orchestrator.playbook import conditions, scalars, typed
from orchestrator.playbook.metrics import From
from orchestrator.playbook.model import Kind, Playbook
from orchestrator.playbook.parameter import BUILT_IN
from orchestrator.playbook.scalars import Type
from orchestrator.playbook.stages import Step

#: ``{name}`` inside a word of ``run``
REFERENCE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_IN_SCRIPT = re.compile(r"(?<!\$)\{([a-z][a-z0-9_]*)\}")
#: the choice of ``tool`` that stands for the first one the host has
AUTO = "auto"


def check(playbook: Playbook) -> None:
    """Refuse a playbook that contradicts itself.

    Raises: PlaybookError.
    """
    _params(playbook)
    _tools(playbook)
    _axes(playbook)
    _metrics(playbook)
    for stage, index, step in _steps(playbook):
        _references(playbook, stage, index, step)
    _takes(playbook)


def tools(playbook: Playbook) -> tuple[str, ...]:
    """The tools that the parameter ``tool`` offers, in declared order; none without it."""
    param = playbook.params.get("tool")
    return tuple(word for word in param.choices if word != AUTO) if param else ()


def _refuse(playbook: Playbook, loc: tuple[str | int, ...], sentence: str) -> errors.PlaybookError:
    return errors.PlaybookError(f"{playbook.at(*loc)}: {sentence}")


def _params(playbook: Playbook) -> None:
    for name in playbook.params:
        if name in BUILT_IN:
            raise _refuse(
                playbook, ("params", name), f"{{{name}}} is built in; name the parameter otherwise"
            )


def _tools(playbook: Playbook) -> None:
    offered = tools(playbook)
    param = playbook.params.get("tool")
    if param and param.type is not Type.CHOICE:
        raise _refuse(playbook, ("params", "tool", "type"), "the parameter tool is a choice")
    for index, tool in enumerate(playbook.requires.tools):
        _offered(playbook, tool.wanted_by, offered, ("requires", "tools", index, "for"))
    for stage, index, step in _steps(playbook):
        _offered(playbook, step.tool, offered, ("stages", stage, "steps", index, "tool"))


def _offered(
    playbook: Playbook, tool: str | None, offered: Collection[str], loc: tuple[str | int, ...]
) -> None:
    if tool is not None and tool not in offered:
        near = typed.nearest(tool, offered)
        raise _refuse(playbook, loc, f"the parameter tool offers no {tool!r}; {near}")


def _axes(playbook: Playbook) -> None:
    axes: dict[str, tuple[str, ...]] = {}
    for axis, texts in playbook.matrix.items():
        known = {"none": None, **playbook.loads} if axis == "load" else {}
        param = playbook.params.get(axis)
        if axis != "load" and param is None:
            near = typed.nearest(axis, {*playbook.params, "load"})
            raise _refuse(playbook, ("matrix", axis), f"no parameter is named {axis!r}; {near}")
        for index, text in enumerate(texts):
            loc = ("matrix", axis, index)
            if param and (trouble := param.trouble(text)):
                raise _refuse(playbook, loc, f"{axis} {trouble}")
            if axis == "load" and text not in known:
                near = typed.nearest(text, known)
                raise _refuse(playbook, loc, f"no load is named {text!r}; {near}")
        axes[axis] = texts
    for index, excluded in enumerate(playbook.exclude):
        for key, text in excluded.items():
            _exclusion(playbook, axes, ("exclude", index, key), key, text)


def _exclusion(
    playbook: Playbook,
    axes: dict[str, tuple[str, ...]],
    loc: tuple[str | int, ...],
    key: str,
    text: str,
) -> None:
    if key in axes:
        if text not in axes[key]:
            near = typed.nearest(text, axes[key])
            raise _refuse(playbook, loc, f"{text!r} is not on the axis {key}; {near}")
        return
    limit = conditions.HOST_LIMITS.fullmatch(key)
    if not limit:
        near = typed.nearest(key, {*axes, "host.cpus_below", "host.memory_below", "host.arch"})
        raise _refuse(playbook, loc, f"no axis is named {key!r}; {near}")
    try:
        match limit[1]:
            case "cpus_below":
                scalars.parse_int(text)
            case "memory_below":
                scalars.parse_size(text)
            case _:
                scalars.parse_word(text)
    except ValueError as error:
        raise _refuse(playbook, loc, str(error)) from error


def _metrics(playbook: Playbook) -> None:
    names = [metric.name for metric in playbook.metrics]
    for index, name in typed.repeated(names):
        raise _refuse(playbook, ("metrics", index, "name"), f"two metrics are named {name!r}")
    monitors = [monitor.name for monitor in playbook.monitors]
    for index, name in typed.repeated(monitors):
        raise _refuse(playbook, ("monitors", index, "name"), f"two monitors are named {name!r}")
    _verdict(playbook)
    until = playbook.repeat.until
    if until and until.metric not in names:
        near = typed.nearest(until.metric, names)
        raise _refuse(
            playbook, ("repeat", "until", "metric"), f"no metric is named {until.metric!r}; {near}"
        )
    for index in range(len(names)):
        _sources(playbook, index, monitors)


def _verdict(playbook: Playbook) -> None:
    primary = [index for index, metric in enumerate(playbook.metrics) if metric.primary]
    if playbook.kind is Kind.HEALTH:
        for index, metric in enumerate(playbook.metrics):
            if metric.valid is None:
                raise _refuse(
                    playbook, ("metrics", index), "a health check judges by valid: give the range"
                )
        if primary:
            raise _refuse(
                playbook, ("metrics", primary[0], "primary"), "a health check has no primary metric"
            )
    elif len(primary) != 1:
        loc = ("metrics", primary[1], "primary") if primary else ("metrics",)
        raise _refuse(
            playbook, loc, f"exactly one metric is primary: true; here are {len(primary)}"
        )


def _sources(playbook: Playbook, index: int, monitors: Collection[str]) -> None:
    steps = dict(playbook.stages.steps())
    taken: set[str | None] = set()
    for number, origin in enumerate(playbook.metrics[index].sources):
        step = steps.get(origin.step or "")
        field, sentence = _origin(origin, step, steps, monitors)
        if sentence:
            at = playbook.at_source(index, number, field)
            raise errors.PlaybookError(f"{at}: {sentence}")
        tool = step.tool if step else None
        if tool in taken or (taken and None in taken | {tool}):
            at = playbook.at_source(index, number)
            raise errors.PlaybookError(
                f"{at}: several sources of one metric are steps of different tools"
            )
        taken.add(tool)


def _origin(
    origin: From, step: Step | None, steps: Collection[str], monitors: Collection[str]
) -> tuple[str, str]:
    """The field of ``from`` that is wrong, and why; nothing if all is well."""
    if origin.monitor is not None and origin.monitor not in monitors:
        near = typed.nearest(origin.monitor, monitors)
        return "monitor", f"no monitor is named {origin.monitor!r}; {near}"
    if origin.step is not None and step is None:
        return "step", f"no step is {origin.step!r}; {typed.nearest(origin.step, steps)}"
    file = origin.file
    if file and step and file not in step.save:
        return "of", f"{origin.step} saves no {file!r}; {typed.nearest(file, step.save)}"
    return "", ""


def _steps(playbook: Playbook) -> Iterator[tuple[str, int, Step]]:
    for name, stage in playbook.stages.named():
        for index, step in enumerate(stage.steps):
            yield name, index, step


def _references(playbook: Playbook, stage: str, index: int, step: Step) -> None:
    known = {*playbook.params, *BUILT_IN}
    loc = ("stages", stage, "steps", index)
    for number, word in enumerate(step.run or ()):
        for name in REFERENCE.findall(word):
            if name not in known:
                near = typed.nearest(name, known)
                raise _refuse(playbook, (*loc, "run", number), f"no parameter {{{name}}}; {near}")
    for name in _IN_SCRIPT.findall(step.script or ""):
        if name in known:
            raise _refuse(
                playbook,
                (*loc, "script"),
                f'{{{name}}} is not replaced in a script; write "$P_{name}"',
            )
    if step.ready and step.ready.tcp_port is not None:
        _port(playbook, (*loc, "ready", "tcp_port"), step.ready.tcp_port)


def _port(playbook: Playbook, loc: tuple[str | int, ...], text: str) -> None:
    reference = REFERENCE.fullmatch(text)
    if reference:
        param = playbook.params.get(reference[1])
        low, high = param.bounds if param and param.type is Type.INT else (None, None)
        if low is None or high is None or low < 1 or high > 65535:
            raise _refuse(
                playbook, loc, f"{text} must be a parameter of type int from 1 to 65535 at most"
            )
    elif not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise _refuse(playbook, loc, f"{text!r} is not a port: 1 to 65535, or {{PARAMETER}}")


def _takes(playbook: Playbook) -> None:
    for index, word in enumerate(playbook.stages.run.takes):
        param = playbook.params.get(word)
        if param and param.type in (Type.INT, Type.NUMBER, Type.DURATION):
            continue
        try:
            scalars.parse_duration(word)
        except ValueError:
            raise _refuse(
                playbook,
                ("stages", "run", "takes", index),
                f"{word!r} is neither a duration nor a parameter that is a number",
            ) from None
