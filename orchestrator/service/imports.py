"""Results from elsewhere: the tables of a mail become a job with runs that have ended."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sqlalchemy import Connection

from orchestrator import inventory
from orchestrator.contract import errors
from orchestrator.contract.domain import NoisePolicy, Outcome, RunState, new_id
from orchestrator.importers.base import ImportedRun
from orchestrator.importers.mail import read_mail
from orchestrator.report.views import JobView
from orchestrator.runs import Ending, Job, Run
from orchestrator.service import digestion, jobs
from orchestrator.service.context import Context
from orchestrator.store import hosts, runs
from orchestrator.store import results as store

#: host of imported results, unless one is named
IMPORTED = "imported"


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
            _refuse_same(db, playbook, params, members, name, where)
            made.append(_import_job(ctx, db, playbook, dict(params), members, name, where, user))
    return tuple(jobs.show_job(ctx, ident) for ident in made)


def _refuse_same(
    db: Connection,
    playbook: str,
    params: Sequence[tuple[str, str]],
    members: Sequence[ImportedRun],
    name: str,
    host: str,
) -> None:
    """Refuse numbers that were imported before, whatever the file was called or wrapped like."""
    rows = [
        row
        for row in store.ended_rows(db, playbook=playbook, hosts=(host,))
        if row["imported_from"] is not None and sorted(row["points"].items()) == sorted(params)
    ]
    measured = store.measurements_of(db, [row["id"] for row in rows])
    known: dict[tuple[str, str, str], list[frozenset[tuple[str, float]]]] = {}
    for row in rows:
        values = frozenset((one["metric"], one["value"]) for one in measured.get(row["id"], ()))
        known.setdefault((row["job"], row["imported_from"], row["kernel"]), []).append(values)
    new: dict[str, list[frozenset[tuple[str, float]]]] = {}
    for run in members:
        kernel = digestion.imported_kernel(run.identity, run.kernel).id
        new.setdefault(kernel, []).append(frozenset((m.name, m.value) for m in run.measurements))
    for (_, source, kernel), values_of in known.items():
        if new.get(kernel) == values_of:
            raise errors.WrongState(
                f"{name} holds runs that were imported for host {host} from {source} already; "
                f"nothing was imported; see them with: benchrack results {playbook} --host {host}"
            )


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
