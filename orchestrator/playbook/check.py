"""A playbook's metrics against the parsers that are to deliver them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from orchestrator.contract import errors, units
from orchestrator.playbook import typed
from orchestrator.playbook.metrics import From, Metric
from orchestrator.playbook.model import Playbook


class Parser(Protocol):
    """What is asked of a parser here: the dimension of each field; None: the metric says it."""

    @property
    def fields(self) -> Mapping[str, units.Dimension | None]: ...

    @property
    def pattern_trouble(self) -> Callable[[str], str]: ...


def check(playbook: Playbook, registry: Mapping[str, Parser]) -> None:
    """Refuse metrics that no parser can deliver; ``registry`` is keyed ``name@version``.

    Raises: PlaybookError.
    """
    for index, metric in enumerate(playbook.metrics):
        for number, origin in enumerate(metric.sources):
            field, sentence = _trouble(metric, origin, registry)
            if sentence:
                at = playbook.at_source(index, number, field)
                raise errors.PlaybookError(f"{at}: {sentence}")


def _trouble(metric: Metric, origin: From, registry: Mapping[str, Parser]) -> tuple[str, str]:
    """The field of ``from`` that is wrong, and why; nothing if all is well."""
    parser = registry.get(origin.parser)
    if parser is None:
        return "parser", f"no parser {origin.parser!r}; {typed.nearest(origin.parser, registry)}"
    if origin.field not in parser.fields:
        near = typed.nearest(origin.field, parser.fields)
        return "field", f"{origin.parser} delivers no {origin.field!r}; {near}"
    delivered = parser.fields[origin.field]
    wanted = units.dimension(metric.unit)
    if delivered is not None and delivered is not wanted:
        return "field", (
            f"{origin.field} is a {delivered}, but {metric.name} has the unit {metric.unit}, "
            f"a {wanted}"
        )
    if (delivered is None) != (origin.pattern is not None):
        return "pattern", "pattern goes with the parser regex, which needs it"
    if origin.pattern is not None:
        return "pattern", parser.pattern_trouble(origin.pattern)
    return "", ""
