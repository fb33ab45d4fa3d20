"""Results: tables per host and kernel, exports, and what was imported from elsewhere."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection

from orchestrator import inventory, report
from orchestrator.contract import errors
from orchestrator.contract.domain import (
    Better,
    Exclusive,
    NoisePolicy,
    Note,
    Outcome,
    RunState,
    new_id,
)
from orchestrator.export import csv, mail
from orchestrator.importers.base import ImportedRun
from orchestrator.importers.mail import read_mail
from orchestrator.inventory import Host
from orchestrator.report.table import ResultsTable
from orchestrator.report.views import JobView
from orchestrator.runs import Ending, Job, Run
from orchestrator.service import digestion, jobs
from orchestrator.service.context import Context
from orchestrator.stats.series import ExcludedRun, RunValue
from orchestrator.store import hosts, runs
from orchestrator.store import results as store

#: host of imported results, unless one is named
IMPORTED = "imported"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsQuery:
    """Which results. Nothing named: those of the playbook with the newest result."""

    playbook: str | None = None
    metric: str | None = None
    hosts: tuple[str, ...] = ()
    job: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The runs that a query means."""

    values: tuple[RunValue, ...]
    excluded: tuple[ExcludedRun, ...]


def results(ctx: Context, query: ResultsQuery) -> tuple[ResultsTable, ...]:
    """The tables of a query: one a playbook, parameters and metric.

    Raises: UnknownName for a playbook, host, job or metric that is not there.
    """
    chosen = select(ctx, query)
    tables = report.results_tables(chosen.values, chosen.excluded)
    if query.metric is not None:
        known = [table.metric for table in tables]
        if query.metric not in known:
            raise inventory.unknown("metric", query.metric, set(known))
        tables = tuple(table for table in tables if table.metric == query.metric)
    return tables


def export(ctx: Context, query: ResultsQuery, *, form: str) -> bytes:
    """The results of a query in a format.

    Raises: UnknownName for a format that there is not, or as ``results``.
    """
    chosen = select(ctx, query)
    if form == "csv":
        return csv.measurements(chosen.values).encode()
    tables = results(ctx, query)
    if form == "csv-summary":
        return csv.summaries(tables).encode()
    if form == "mail":
        return mail.results(tables).encode()
    raise inventory.unknown("format", form, ("csv", "csv-summary", "mail"))


def select(ctx: Context, query: ResultsQuery) -> Selection:
    """The values of a query's runs, and the runs that gave none that counts.

    Raises: UnknownName.
    """
    with ctx.store.reading() as db:
        job = jobs.find(ctx, query.job).id if query.job else None
        playbook = query.playbook
        known = store.playbooks_with_results(db)
        if playbook is not None and playbook not in known and playbook not in ctx.catalogue.entries:
            raise inventory.unknown("playbook", playbook, {*known, *ctx.catalogue.entries})
        rows = store.counted_rows(db, playbook=playbook, hosts=query.hosts, job=job)
        if query.hosts:
            _check_hosts(db, query.hosts, rows)
        return _selection(db, rows)


def _check_hosts(db: Connection, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    known = {host.name for host in hosts.select_hosts(db)} | store.hosts_with_results(db)
    for name in names:
        if name not in known:
            raise inventory.unknown("host", name, known)


def _selection(db: Connection, rows: Sequence[Mapping[str, Any]]) -> Selection:
    kernels = hosts.kernels(db)
    machines = _machine_notes(hosts.select_hosts(db))
    measured = store.measurements_of(db, [row["id"] for row in rows])
    samples: dict[str, dict[str, tuple[int, ...]]] = {}
    values: list[RunValue] = []
    excluded: list[ExcludedRun] = []
    wanted = {entry["metric"] for entries in measured.values() for entry in entries}
    for metric in wanted:
        samples[metric] = store.samples_of(db, [row["id"] for row in rows], metric)
    for order, row in enumerate(rows):
        label, group, _ = kernels.get(row["kernel"], ("", "", None))
        params = tuple(sorted(row["points"].items()))
        if row["outcome"] != Outcome.FINISHED or row["kernel"] is None:
            excluded.append(
                ExcludedRun(
                    run=row["id"],
                    host=row["host"],
                    kernel_id=row["kernel"] or "",
                    kernel=label,
                    group=group,
                    playbook=row["playbook"],
                    params=params,
                    outcome=Outcome(row["outcome"]),
                    reason=row["reason"],
                )
            )
            continue
        notes = tuple(Note(code=code, text=text) for code, text in row["notes"])
        for entry in measured.get(row["id"], ()):
            values.append(
                RunValue(
                    run=row["id"],
                    host=row["host"],
                    kernel_id=row["kernel"],
                    kernel=label,
                    group=group,
                    boot=row["boot"],
                    playbook=row["playbook"],
                    params=params,
                    environment=row["series"] or "",
                    metric=entry["metric"],
                    value=entry["value"],
                    unit=entry["unit"],
                    better=Better(entry["better"]),
                    primary=entry["is_primary"],
                    samples=entry["samples"],
                    raw=samples[entry["metric"]].get(row["id"]),
                    notes=notes,
                    machine=machines.get(row["host"], ""),
                    order=order,
                )
            )
    return Selection(values=tuple(values), excluded=tuple(excluded))


def _machine_notes(known: Sequence[Host]) -> dict[str, str]:
    """What a reader must know of the machine behind a host."""
    notes = {}
    for host in known:
        others = [
            other.name
            for other in known
            if other.machine == host.machine and other.name != host.name
        ]
        if host.spec.exclusive is Exclusive.HOST:
            notes[host.name] = "simulated or namespaced host: its machine may run other work"
        elif others:
            names = ", ".join(sorted([host.name, *others]))
            notes[host.name] = f"{names} are one machine and take turns"
    return notes


def import_mail(
    ctx: Context, data: bytes, *, name: str, host: str | None, user: str
) -> tuple[JobView, ...]:
    """Import the tables of a mail, all of them or none.

    Raises: ImportRefused naming the line; InventoryError for a host name that cannot be one.
    """
    where = host or IMPORTED
    inventory.check(inventory.HostSpec(name=where, address="imported", user="import", key="import"))
    found = read_mail(data, name=name)
    by_playbook: dict[tuple[str, tuple[tuple[str, str], ...]], list[ImportedRun]] = {}
    for run in found:
        by_playbook.setdefault((run.playbook, run.params), []).append(run)
    made = []
    with ctx.store.writing() as db:
        for playbook in {playbook for playbook, _ in by_playbook}:
            if store.imported_already(db, name, playbook, where):
                raise errors.WrongState(
                    f"{name} was imported for host {where} already; see its numbers with: "
                    f"benchrack results {playbook} --host {where}"
                )
        for (playbook, params), members in by_playbook.items():
            made.append(_import_job(ctx, db, playbook, dict(params), members, name, where, user))
    return tuple(jobs.show_job(ctx, ident) for ident in made)


def _import_job(
    ctx: Context,
    db: Connection,
    playbook: str,
    params: Mapping[str, str],
    members: Sequence[ImportedRun],
    name: str,
    host: str,
    user: str,
) -> str:
    now = ctx.now()
    job = Job(
        id=new_id(),
        created_at=now,
        user=user,
        playbook=playbook,
        source="",
        given=params,
        hosts=(host,),
        repeats=len(members),
        warmups=0,
        pause_s=0.0,
        noise=NoisePolicy.NOTE,
        seed=random.getrandbits(31),
        imported_from=name,
    )
    finished = Ending(outcome=Outcome.FINISHED)
    planned = [
        Run(
            id=new_id(),
            job=job.id,
            host=host,
            position=position,
            block=1,
            repeat=position + 1,
            params=MappingProxyType(dict(params)),
            expected_s=0.0,
            max_runtime_s=0.0,
            state=RunState.ENDED,
            next_at=now,
            ended_at=now,
            ending=finished,
        )
        for position in range(len(members))
    ]
    runs.insert_job(db, job, planned)
    for run, source in zip(planned, members, strict=True):
        kernel = digestion.imported_kernel(source.identity, source.kernel)
        hosts.record_kernel(db, kernel.id, kernel.label, kernel.identity)
        result = store.Result(
            params=params,
            ending=finished,
            kernel=kernel.id,
            boot=None,
            series=digestion.series_of(host, playbook, sorted(params.items()), {}),
            environment={},
            notes=source.notes,
            measurements=source.measurements,
            samples={},
            counted=True,
        )
        store.insert_result(db, job, run, result, now)
    runs.record_event(db, now, "import", f"{len(members)} runs of {name}", job=job.id)
    return job.id
