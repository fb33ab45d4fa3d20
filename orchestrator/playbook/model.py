"""The whole format, version 1, as one frozen type.

A playbook can be read top to bottom and says all: no templates, no includes, no conditions but
``if_tool``, ``tool`` and ``exclude``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, PrivateAttr

from orchestrator.playbook import source, typed
from orchestrator.playbook.conditions import Kernels, Load, Repeat
from orchestrator.playbook.metrics import Metric, Monitor
from orchestrator.playbook.parameter import Param
from orchestrator.playbook.requires import Quiet, Requires
from orchestrator.playbook.stages import Stages

#: what makes a run void while it is executed
Abort = Literal["kernel-oops", "oom-kill", "reboot", "load-died", "clock-jump"]


class Kind(StrEnum):
    """What its results are good for."""

    #: numbers to compare; one of them is primary
    BENCHMARK = "benchmark"
    #: a verdict: each number is within its range or not
    HEALTH = "health"


class Playbook(typed.Part):
    """A benchmark or a health check, as its file declares it."""

    playbook: Literal["1"] = Field(description="version of the format")
    name: typed.Slug
    title: typed.Text
    notes: typed.Text = ""
    tags: tuple[typed.Word, ...] = ()
    kind: Kind = Kind.BENCHMARK
    requires: Requires = Requires()
    params: dict[typed.Name, Param] = Field(default_factory=dict)
    kernels: Kernels | None = None
    loads: dict[typed.Slug, Load] = Field(default_factory=dict)
    matrix: dict[typed.Name, tuple[typed.Text, ...]] = Field(default_factory=dict)
    exclude: tuple[dict[str, typed.Text], ...] = ()
    repeat: Repeat = Repeat()
    quiet: Quiet = Quiet()
    monitors: tuple[Monitor, ...] = ()
    metrics: tuple[Metric, ...]
    stages: Stages
    abort_on: tuple[Abort, ...] = ()
    max_total: typed.Duration | None = None

    _source: source.Source | None = PrivateAttr(default=None)

    def at(self, *loc: str | int) -> str:
        """``file:line:column`` of a part, for a message."""
        return self._source.at(loc) if self._source else self.name

    def at_source(self, metric: int, number: int, *loc: str) -> str:
        """The same for a part of a metric's ``from``, which may be a list or stand alone."""
        place = ("metrics", metric, "from")
        alone = len(self.metrics[metric].sources) == 1
        return self.at(*place, *loc) if alone else self.at(*place, number, *loc)

    @property
    def primary(self) -> Metric | None:
        """The metric that stands for the whole; a health check has none."""
        return next((metric for metric in self.metrics if metric.primary), None)


def schema() -> dict[str, Any]:
    """The JSON schema of the format, for editors."""
    made = Playbook.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
