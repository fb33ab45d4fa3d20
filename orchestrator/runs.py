"""Jobs and runs as frozen values: what is planned, stored and reconciled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from orchestrator.contract import messages
from orchestrator.contract.domain import NoisePolicy, Outcome, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What an operator queued. ``source`` is the playbook's exact text at that time."""

    id: str
    created_at: datetime
    user: str
    playbook: str
    source: str
    #: parameters as the operator gave them, as text
    given: Mapping[str, str]
    hosts: tuple[str, ...]
    repeats: int
    warmups: int
    pause_s: float
    noise: NoisePolicy
    priority: int = 50
    seed: int
    cancelled: bool = False
    #: name of the file that the results were imported from
    imported_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """An outcome with its reason in one sentence (empty for *finished*)."""

    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One execution of one point on one host under one kernel: the row that is reconciled."""

    id: str
    job: str
    host: str
    #: ordinal in the job's order
    position: int
    block: int
    #: 1, 2, 3...; warm-ups are numbered from 1 as well
    repeat: int
    warmup: bool = False
    #: typed parameters as canonical text, the tool resolved
    params: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    expected_s: float
    max_runtime_s: float
    state: RunState = RunState.QUEUED
    rev: int = 0
    attempt: int = 0
    fence: int = 0
    max_attempts: int = 3
    cancel: bool = False
    #: when the due operation is sent (again)
    next_at: datetime
    #: operations sent since the last evidence
    tries: int = 0
    #: operations sent in this attempt
    sends: int = 0
    leased_at: datetime | None = None
    started_at: datetime | None = None
    deadline_at: datetime | None = None
    ended_at: datetime | None = None
    #: boot id that the attempt was started under
    boot: str | None = None
    #: another attempt that holds the host's lock and has to be reaped first: run.attempt.fence
    blocker: str | None = None
    #: how it will have ended once the host is clean
    ending: Ending | None = None
    manifest: tuple[messages.StreamEntry, ...] = ()
    rc: int | None = None
    #: why it waits, in one sentence
    sentence: str = ""
