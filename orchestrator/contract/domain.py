"""The glossary as types: frozen values that every process speaks of in the same words."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NewType

RunId = NewType("RunId", str)
JobId = NewType("JobId", str)
LabId = NewType("LabId", str)
KernelId = NewType("KernelId", str)


def new_id() -> str:
    """A fresh identifier: 32 hexadecimal digits, random."""
    return secrets.token_hex(16)


def utc_now() -> datetime:
    """The wall clock, aware, in UTC."""
    return datetime.now(UTC)


class RunState(StrEnum):
    """Where a run is on its way. Only *ended* is final."""

    #: waits for its host
    QUEUED = "queued"
    #: holds the lease of its machine; start is due
    LEASED = "leased"
    #: the host is being brought under the wanted kernel
    BOOTING = "booting"
    #: the host executes it
    RUNNING = "running"
    #: the host is done; its streams are being brought home
    FETCHING = "fetching"
    #: the result is committed; the host may forget it
    STORED = "stored"
    #: it is being stopped (cancel or deadline)
    KILLING = "killing"
    #: whatever it left on the host is being removed
    REAPING = "reaping"
    #: it has an outcome
    ENDED = "ended"


class Status(StrEnum):
    """What a host, or the way to it, said to an operation. A closed list."""

    PREPARED = "prepared"
    RUNNING = "running"
    DONE = "done"
    DIED = "died"
    REBOOTED = "rebooted"
    ABSENT = "absent"
    BUSY = "busy"
    STALE = "stale"
    OTHERBOOT = "otherboot"
    PURGED = "purged"
    NOTOWNER = "notowner"
    CLEAN = "clean"
    UNSURE = "unsure"
    UNREACHABLE = "unreachable"
    HOSTKEY = "hostkey"
    AUTH = "auth"
    TIMEOUT = "timeout"
    PROTO = "proto"


class Outcome(StrEnum):
    """How a run ended. Only *finished* enters statistics."""

    FINISHED = "finished"
    #: the benchmark
    FAILED = "failed"
    #: SSH, boot, disk, wrong kernel
    INFRA_FAILED = "infra-failed"
    #: a requirement that the host does not meet
    SKIPPED = "skipped"
    #: disturbed, rebooted, oops, oom, load died, clock jump, output over its limit
    VOID = "void"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed-out"


class HostState(StrEnum):
    """What a host is there for; *unreachable* is a flag beside it."""

    READY = "ready"
    BUSY = "busy"
    BOOTING = "booting"
    RESERVED = "reserved"
    MAINTENANCE = "maintenance"
    QUARANTINED = "quarantined"
    NEEDS_CARE = "needs-care"
    RETIRED = "retired"


class OperationName(StrEnum):
    """The operations: short, idempotent, on one host."""

    SCAN = "scan"
    PROBE = "probe"
    PUT = "put"
    START = "start"
    POLL = "poll"
    FETCH = "fetch"
    KILL = "kill"
    REAP = "reap"
    PURGE = "purge"
    BOOT = "boot"
    POWER = "power"
    ECHO = "echo"


class Exclusive(StrEnum):
    """What a lease covers: the machine behind a host, or (simulated hosts only) the host."""

    MACHINE = "machine"
    HOST = "host"


class NoisePolicy(StrEnum):
    """What a job does about a disturbed host: refuse the run, or note it with the number."""

    REFUSE = "refuse"
    NOTE = "note"


class Better(StrEnum):
    """Which direction of a metric is the good one."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


class PreemptModel(StrEnum):
    """The preemption model a kernel runs with; a part of its identity."""

    NONE = "none"
    VOLUNTARY = "voluntary"
    NONE_OR_VOLUNTARY = "none_or_voluntary"
    FULL = "full"
    LAZY = "lazy"
    RT = "rt"
    UNKNOWN = "unknown"


class Confidence(StrEnum):
    """How far a fact that was inferred may be trusted."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preemption:
    """A preemption model and where it was read; ``dynamic``: a boot option could change it."""

    model: PreemptModel
    source: str
    confidence: Confidence
    dynamic: bool
    submodel: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelIdentity:
    """What results are aggregated by. Two kernels may share a release and even a label."""

    release: str
    version: str
    build_id: str | None
    config_hash: str | None
    preempt: PreemptModel
    #: allow-listed options of the command line, sorted, as (name, value)
    options: tuple[tuple[str, str], ...] = ()
    #: imported results only: the label and group of the source
    imported: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One metric of one run.

    ``name`` may carry a statistic: ``latency.p99``. ``samples`` is the number of samples behind
    it, where there are samples.
    Units: ``value`` in the base unit of its dimension; ``unit`` is the one it is shown in.
    """

    name: str
    value: float
    unit: str
    better: Better
    parser: str
    primary: bool = False
    samples: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Counts per bucket of one metric of one run, with exact n, min, max and overflow.

    Shape: layout ``linear-1us`` or ``hdr3-ns``; ``counts`` maps a bucket index to its count.
    Units: ``minimum``, ``maximum``, ``total`` in ns.
    """

    metric: str
    layout: str
    counts: tuple[tuple[int, int], ...]
    n: int
    minimum: int
    maximum: int
    total: int
    total_squares: int
    overflow: int = 0
    #: overflow counts values from here on; None where nothing overflowed
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A caveat that travels with a number; never an error."""

    code: str
    text: str
