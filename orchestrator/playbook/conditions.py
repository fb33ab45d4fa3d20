"""Under which conditions a job measures: repeats, kernels, background loads."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import model_validator

from orchestrator.playbook import typed


class Until(typed.Part):
    """Go on until the 95 % interval of the median is within ``rel_ci``, at most ``max`` runs."""

    metric: typed.MetricName
    rel_ci: typed.Number
    max: typed.Int

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not 0 < self.rel_ci < 1:
            raise typed.fault("rel_ci is a fraction between 0 and 1, as 0.02", "rel_ci")
        return self


class Repeat(typed.Part):
    """How often and in which order; one run is one repeat."""

    count: typed.Int = 1
    warmup: typed.Int = 0
    order: Literal["blocked", "interleaved"] = "interleaved"
    pause: typed.Duration = 0.0
    fresh_boot: typed.Bool = False
    until: Until | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not 1 <= self.count <= 1000:
            raise typed.fault("count is from 1 to 1000", "count")
        if not 0 <= self.warmup <= 100:
            raise typed.fault("warmup is from 0 to 100", "warmup")
        if self.until and not self.count <= self.until.max <= 1000:
            raise typed.fault("max is at least count and at most 1000", "until", "max")
        return self


class Load(typed.Part):
    """A built-in background load; it disturbs, gives no number and must survive."""

    kind: Literal["cpu", "memory", "disk", "fork", "net"]
    workers: typed.Workers = "1"
    bytes: typed.Size | None = None
    settle: typed.Duration = 5.0
    must_survive: typed.Bool = True

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.kind in ("memory", "disk")) != (self.bytes is not None):
            raise typed.fault("bytes goes with the loads memory and disk, which need it", "bytes")
        return self


class Expect(typed.Part):
    """What must be true of the kernel that booted."""

    uname_r: typed.Word | None = None
    cmdline_has: typed.Word | None = None
    cmdline_lacks: typed.Word | None = None
    preempt: Literal["none", "voluntary", "full", "lazy", "rt"] | None = None


class Kernel(typed.Part):
    """A kernel to boot: an entry of the host's inventory, and words for its command line."""

    id: typed.Slug
    boot: typed.Word
    cmdline_add: tuple[typed.Word, ...] = ()
    expect: Expect = Expect()


class Kernels(typed.Part):
    """Which kernels to measure on; without this, whatever is booted."""

    pick: tuple[Kernel, ...] = ()
    from_inventory: typed.Bool = False
    baseline: typed.Slug | None = None
    boot_timeout: typed.Duration = 600.0
    return_to: Literal["default", "stay"] = "default"
    order: Literal["given", "shuffled"] = "shuffled"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if bool(self.pick) == self.from_inventory:
            raise typed.fault("kernels needs pick or from_inventory: true: one of them")
        ids = [kernel.id for kernel in self.pick]
        for index, ident in typed.repeated(ids):
            raise typed.fault(f"two kernels are named {ident!r}", "pick", index, "id")
        if self.pick and self.baseline and self.baseline not in ids:
            near = typed.nearest(self.baseline, ids)
            raise typed.fault(f"no kernel is named {self.baseline!r}; {near}", "baseline")
        return self


#: keys of an exclusion beside the axes
HOST_LIMITS = re.compile(r"host\.(cpus_below|memory_below|arch)")
