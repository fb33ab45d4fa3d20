"""The views of jobs, runs, hosts and the lab; what the API answers and the CLI prints."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import AwareDatetime, BaseModel, ConfigDict, FiniteFloat, NonNegativeInt, PositiveInt

from orchestrator.contract.domain import Better, Exclusive, HostState, Outcome, RunState


class View(BaseModel):
    """A frozen object that goes to JSON and comes back as it was."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class NoteView(View):
    """A caveat that travels with a number."""

    code: str
    text: str


class MeasurementView(View):
    """One metric of one run. Units: ``value`` in ``unit``, the one that the metric is shown in."""

    name: str
    value: FiniteFloat
    unit: str
    better: Better
    primary: bool = False
    samples: NonNegativeInt | None = None


class JobView(View):
    """A job and how far it is."""

    id: str
    short_id: str
    playbook: str
    params: Mapping[str, str]
    hosts: tuple[str, ...]
    repeats: int
    state: str
    #: number of runs in each run state, and of ended ones by outcome
    states: Mapping[RunState, NonNegativeInt]
    outcomes: Mapping[Outcome, NonNegativeInt]
    created: AwareDatetime
    #: one sentence for each thing that keeps it waiting or that went wrong
    reasons: tuple[str, ...] = ()
    #: whether what is left waits for what only a person, or the network, can mend
    blocked: bool = False
    #: ended runs, of all runs
    done: NonNegativeInt
    total: NonNegativeInt


class RunView(View):
    """A run, where it is, and what it gave."""

    id: str
    short_id: str
    job: str
    playbook: str
    host: str
    #: the label of the kernel it was executed under; None: not known yet
    kernel: str | None
    state: RunState
    outcome: Outcome | None
    reason: str = ""
    attempt: NonNegativeInt
    fence: NonNegativeInt | None = None
    repeat: NonNegativeInt
    #: whether it only warms up: its numbers never count
    warmup: bool = False
    expected_s: FiniteFloat | None = None
    #: when it came into this state
    since: AwareDatetime
    measurements: tuple[MeasurementView, ...] = ()
    notes: tuple[NoteView, ...] = ()


class HostView(View):
    """A host: how to reach it, what it is and what it is doing."""

    name: str
    address: str
    port: int
    user: str
    site: str
    fingerprint: str
    state: HostState
    unreachable: bool = False
    #: what is wrong with it, or what it is doing, in a sentence
    sentence: str = ""
    kernel: str | None = None
    arch: str | None = None
    cpus: int | None = None
    memory_bytes: int | None = None
    boot: str | None = None
    exclusive: Exclusive
    #: what tells that two hosts are one machine
    machine: str | None = None
    tags: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


class WaitingView(View):
    """Runs of a host and a playbook that wait for the same; ``run`` is the first of them."""

    run: str
    host: str
    playbook: str
    why: str
    runs: PositiveInt = 1


class SiteView(View):
    """A site and how long ago its worker answered; None: never."""

    name: str
    echo_age_s: FiniteFloat | None


class StatusView(View):
    """The lab at a glance."""

    hosts: tuple[HostView, ...]
    queued: NonNegativeInt
    running: tuple[RunView, ...]
    waiting: tuple[WaitingView, ...]
    sites: tuple[SiteView, ...]
    #: how many of each there are: hosts, jobs, runs, results
    counts: Mapping[str, NonNegativeInt]
