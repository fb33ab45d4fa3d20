"""Jobs, runs and attempts. A change of a run is a compare-and-set on its revision."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select, update
from sqlalchemy.dialects.sqlite import insert

from orchestrator.contract import messages
from orchestrator.contract.domain import NoisePolicy, Outcome, RunState
from orchestrator.runs import Ending, Job, Run
from orchestrator.store import tables

_TIMES = ("next_at", "leased_at", "started_at", "deadline_at", "ended_at")


def _time(value: float | None) -> datetime | None:
    return None if value is None else datetime.fromtimestamp(value, UTC)


def _job(row: Row[Any]) -> Job:
    values = dict(row._mapping)
    values["created_at"] = _time(values["created_at"])
    values["hosts"] = tuple(values["hosts"])
    values["noise"] = NoisePolicy(values["noise"])
    return Job(**values)


def _job_values(job: Job) -> dict[str, Any]:
    values = {field.name: getattr(job, field.name) for field in dataclasses.fields(job)}
    values["created_at"] = job.created_at.timestamp()
    values["hosts"] = list(job.hosts)
    values["given"] = dict(job.given)
    values["noise"] = str(job.noise)
    return values


def _run(row: Row[Any]) -> Run:
    values = dict(row._mapping)
    outcome, reason = values.pop("outcome"), values.pop("reason")
    values["ending"] = Ending(outcome=Outcome(outcome), reason=reason) if outcome else None
    values["state"] = RunState(values["state"])
    for name in _TIMES:
        values[name] = _time(values[name])
    values["manifest"] = tuple(
        messages.StreamEntry.model_validate(entry, strict=False) for entry in values["manifest"]
    )
    return Run(**values)


def run_values(run: Run) -> dict[str, Any]:
    """The columns of a run."""
    values = {field.name: getattr(run, field.name) for field in dataclasses.fields(run)}
    ending = values.pop("ending")
    values["outcome"] = str(ending.outcome) if ending else None
    values["reason"] = ending.reason if ending else None
    values["state"] = str(run.state)
    values["params"] = dict(run.params)
    values["manifest"] = [entry.model_dump(mode="json") for entry in run.manifest]
    for name in _TIMES:
        values[name] = values[name].timestamp() if values[name] else None
    return values


def insert_job(db: Connection, job: Job, runs: Sequence[Run]) -> None:
    """Remember a job with all its runs."""
    db.execute(tables.job.insert().values(_job_values(job)))
    if runs:
        db.execute(tables.run.insert(), [run_values(run) for run in runs])


def find_job(db: Connection, prefix: str) -> tuple[Job, ...]:
    """The jobs whose id begins with this."""
    column = tables.job.c
    query = select(tables.job).where(column.id.startswith(prefix, autoescape=True)).limit(3)
    return tuple(_job(row) for row in db.execute(query))


def select_jobs(db: Connection, *, limit: int = 50) -> tuple[Job, ...]:
    """The newest jobs, newest first."""
    query = select(tables.job).order_by(tables.job.c.created_at.desc()).limit(limit)
    return tuple(_job(row) for row in db.execute(query))


def jobs_by_id(db: Connection, ids: Iterable[str]) -> dict[str, Job]:
    """These jobs, by id."""
    query = select(tables.job).where(tables.job.c.id.in_(set(ids)))
    return {row.id: _job(row) for row in db.execute(query)}


def cancel_job(db: Connection, job: str) -> int:
    """Ask for the end of all runs of a job; how many had not ended."""
    column = tables.run.c
    db.execute(update(tables.job).where(tables.job.c.id == job).values(cancelled=True))
    done = db.execute(
        update(tables.run)
        .where(column.job == job, column.state != str(RunState.ENDED))
        .values(cancel=True, rev=column.rev + 1)
    )
    return int(done.rowcount)


def find_run(db: Connection, prefix: str) -> tuple[Run, ...]:
    """The runs whose id begins with this."""
    column = tables.run.c
    query = select(tables.run).where(column.id.startswith(prefix, autoescape=True)).limit(3)
    return tuple(_run(row) for row in db.execute(query))


def get_run(db: Connection, ident: str) -> Run | None:
    """The run of this id."""
    row = db.execute(select(tables.run).where(tables.run.c.id == ident)).first()
    return None if row is None else _run(row)


def blocked_by(db: Connection, host: str, owner: str) -> Run | None:
    """The run that waits for this owner (run.attempt.fence) to be reaped."""
    column = tables.run.c
    query = select(tables.run).where(
        column.host == host, column.blocker == owner, column.state == str(RunState.LEASED)
    )
    row = db.execute(query).first()
    return None if row is None else _run(row)


def runs_of_job(db: Connection, job: str) -> tuple[Run, ...]:
    """The runs of a job in their order."""
    query = select(tables.run).where(tables.run.c.job == job).order_by(tables.run.c.position)
    return tuple(_run(row) for row in db.execute(query))


def live_runs(db: Connection) -> tuple[Run, ...]:
    """All runs that have not ended: those under way first, then by priority, age and order."""
    run, job = tables.run.c, tables.job.c
    query = (
        select(tables.run)
        .join(tables.job, run.job == job.id)
        .where(run.state != str(RunState.ENDED))
        .order_by(
            (run.state == str(RunState.QUEUED)),
            job.priority.desc(),
            job.created_at,
            run.position,
        )
    )
    return tuple(_run(row) for row in db.execute(query))


def last_end(db: Connection, host: str) -> dict[str, float]:
    """When each job's last run on a host ended."""
    column = tables.run.c
    query = (
        select(column.job, func.max(column.ended_at))
        .where(column.host == host, column.ended_at.is_not(None))
        .group_by(column.job)
    )
    return {row[0]: row[1] for row in db.execute(query)}


def change(db: Connection, before: Run, after: Run) -> bool:
    """Write a run's new row if nobody changed it since it was read."""
    column = tables.run.c
    values = run_values(dataclasses.replace(after, rev=before.rev + 1))
    done = db.execute(
        update(tables.run).where(column.id == before.id, column.rev == before.rev).values(values)
    )
    return bool(done.rowcount == 1)


def put_off(db: Connection, host: str, until: datetime) -> None:
    """Let no run that waits for a host be tried before this."""
    column = tables.run.c
    db.execute(
        update(tables.run)
        .where(
            column.host == host,
            column.state == str(RunState.QUEUED),
            column.next_at < until.timestamp(),
        )
        .values(next_at=until.timestamp(), rev=column.rev + 1)
    )


def hasten(db: Connection, host: str, now: datetime) -> None:
    """Have every run of a host that has not ended looked at now."""
    column = tables.run.c
    db.execute(
        update(tables.run)
        .where(
            column.host == host,
            column.state != str(RunState.ENDED),
            column.next_at > now.timestamp(),
        )
        .values(next_at=now.timestamp(), rev=column.rev + 1)
    )


def record_attempt(db: Connection, run: Run, script: bytes, now: datetime) -> None:
    """Remember what this attempt of a run was given to execute."""
    db.execute(
        insert(tables.attempt)
        .values(
            run=run.id,
            attempt=run.attempt,
            fence=run.fence,
            script=script,
            leased_at=now.timestamp(),
        )
        # an attempt that never reached its host is made again under a new fence
        .on_conflict_do_update(
            index_elements=["run", "attempt"],
            set_={"fence": run.fence, "script": script, "leased_at": now.timestamp()},
        )
    )


def end_attempt(db: Connection, run: Run, ending: Ending, now: datetime) -> None:
    """Remember how an attempt ended."""
    column = tables.attempt.c
    db.execute(
        update(tables.attempt)
        .where(column.run == run.id, column.attempt == run.attempt)
        .values(ended_at=now.timestamp(), outcome=str(ending.outcome), reason=ending.reason)
    )


def script(db: Connection, run: str, attempt: int) -> bytes | None:
    """The script that an attempt was given."""
    column = tables.attempt.c
    query = select(column.script).where(column.run == run, column.attempt == attempt)
    found = db.execute(query).scalar()
    return None if found is None else bytes(found)


def record_event(
    db: Connection,
    now: datetime,
    kind: str,
    detail: str,
    *,
    host: str | None = None,
    job: str | None = None,
    run: str | None = None,
) -> None:
    """Append to the journal."""
    db.execute(
        tables.event.insert().values(
            at=now.timestamp(), kind=kind, detail=detail, host=host, job=job, run=run
        )
    )


def events_of_run(db: Connection, run: str) -> tuple[tuple[float, str, str], ...]:
    """What happened to a run: time, kind, detail."""
    column = tables.event.c
    query = select(column.at, column.kind, column.detail).where(column.run == run)
    return tuple((row.at, row.kind, row.detail) for row in db.execute(query.order_by(column.id)))


def counts(db: Connection) -> dict[str, int]:
    """How many runs are in each state."""
    column = tables.run.c
    rows = db.execute(select(column.state, func.count()).group_by(column.state))
    return {row[0]: int(row[1]) for row in rows}
