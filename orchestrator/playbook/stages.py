"""Stages and their steps: what the host executes, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import model_validator

from orchestrator.playbook import typed

#: in the order in which they are executed
STAGES = ("check", "prepare", "run", "collect", "cleanup")
#: bytes that a step may write to each of its outputs
MAX_OUTPUT = 4 * 1024**2
#: the largest max_output
MOST_OUTPUT = 256 * 1024**2
#: seconds that a stage may take, unless it says otherwise; run: see timing
TIMEOUTS = {"check": 60.0, "prepare": 600.0, "collect": 120.0, "cleanup": 60.0}
#: seconds
LONGEST = 30 * 86400.0


class Ready(typed.Part):
    """When a background step is ready: a port listens, or its output holds a text."""

    tcp_port: typed.Word | None = None
    output_has: typed.Text | None = None
    within: typed.Duration = 10.0

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.tcp_port is None) == (self.output_has is None):
            raise typed.fault("ready needs tcp_port or output_has: one of them")
        if self.output_has is not None and ("\n" in self.output_has or not self.output_has):
            raise typed.fault("output_has is a text within one line", "output_has")
        return self


class Step(typed.Part):
    """One program (``run``, a list of words) or one fixed shell text (``script``)."""

    id: typed.Slug
    run: tuple[typed.Text, ...] | None = None
    script: typed.Text | None = None
    timeout: typed.Duration | None = None
    ok_exit: tuple[typed.Int, ...] = (0,)
    #: by these the program itself says that its numbers are not to be believed
    void_exit: tuple[typed.Int, ...] = ()
    save: tuple[typed.FileName, ...] = ()
    max_output: typed.Size = MAX_OUTPUT
    root: typed.Bool = False
    #: left out where this program is missing
    if_tool: typed.Word | None = None
    #: compiled in only when the parameter ``tool`` is this
    tool: typed.Word | None = None
    background: typed.Bool = False
    ready: Ready | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.run is None) == (self.script is None):
            raise typed.fault("a step needs run or script: one of them")
        if self.run is not None and not (self.run and self.run[0]):
            raise typed.fault("run begins with the name of a program", "run")
        if self.ready and not self.background:
            raise typed.fault("ready goes with background: true", "ready")
        if not 1 <= self.max_output <= MOST_OUTPUT:
            raise typed.fault(f"max_output is from 1B to {MOST_OUTPUT // 1024**2}MiB", "max_output")
        _within(self.timeout, "timeout")
        for field in ("ok_exit", "void_exit"):
            for index, code in enumerate(getattr(self, field)):
                if not 0 <= code <= 255:
                    raise typed.fault("an exit status is from 0 to 255", field, index)
        if both := set(self.ok_exit) & set(self.void_exit):
            raise typed.fault(f"{min(both)} is in ok_exit as well", "void_exit")
        return self


class Stage(typed.Part):
    """Steps, and the time they have together."""

    timeout: typed.Duration | None = None
    retries: typed.Int = 0
    retry_on: tuple[Literal["timeout", "exit"], ...] = ("timeout", "exit")
    #: run only: durations and names of parameters; their product is the expected time
    takes: tuple[typed.Word, ...] = ()
    steps: tuple[Step, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _one_reason(cls, value: object) -> object:
        if isinstance(value, dict) and isinstance(value.get("retry_on"), str):
            return value | {"retry_on": [value["retry_on"]]}
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _within(self.timeout, "timeout")
        if not 0 <= self.retries <= 10:
            raise typed.fault("retries are from 0 to 10", "retries")
        for index, step in enumerate(self.steps):
            if self.timeout and step.timeout and step.timeout > self.timeout:
                raise typed.fault(
                    "a step has no more time than its stage", "steps", index, "timeout"
                )
        return self


def _within(timeout: float | None, field: str) -> None:
    if timeout is not None and not 1 <= timeout <= LONGEST:
        raise typed.fault("a timeout is from 1s to 30d", field)


class Stages(typed.Part):
    """The stages that a playbook may fill; only run is compulsory."""

    check: Stage = Stage()
    prepare: Stage = Stage()
    run: Stage
    collect: Stage = Stage()
    cleanup: Stage = Stage()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not any(not step.background for step in self.run.steps):
            raise typed.fault("the run stage has no step that measures", "run")
        for name, stage in self.named():
            if stage.retries and name not in ("check", "prepare"):
                raise typed.fault(
                    "only check and prepare are retried: a measurement is never retried until it "
                    "passes",
                    name,
                    "retries",
                )
            if stage.takes and name != "run":
                raise typed.fault("takes goes with the run stage", name, "takes")
            for index, step in enumerate(stage.steps):
                if step.background and name not in ("prepare", "run"):
                    raise typed.fault(
                        "background steps go with prepare and run",
                        name,
                        "steps",
                        index,
                        "background",
                    )
            for index, ident in typed.repeated([step.id for step in stage.steps]):
                raise typed.fault(f"two steps are named {ident!r}", name, "steps", index, "id")
        return self

    def named(self) -> Iterator[tuple[str, Stage]]:
        """Name and stage, in order."""
        for name in STAGES:
            stage: Stage = getattr(self, name)
            yield name, stage

    def steps(self) -> Iterator[tuple[str, Step]]:
        """``STAGE.STEP`` and step, in order."""
        for name, stage in self.named():
            for step in stage.steps:
                yield f"{name}.{step.id}", step
