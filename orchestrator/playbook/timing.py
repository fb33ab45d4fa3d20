"""How long a run is expected to take, and how long it may take at most. Seconds throughout."""

from __future__ import annotations

import math
from collections.abc import Mapping

from orchestrator.contract import errors
from orchestrator.playbook import resolve, scalars
from orchestrator.playbook.model import Playbook
from orchestrator.playbook.scalars import Value
from orchestrator.playbook.stages import TIMEOUTS

#: facts and requirements before, facts and the last look after
_AROUND = 120.0
#: stopping what obeys no TERM
_PER_STEP = 10.0
#: the run stage, where it names neither a timeout nor what it takes
_RUN_TIMEOUT = 3600.0


def takes_s(playbook: Playbook, values: Mapping[str, Value]) -> float | None:
    """The expected time of the run stage: the product of ``takes``; None if it does not say."""
    words = playbook.stages.run.takes
    if not words:
        return None
    factors = (
        float(values[word]) if word in playbook.params else scalars.parse_duration(word)
        for word in words
    )
    return math.prod(factors)


def expected_s(playbook: Playbook, values: Mapping[str, Value], repeats: int = 1) -> float | None:
    """The expected time of so many runs with the pauses between; None if the playbook is silent."""
    one = takes_s(playbook, values)
    if one is None:
        return None
    return one * repeats + playbook.repeat.pause * max(repeats - 1, 0)


def stage_timeout_s(playbook: Playbook, stage: str, values: Mapping[str, Value]) -> int:
    """The time that a stage has, in whole seconds."""
    declared: float | None = getattr(playbook.stages, stage).timeout
    if declared is None and stage == "run":
        expected = takes_s(playbook, values)
        declared = _RUN_TIMEOUT if expected is None else expected * 1.5 + 60
    return math.ceil(TIMEOUTS[stage] if declared is None else declared)


def check(playbook: Playbook, values: Mapping[str, Value]) -> None:
    """Refuse values with which the run stage cannot end in time.

    Raises: InputError.
    """
    expected = takes_s(playbook, values)
    limit = stage_timeout_s(playbook, "run", values)
    if expected is not None and expected > limit:
        names = ", ".join(w for w in playbook.stages.run.takes if w in playbook.params)
        raise errors.InputError(
            f"with these values {playbook.name} takes {expected:.0f} s, over the {limit} s of its "
            f"run stage; lower one of: {names}"
        )


def max_runtime_s(playbook: Playbook, values: Mapping[str, Value]) -> float:
    """The time after which a run cannot still be in order."""
    total = _AROUND + playbook.quiet.wait_quiet
    for name, stage in playbook.stages.named():
        total += stage_timeout_s(playbook, name, values) * (1 + stage.retries)
        for step in stage.steps:
            if resolve.compiled_in(step, values):
                total += _PER_STEP * (1 + stage.retries)
    return total
