"""The values of one run: typed, with the tool resolved, and the time that they mean.

Times are in seconds throughout.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from orchestrator.contract import errors
from orchestrator.playbook import consistency, requirements, scalars, typed
from orchestrator.playbook.model import Playbook
from orchestrator.playbook.parameter import Param
from orchestrator.playbook.scalars import Value
from orchestrator.playbook.stages import TIMEOUTS

#: facts and requirements before, facts and the last look after
_AROUND = 120.0
#: stopping a step that obeys no TERM
_PER_STEP = 10.0
#: the run stage, where it names neither a timeout nor what it takes
_RUN_TIMEOUT = 3600.0
#: seconds; a run that is expected to take longer is refused
LONGEST_RUN = 30 * 86400
#: what a run is expected to take if nothing is known of it
_UNKNOWN = 60.0


def parse_value(name: str, param: Param, text: str) -> Value:
    """The typed value of a parameter.

    Raises: InputError, naming the parameter and its range.
    """
    if trouble := param.trouble(text):
        raise errors.InputError(f"the parameter {name} {trouble}; set it with --set {name}=VALUE")
    return scalars.PARSERS[param.type](text)


def parse_values(playbook: Playbook, given: Mapping[str, str]) -> dict[str, Value]:
    """The values of all parameters, in the order of their declaration.

    Raises: InputError for an undeclared parameter, a wrong value, one that is needed and absent,
    or values with which the run stage cannot end in time.
    """
    for name in given:
        if name not in playbook.params:
            near = typed.nearest(name, playbook.params)
            raise errors.InputError(f"{playbook.name} has no parameter {name!r}; {near}")
    values: dict[str, Value] = {}
    for name, param in playbook.params.items():
        text = given.get(name, param.default)
        if text is None:
            raise errors.InputError(
                f"the parameter {name} has no default; set it with --set {name}=VALUE "
                f"({param.range_text})"
            )
        values[name] = parse_value(name, param, text)
    _check_time(playbook, values)
    return values


def canonical_values(playbook: Playbook, values: Mapping[str, Value]) -> dict[str, str]:
    """Each value as its one text: plain decimal, seconds, bytes, bool as 1 or 0."""
    return {name: scalars.plain(values[name]) for name in playbook.params}


def typed_values(playbook: Playbook, canonical: Mapping[str, str]) -> dict[str, Value]:
    """What ``canonical_values`` was made from.

    Raises: InputError for a text that it could not have made.
    """
    values: dict[str, Value] = {}
    for name, param in playbook.params.items():
        try:
            values[name] = scalars.from_plain(param.type, canonical[name])
        except (KeyError, ValueError) as error:
            raise errors.InputError(f"the stored parameter {name} is wrong: {error}") from error
    return values


def series_params(playbook: Playbook, values: Mapping[str, Value]) -> tuple[tuple[str, str], ...]:
    """The parameters as a series is keyed by them: canonical text, sorted by name."""
    return tuple(
        sorted(
            (name, text)
            for name, text in canonical_values(playbook, values).items()
            if playbook.params[name].series
        )
    )


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
        chosen = {**values, "tool": tool}
        needed = requirements.wanted(playbook, chosen)
        if all(one.shelf or one.name in known_tools for one in needed if one.wanted_by):
            return chosen
    names = ", ".join(tool.name for tool in playbook.requires.tools if tool.wanted_by)
    raise errors.Misfit(f"{playbook.name} needs one of: {names}; install one on the host")


def takes_s(playbook: Playbook, values: Mapping[str, Value]) -> float | None:
    """The expected time of the run stage: the product of ``takes``; None if it does not say."""
    words = playbook.stages.run.takes
    if not words:
        return None
    return math.prod(
        float(values[word]) if word in playbook.params else scalars.parse_duration(word)
        for word in words
    )


def expected_s(playbook: Playbook, values: Mapping[str, Value], repeats: int = 1) -> float:
    """The expected time of so many runs with the pauses between them."""
    one = takes_s(playbook, values)
    if one is None:
        one = min(_UNKNOWN, stage_timeout_s(playbook, "run", values))
    return one * repeats + playbook.repeat.pause * max(repeats - 1, 0)


def stage_timeout_s(playbook: Playbook, stage: str, values: Mapping[str, Value]) -> int:
    """The time that a stage has, in whole seconds."""
    declared: float | None = getattr(playbook.stages, stage).timeout
    if declared is None and stage == "run":
        expected = takes_s(playbook, values)
        declared = _RUN_TIMEOUT if expected is None else expected * 1.5 + 60
    return math.ceil(TIMEOUTS[stage] if declared is None else declared)


def max_runtime_s(playbook: Playbook, values: Mapping[str, Value]) -> float:
    """The time after which a run cannot still be in order."""
    total = _AROUND + playbook.quiet.wait_quiet
    for name, stage in playbook.stages.named():
        steps = sum(requirements.compiled_in(step, values) for step in stage.steps)
        once = stage_timeout_s(playbook, name, values) + steps * _PER_STEP
        total += once * (1 + stage.retries)
    return total


def _check_time(playbook: Playbook, values: Mapping[str, Value]) -> None:
    expected = takes_s(playbook, values)
    if expected is not None and not expected <= LONGEST_RUN:
        raise errors.InputError(
            f"{playbook.name}: with these values one run takes {expected:.6g} s, and at most "
            f"{LONGEST_RUN} s (30 days) can be waited for: set smaller ones"
        )
    limit = stage_timeout_s(playbook, "run", values)
    if limit > 2 * LONGEST_RUN:
        raise errors.InputError(
            f"{playbook.name}: the timeout of its run is {limit} s, over {2 * LONGEST_RUN} s"
        )
    if expected is not None and expected > limit:
        names = ", ".join(word for word in playbook.stages.run.takes if word in playbook.params)
        raise errors.InputError(
            f"with these values {playbook.name} takes {expected:.0f} s, over the {limit} s of its "
            f"run stage; lower one of: {names}"
        )
