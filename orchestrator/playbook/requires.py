"""What a playbook demands of a host, and what it asks to be quiet."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import Field, model_validator

from orchestrator.playbook import typed

_OPTION = re.compile(r"(CONFIG_)?([A-Z0-9_]+)=([a-z0-9\"._/-]+)")


class Tool(typed.Part):
    """A program that the host must have. ``for``: only when the parameter ``tool`` is this."""

    name: typed.Word
    min_version: typed.Word | None = None
    #: words that make it print its version
    version: tuple[typed.Text, ...] = ("--version",)
    #: the lab brings it along where it is missing
    shelf: typed.Bool = False
    wanted_by: typed.Word | None = Field(default=None, alias="for")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not re.fullmatch(r"[A-Za-z0-9_.+/-]+", self.name):
            raise typed.fault(f"{self.name!r} is not the name of a program", "name")
        if self.min_version and not re.fullmatch(r"[0-9]+(\.[0-9]+)*", self.min_version):
            raise typed.fault("a version is numbers with dots between, as 2.0.2", "min_version")
        return self


class Requires(typed.Part):
    """Requirements. What facts know is refused at submit, what changes is checked on the host."""

    tools: tuple[Tool, ...] = ()
    arch: tuple[typed.Word, ...] = ()
    memory_free: typed.Size | None = None
    workdir_free: typed.Size | None = None
    workdir_exec: typed.Bool = False
    dev_shm: typed.Bool = False
    cpus_online: typed.Int | None = None
    root: Literal["needed", "better", "no"] = "no"
    kernel_min: typed.Word | None = None
    kernel_config: tuple[typed.Word, ...] = ()
    on_missing: Literal["skip", "fail"] = "skip"

    @model_validator(mode="before")
    @classmethod
    def _names_of_tools(cls, value: object) -> object:
        # `tools: [perf]` is short for `tools: [{name: perf}]`
        if isinstance(value, dict) and isinstance(value.get("tools"), list):
            tools = [{"name": t} if isinstance(t, str) else t for t in value["tools"]]
            return value | {"tools": tools}
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.kernel_min and not re.fullmatch(r"[0-9]+(\.[0-9]+){0,2}", self.kernel_min):
            raise typed.fault("a kernel is written as 6.10 or 5.12.1", "kernel_min")
        for index, option in enumerate(self.kernel_config):
            if not _OPTION.fullmatch(option):
                raise typed.fault(f"{option!r} is not of the form NAME=y", "kernel_config", index)
        if self.cpus_online is not None and not 1 <= self.cpus_online <= 100_000:
            raise typed.fault("cpus_online is at least 1", "cpus_online")
        return self


class Quiet(typed.Part):
    """How still a host must be, and what may be set to make it so."""

    governor: typed.Word | None = None
    stop_services: tuple[typed.Word, ...] = ()
    drop_caches: typed.Bool = False
    max_load1: typed.Number | None = None
    wait_quiet: typed.Duration = 0.0
    refuse_logged_in: typed.Bool = False
    #: send output while it is measured; the number carries that note
    live: typed.Bool = False

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.max_load1 is not None and not 0 <= self.max_load1 <= 100_000:
            raise typed.fault("max_load1 is not negative", "max_load1")
        return self
