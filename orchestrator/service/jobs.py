"""Jobs: submitted, shown, cancelled. What the known facts refuse is refused here."""

from __future__ import annotations

import random
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from orchestrator import facts, inventory, planner
from orchestrator.contract import errors
from orchestrator.contract.domain import NoisePolicy, RunState, new_id
from orchestrator.inventory import Host
from orchestrator.playbook import compile as compiler
from orchestrator.playbook import params, requirements, scalars
from orchestrator.report.views import JobView, RunView
from orchestrator.runs import Job
from orchestrator.service import digestion, shown
from orchestrator.service.catalogue import Entry, read_entry
from orchestrator.service.context import Context
from orchestrator.store import hosts, results, runs

#: bytes of a compiled script; it travels in one message
MAX_SCRIPT = 160 * 1024


class JobOrder(BaseModel):
    """What an operator asks for: a playbook of the catalogue, or a playbook's own text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    playbook: str | None = None
    source: str | None = Field(default=None, max_length=256 * 1024)
    source_name: str = "playbook"
    hosts: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    params: dict[str, str] = Field(default_factory=dict)
    repeats: int | None = Field(default=None, ge=1, le=5000)
    warmups: int | None = Field(default=None, ge=0, le=5000)
    pause_s: FiniteFloat | None = Field(default=None, ge=0, le=86400)
    noise: NoisePolicy = NoisePolicy.REFUSE
    priority: int = Field(default=50, ge=0, le=100)
    user: str = Field(default="", max_length=100)


def submit(ctx: Context, order: JobOrder) -> JobView:
    """Queue a job, whole or not at all.

    Raises: UnknownName, PlaybookError, InputError, Misfit; then nothing is queued.
    """
    entry = _entry(ctx, order)
    playbook = entry.playbook
    with ctx.store.reading() as db:
        known = hosts.select_hosts(db)
    chosen = inventory.select(known, order.hosts, order.tags)
    if not chosen:
        raise errors.Misfit("the job names no host: give --host NAME or --tag TAG")
    requirements.refuse_unsupported(playbook)
    given = params.parse_values(playbook, order.params)
    now = ctx.now()
    job = Job(
        id=new_id(),
        created_at=now,
        user=order.user,
        playbook=playbook.name,
        source=entry.source,
        given=dict(order.params),
        hosts=tuple(host.name for host in chosen),
        repeats=order.repeats or playbook.repeat.count,
        warmups=playbook.repeat.warmup if order.warmups is None else order.warmups,
        pause_s=playbook.repeat.pause if order.pause_s is None else order.pause_s,
        noise=order.noise,
        priority=order.priority,
        seed=random.getrandbits(31),
    )
    points = {host.name: _point(ctx, entry, host, given, order.noise) for host in chosen}
    planned = planner.plan(job, points, now=now)
    with ctx.store.writing() as db:
        runs.insert_job(db, job, planned)
        detail = f"{len(planned)} runs of {job.playbook} by {job.user or 'unknown'}"
        runs.record_event(db, now, "submit", detail, job=job.id)
    ctx.ring()
    return show_job(ctx, job.id)


def _entry(ctx: Context, order: JobOrder) -> Entry:
    if order.source is not None:
        return read_entry(order.source.encode(), order.source_name)
    if order.playbook is None:
        raise errors.InputError("the job names no playbook")
    return ctx.catalogue.find(order.playbook)


def _point(
    ctx: Context,
    entry: Entry,
    host: Host,
    given: Mapping[str, scalars.Value],
    noise: NoisePolicy,
) -> planner.Point:
    """What a host will execute; refuses what its known facts already rule out."""
    playbook = entry.playbook
    found = facts.interpret(host.facts)
    values = params.resolve_tool(playbook, given, found.available)
    misfit = requirements.misfit(playbook, values, digestion.host_facts(found))
    if misfit:
        raise errors.Misfit(f"host {host.name} cannot run {playbook.name}: {misfit}")
    _refuse_large(entry, host, values, noise)
    canonical = params.canonical_values(playbook, values)
    with ctx.store.reading() as db:
        learned = results.expected_s(db, host.name, playbook.name, canonical)
    return planner.Point(
        params=canonical,
        expected_s=learned or params.expected_s(playbook, values),
        max_runtime_s=params.max_runtime_s(playbook, values),
    )


def _refuse_large(
    entry: Entry, host: Host, values: Mapping[str, scalars.Value], noise: NoisePolicy
) -> None:
    """Compile once, so that what cannot be compiled or sent is refused while somebody is there."""
    script = compiler.compile_script(
        entry.playbook,
        values,
        digestion.host_facts(facts.interpret(host.facts)),
        run_id=new_id(),
        repeat=1,
        host=host.name,
        kernel="",
        noise=noise,
    )
    if len(script) > MAX_SCRIPT:
        raise errors.Misfit(
            f"{entry.path}: its script has {len(script)} bytes with these parameters, and at most "
            f"{MAX_SCRIPT} can be sent to a host: make its texts shorter"
        )


def find(ctx: Context, prefix: str) -> Job:
    """The one job that a prefix means.

    Raises: UnknownName.
    """
    with ctx.store.reading() as db:
        found = runs.find_job(db, prefix)
    if len(found) == 1:
        return found[0]
    if found:
        raise errors.UnknownName(f"job {prefix!r} is not one job: give more of its id")
    raise errors.UnknownName(f"unknown job {prefix!r}; see them with: benchrack job list")


def list_jobs(ctx: Context, limit: int = 50) -> tuple[JobView, ...]:
    """The newest jobs, newest first."""
    with ctx.store.reading() as db:
        known = {host.name: host for host in hosts.select_hosts(db)}
        return tuple(
            shown.job(job, runs.runs_of_job(db, job.id), known)
            for job in runs.select_jobs(db, limit=limit)
        )


def show_job(ctx: Context, prefix: str) -> JobView:
    """One job.

    Raises: UnknownName.
    """
    job = find(ctx, prefix)
    with ctx.store.reading() as db:
        known = {host.name: host for host in hosts.select_hosts(db)}
        return shown.job(job, runs.runs_of_job(db, job.id), known)


def runs_of_job(ctx: Context, prefix: str) -> tuple[RunView, ...]:
    """The runs of a job in their order.

    Raises: UnknownName.
    """
    job = find(ctx, prefix)
    with ctx.store.reading() as db:
        members = runs.runs_of_job(db, job.id)
        found = results.results_of_job(db, job.id)
        measured = results.measurements_of(db, [run.id for run in members])
        kernels = hosts.kernels(db)
    return tuple(
        shown.run(run, job, kernels, found.get(run.id), measured.get(run.id, ())) for run in members
    )


def cancel_job(ctx: Context, prefix: str) -> JobView:
    """Ask for the end of a job. What has finished stays; what runs is stopped on its host.

    Raises: UnknownName; WrongState if it has ended.
    """
    job = find(ctx, prefix)
    with ctx.store.writing() as db:
        members = runs.runs_of_job(db, job.id)
        if all(run.state is RunState.ENDED for run in members):
            raise errors.WrongState(f"job {job.id[:8]} has ended already")
        runs.cancel_job(db, job.id)
        runs.record_event(db, ctx.now(), "cancel", "by the operator", job=job.id)
    ctx.ring()
    return show_job(ctx, job.id)
