"""Results: tables per host and kernel, health checks, and exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from orchestrator import inventory, report
from orchestrator.contract import errors
from orchestrator.contract.domain import Better, Exclusive, Note, Outcome
from orchestrator.export import csv, mail
from orchestrator.inventory import Host
from orchestrator.playbook import params
from orchestrator.report.checks import CheckList
from orchestrator.report.table import ResultsTable
from orchestrator.runs import Job
from orchestrator.service import checks, jobs
from orchestrator.service.context import Context
from orchestrator.stats.series import ExcludedRun, Params, RunValue
from orchestrator.store import hosts, runs
from orchestrator.store import results as store


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsQuery:
    """Which results. Nothing named: all of them."""

    playbook: str | None = None
    metric: str | None = None
    hosts: tuple[str, ...] = ()
    job: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The runs that a query means."""

    values: tuple[RunValue, ...]
    excluded: tuple[ExcludedRun, ...]
    checks: tuple[CheckList, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What is shown of a query: health checks are no tables, as nothing of them is compared."""

    checks: tuple[CheckList, ...]
    tables: tuple[ResultsTable, ...]


def results(ctx: Context, query: ResultsQuery) -> tuple[ResultsTable, ...]:
    """The tables of a query: one a playbook, parameters and metric; of health checks as well.

    Raises: UnknownName for a playbook, host, job or metric that is not there.
    """
    return _tables(select(ctx, query), query)


def shown(ctx: Context, query: ResultsQuery, *, primary: bool = False) -> Shown:
    """What people are shown of a query; ``primary``: only what stands for its playbook.

    Raises: UnknownName, as ``results``.
    """
    chosen = select(ctx, query)
    of_health = {check.playbook for check in chosen.checks}
    tables = [one for one in _tables(chosen, query) if one.playbook not in of_health]
    return Shown(checks=chosen.checks, tables=report.headline(tables) if primary else tuple(tables))


def _tables(chosen: Selection, query: ResultsQuery) -> tuple[ResultsTable, ...]:
    tables = report.results_tables(chosen.values, chosen.excluded)
    if query.metric is None:
        return tables
    known = {table.metric for table in tables if table.metric}
    if query.metric not in known:
        raise inventory.unknown("metric", query.metric, known)
    return report.of_metric(tables, query.metric)


def export(ctx: Context, query: ResultsQuery, *, form: str) -> bytes:
    """The results of a query in a format.

    Raises: UnknownName for a format that there is not, or as ``results``.
    """
    if form == "csv":
        return csv.measurements(select(ctx, query).values).encode()
    if form == "csv-summary":
        return csv.summaries(results(ctx, query)).encode()
    if form == "mail":
        chosen = shown(ctx, query)
        return mail.results(chosen.tables, chosen.checks).encode()
    raise inventory.unknown("format", form, ("csv", "csv-summary", "mail"))


def select(ctx: Context, query: ResultsQuery) -> Selection:
    """The values of a query's runs, and the runs that gave none that counts.

    Raises: UnknownName.
    """
    with ctx.store.reading() as db:
        job = jobs.find(ctx, query.job).id if query.job else None
        playbook = query.playbook
        known = {*store.playbooks_with_jobs(db), *ctx.catalogue.entries}
        if playbook is not None and playbook not in known:
            raise inventory.unknown("playbook", playbook, known)
        rows = store.ended_rows(db, playbook=playbook, hosts=query.hosts, job=job)
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
    of_jobs = runs.jobs_by_id(db, {row["job"] for row in rows})
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
        points = _points(row, of_jobs[row["job"]])
        if row["outcome"] != Outcome.FINISHED or row["kernel"] is None:
            excluded.append(
                ExcludedRun(
                    run=row["id"],
                    host=row["host"],
                    kernel_id=row["kernel"] or "",
                    kernel=label,
                    group=group,
                    playbook=row["playbook"],
                    params=points,
                    outcome=Outcome(row["outcome"]),
                    reason=row["reason"],
                )
            )
            continue
        # what was imported was measured elsewhere, whatever its host is called
        machine = "" if row["imported_from"] else machines.get(row["host"], "")
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
                    params=points,
                    environment=row["series"] or "",
                    metric=entry["metric"],
                    value=entry["value"],
                    unit=entry["unit"],
                    better=Better(entry["better"]),
                    primary=entry["is_primary"],
                    samples=entry["samples"],
                    raw=samples[entry["metric"]].get(row["id"]),
                    notes=notes,
                    machine=machine,
                    order=order,
                )
            )
    labels = {ident: label for ident, (label, _, _) in kernels.items()}
    return Selection(
        values=tuple(values),
        excluded=tuple(excluded),
        checks=checks.newest(rows, of_jobs, measured, labels),
    )


def _points(row: Mapping[str, Any], job: Job) -> Params:
    """The parameters that a run's series is known by, also where it left no result."""
    if row["points"]:
        return tuple(sorted(row["points"].items()))
    playbook = checks.playbook_of(job)
    try:
        values = params.typed_values(playbook, row["params"]) if playbook else {}
    except errors.InputError:
        # of another version: its runs have ended with that as their reason
        return ()
    return params.series_params(playbook, values) if playbook else ()


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
