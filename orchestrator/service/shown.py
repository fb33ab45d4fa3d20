"""From rows to views: hosts, jobs and runs as people see them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from orchestrator import facts
from orchestrator.contract import units
from orchestrator.contract.domain import (
    Better,
    HostState,
    KernelIdentity,
    Outcome,
    RunState,
)
from orchestrator.inventory import Host
from orchestrator.report.views import HostView, JobView, MeasurementView, NoteView, RunView
from orchestrator.runs import Job, Run
from orchestrator.service.fingerprint import fingerprint

Kernels = Mapping[str, tuple[str, str, KernelIdentity]]


def host(one: Host, kernels: Kernels, leases: Mapping[str, str]) -> HostView:
    """A host: how to reach it, what it is and what it does."""
    found = facts.interpret(one.facts)
    state, sentence = one.state, one.sentence
    holder = leases.get(one.machine)
    if state is HostState.READY and holder is not None:
        state, sentence = HostState.BUSY, f"its machine executes run {holder[:8]}"
    return HostView(
        name=one.name,
        address=one.spec.address,
        port=one.spec.port,
        user=one.spec.user,
        site=one.spec.site,
        fingerprint=fingerprint(one.host_keys[0]),
        state=state,
        unreachable=one.unreachable,
        sentence=sentence,
        kernel=kernels[one.kernel][0] if one.kernel in kernels else None,
        arch=found.machine,
        cpus=found.cpus_online,
        memory_bytes=found.memory_total_kib * 1024 if found.memory_total_kib else None,
        boot=None if one.boot == "unknown" else one.boot,
        exclusive=one.spec.exclusive,
        machine=one.machine,
        tags=one.spec.tags,
        tools=tuple(sorted(found.tools)),
    )


def job(one: Job, members: Sequence[Run], hosts: Mapping[str, Host]) -> JobView:
    """A job and how far it is."""
    states = Counter(run.state for run in members)
    outcomes = Counter(
        run.ending.outcome for run in members if run.state is RunState.ENDED and run.ending
    )
    done = states[RunState.ENDED]
    left = [run for run in members if run.state is not RunState.ENDED]
    return JobView(
        id=one.id,
        short_id=one.id[:8],
        playbook=one.playbook,
        params=dict(members[0].params if members else one.given),
        hosts=one.hosts,
        repeats=one.repeats,
        state=_job_state(one, members),
        states=dict(states),
        outcomes=dict(outcomes),
        created=one.created_at,
        reasons=_reasons(members, hosts),
        blocked=bool(left) and all(blocked(run, hosts.get(run.host)) for run in left),
        done=done,
        total=len(members),
    )


def _job_state(one: Job, members: Sequence[Run]) -> str:
    states = {run.state for run in members}
    if states <= {RunState.ENDED}:
        return "cancelled" if one.cancelled else "ended"
    if one.cancelled:
        return "cancelling"
    return "queued" if states <= {RunState.QUEUED, RunState.ENDED} else "running"


def _reasons(members: Sequence[Run], hosts: Mapping[str, Host]) -> tuple[str, ...]:
    """Why runs wait or what went wrong, each sentence once."""
    found: dict[str, None] = {}
    for run in members:
        if run.state is RunState.ENDED:
            if run.ending and run.ending.outcome is not Outcome.FINISHED:
                found[f"{run.host}: {run.ending.outcome}: {run.ending.reason}"] = None
        else:
            why = why_waits(run, hosts.get(run.host))
            if why:
                found[f"{run.host}: {why}"] = None
    return tuple(found)


def why_waits(run: Run, host: Host | None) -> str:
    """What a run waits for, in one sentence; empty where it simply goes on."""
    if host is None:
        return "its host is not in the lab any more"
    if host.state in (HostState.QUARANTINED, HostState.NEEDS_CARE, HostState.MAINTENANCE):
        return f"the host is {host.state}: {host.sentence}" if host.sentence else str(host.state)
    if host.unreachable:
        return f"the host is unreachable: {host.sentence}"
    return run.sentence


def blocked(run: Run, host: Host | None) -> bool:
    """Whether a run waits for something that only a person, or the network, can mend."""
    if host is None:
        return True
    return host.unreachable or host.state in (
        HostState.QUARANTINED,
        HostState.NEEDS_CARE,
        HostState.MAINTENANCE,
        HostState.RETIRED,
    )


def run(
    one: Run,
    of: Job,
    kernels: Kernels,
    result: Mapping[str, Any] | None,
    measured: Sequence[Mapping[str, Any]],
) -> RunView:
    """A run, where it is and what it gave."""
    kernel: str = (result["kernel"] or "") if result else ""
    ended = one.state is RunState.ENDED
    times = (one.ended_at, one.started_at, one.leased_at, of.created_at)
    return RunView(
        id=one.id,
        short_id=one.id[:8],
        job=one.job,
        playbook=of.playbook,
        host=one.host,
        kernel=kernels[kernel][0] if kernel in kernels else None,
        state=one.state,
        outcome=one.ending.outcome if one.ending and ended else None,
        reason=one.ending.reason if one.ending else one.sentence,
        attempt=one.attempt,
        fence=one.fence or None,
        repeat=one.repeat,
        warmup=one.warmup,
        expected_s=one.expected_s,
        since=next(time for time in times if time is not None),
        measurements=tuple(measurement(row) for row in measured),
        notes=tuple(NoteView(code=code, text=text) for code, text in result["notes"])
        if result
        else (),
    )


def measurement(row: Mapping[str, Any]) -> MeasurementView:
    """A measurement in the unit that it is shown in."""
    return MeasurementView(
        name=row["metric"],
        value=units.show(row["value"], row["unit"]),
        unit=row["unit"],
        better=Better(row["better"]),
        primary=row["is_primary"],
        samples=row["samples"],
    )


def age(at: float | None, now: datetime) -> float | None:
    """Seconds since then."""
    return None if at is None else (now - datetime.fromtimestamp(at, UTC)).total_seconds()
