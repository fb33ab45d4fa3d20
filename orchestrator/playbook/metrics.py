"""Metrics and monitors: what is read from a run, in which unit, and what is believed."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from orchestrator.contract.domain import Better
from orchestrator.playbook import typed


class From(typed.Part):
    """Where a metric is read: a field that a parser finds in a step's output or in a monitor."""

    step: typed.Word | None = None
    monitor: typed.Slug | None = None
    parser: typed.ParserId
    field: typed.Word
    #: ``stdout``, ``stderr`` or ``file:NAME``, a file that the step saves
    of: typed.Word = "stdout"
    #: for the parser ``regex``: a pattern with one group named ``value``
    pattern: typed.Text | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.step is None) == (self.monitor is None):
            raise typed.fault("a metric is read from a step or from a monitor: name one of them")
        if self.of not in ("stdout", "stderr") and not self.of.startswith("file:"):
            raise typed.fault(f"{self.of!r} is not stdout, stderr or file:NAME", "of")
        if self.of != "stdout" and self.monitor is not None:
            raise typed.fault("a monitor has no outputs to choose from; remove this", "of")
        return self

    @property
    def file(self) -> str | None:
        """The saved file that is read, where it is one."""
        return self.of.removeprefix("file:") if self.of.startswith("file:") else None


class Metric(typed.Part):
    """A number of a run. ``sources``: one, or one a tool."""

    name: typed.MetricName
    unit: typed.Unit
    better: Better
    sources: tuple[From, ...] = Field(alias="from")
    over_repeats: Literal["median", "mean", "hmean", "min", "max", "sum"] = "median"
    valid: tuple[typed.Number, typed.Number] | None = None
    primary: typed.Bool = False
    needed: typed.Bool = True

    @field_validator("sources", mode="before")
    @classmethod
    def _one_or_more(cls, value: object) -> object:
        return [value] if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.sources:
            raise typed.fault("a metric has a source; here is none", "from")
        if self.valid and self.valid[0] > self.valid[1]:
            raise typed.fault("the smallest valid value comes first", "valid")
        if self.primary and not self.needed:
            raise typed.fault("the primary metric is always needed", "needed")
        return self


class Monitor(typed.Part):
    """Files of /proc and /sys, read before and after the run stage."""

    name: typed.Slug
    read: tuple[typed.ProcPath, ...]
    every: typed.Duration | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.read:
            raise typed.fault("a monitor reads at least one file", "read")
        return self
