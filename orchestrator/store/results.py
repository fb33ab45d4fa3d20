"""Streams as fetched, results, measurements and what they add up to."""

from __future__ import annotations

import dataclasses
import json
import math
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Text, cast, func, or_, select
from sqlalchemy.dialects.sqlite import insert

from orchestrator.contract import messages
from orchestrator.contract.domain import Measurement, Note, RunState
from orchestrator.runs import Ending, Job, Run
from orchestrator.stats.summary import Moments
from orchestrator.store import tables

#: the last results that an expected duration is learned from
LEARNED_FROM = 50


def insert_chunks(db: Connection, run: Run, chunks: Iterable[messages.Chunk]) -> None:
    """Store fetched ranges; one that is there already stays as it is."""
    rows = [
        {
            "run": run.id,
            "attempt": run.attempt,
            "stream": chunk.stream,
            "offset": chunk.offset,
            "length": len(chunk.data),
            "sha256": chunk.sha256,
            "data": chunk.data,
        }
        for chunk in chunks
        if chunk.data
    ]
    if rows:
        db.execute(insert(tables.chunk).on_conflict_do_nothing(), rows)


def drop_chunks(db: Connection, run: Run) -> None:
    """Forget what was fetched of an attempt, because it does not add up to its manifest."""
    column = tables.chunk.c
    db.execute(tables.chunk.delete().where(column.run == run.id, column.attempt == run.attempt))


def chunks(db: Connection, run: str, attempt: int) -> dict[str, dict[int, bytes]]:
    """What was fetched of an attempt: stream -> offset -> bytes."""
    column = tables.chunk.c
    query = select(column.stream, column.offset, column.data).where(
        column.run == run, column.attempt == attempt
    )
    found: dict[str, dict[int, bytes]] = {}
    for row in db.execute(query):
        found.setdefault(row.stream, {})[row.offset] = bytes(row.data)
    return found


def fetched(db: Connection, run: str, attempt: int) -> dict[str, list[tuple[int, int]]]:
    """Which ranges were fetched of an attempt: stream -> (offset, length)."""
    column = tables.chunk.c
    query = select(column.stream, column.offset, column.length).where(
        column.run == run, column.attempt == attempt
    )
    found: dict[str, list[tuple[int, int]]] = {}
    for row in db.execute(query):
        found.setdefault(row.stream, []).append((row.offset, row.length))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a finished run came to."""

    #: the parameters by which its series is known
    params: Mapping[str, str]
    ending: Ending
    kernel: str | None
    boot: str | None
    series: str | None
    environment: Mapping[str, str]
    notes: tuple[Note, ...]
    measurements: tuple[Measurement, ...]
    #: metric -> raw samples, ns
    samples: Mapping[str, Sequence[int]]
    #: whether its measurements enter statistics
    counted: bool


def insert_result(db: Connection, job: Job, run: Run, result: Result, now: datetime) -> bool:
    """Store the result of a run once, and count it; False if there was one already."""
    done = db.execute(
        insert(tables.result)
        .values(
            run=run.id,
            attempt=run.attempt,
            fence=run.fence,
            outcome=str(result.ending.outcome),
            reason=result.ending.reason,
            host=run.host,
            kernel=result.kernel,
            boot=result.boot,
            series=result.series,
            params=dict(result.params),
            environment=dict(result.environment),
            notes=[[note.code, note.text] for note in result.notes],
            received_at=now.timestamp(),
        )
        .on_conflict_do_nothing()
    )
    if done.rowcount != 1:
        return False
    for measured in result.measurements:
        db.execute(
            tables.measurement.insert().values(
                run=run.id,
                metric=measured.name,
                value=measured.value,
                unit=measured.unit,
                better=str(measured.better),
                parser=measured.parser,
                is_primary=measured.primary,
                samples=measured.samples,
            )
        )
        if result.counted and result.series and result.kernel:
            _add(db, job, run, result, measured, now)
    for metric, values in result.samples.items():
        db.execute(
            tables.sample_set.insert().values(
                run=run.id, metric=metric, n=len(values), packed=pack(values)
            )
        )
    return True


def _add(
    db: Connection, job: Job, run: Run, result: Result, measured: Measurement, now: datetime
) -> None:
    column = tables.aggregate.c
    key = (
        column.series == result.series,
        column.kernel == result.kernel,
        column.metric == measured.name,
    )
    row = db.execute(select(tables.aggregate).where(*key)).first()
    moments = Moments.of([measured.value])
    if row is not None:
        moments = Moments(
            n=row.n, mean=row.mean, m2=row.m2, minimum=row.minimum, maximum=row.maximum
        ).merge(moments)
    values = {
        "host": run.host,
        "playbook": job.playbook,
        "params": dict(result.params),
        **dataclasses.asdict(moments),
        "updated_at": now.timestamp(),
    }
    db.execute(
        insert(tables.aggregate)
        .values(series=result.series, kernel=result.kernel, metric=measured.name, **values)
        .on_conflict_do_update(index_elements=["series", "kernel", "metric"], set_=values)
    )


def pack(values: Sequence[int]) -> bytes:
    """Samples in ns as compressed 64-bit integers."""
    return zlib.compress(array("q", values).tobytes(), 6)


def unpack(packed: bytes) -> tuple[int, ...]:
    """The samples of ``pack``."""
    values = array("q")
    values.frombytes(zlib.decompress(packed))
    return tuple(values)


def measurements(db: Connection, run: str) -> tuple[dict[str, Any], ...]:
    """The measurements of a run, primary first."""
    column = tables.measurement.c
    query = (
        select(tables.measurement)
        .where(column.run == run)
        .order_by(column.is_primary.desc(), column.metric)
    )
    return tuple(dict(row._mapping) for row in db.execute(query))


def result_of(db: Connection, run: str) -> dict[str, Any] | None:
    """The result row of a run."""
    row = db.execute(select(tables.result).where(tables.result.c.run == run)).first()
    return None if row is None else dict(row._mapping)


def results_of_job(db: Connection, job: str) -> dict[str, dict[str, Any]]:
    """The result rows of a job's runs, by run."""
    query = (
        select(tables.result)
        .join(tables.run, tables.run.c.id == tables.result.c.run)
        .where(tables.run.c.job == job)
    )
    return {row.run: dict(row._mapping) for row in db.execute(query)}


def ended_rows(
    db: Connection,
    *,
    playbook: str | None = None,
    hosts: Sequence[str] = (),
    job: str | None = None,
) -> tuple[dict[str, Any], ...]:
    """One row a run with an outcome, warm-ups left out: of run, job and result, oldest first.

    A run that left nothing has no result: its ``points``, and whatever is read from streams, are
    None.
    """
    run, res, task = tables.run.c, tables.result.c, tables.job.c
    query = (
        select(
            run.id,
            run.job,
            run.host,
            run.position,
            run.repeat,
            run.params,
            res.params.label("points"),
            task.playbook,
            task.created_at,
            task.imported_from,
            func.coalesce(res.outcome, run.outcome).label("outcome"),
            func.coalesce(res.reason, run.reason).label("reason"),
            res.kernel,
            res.boot,
            res.series,
            res.environment,
            res.notes,
            run.ended_at,
        )
        .outerjoin(tables.result, res.run == run.id)
        .join(tables.job, task.id == run.job)
        .where(run.warmup.is_(False))
        .where(or_(res.run.is_not(None), run.state == str(RunState.ENDED)))
        .order_by(task.created_at, run.position)
    )
    if playbook:
        query = query.where(task.playbook == playbook)
    if hosts:
        query = query.where(run.host.in_(hosts))
    if job:
        query = query.where(run.job == job)
    return tuple(dict(row._mapping) for row in db.execute(query))


def measurements_of(db: Connection, runs: Sequence[str]) -> dict[str, tuple[dict[str, Any], ...]]:
    """The measurements of many runs, by run."""
    column = tables.measurement.c
    found: dict[str, list[dict[str, Any]]] = {}
    for start in range(0, len(runs), 500):
        part = runs[start : start + 500]
        for row in db.execute(select(tables.measurement).where(column.run.in_(part))):
            found.setdefault(row.run, []).append(dict(row._mapping))
    return {run: tuple(rows) for run, rows in found.items()}


def samples_of(db: Connection, runs: Sequence[str], metric: str) -> dict[str, tuple[int, ...]]:
    """The raw samples of a metric of many runs, by run."""
    column = tables.sample_set.c
    found = {}
    for start in range(0, len(runs), 500):
        part = runs[start : start + 500]
        query = select(column.run, column.packed).where(
            column.metric == metric, column.run.in_(part)
        )
        for row in db.execute(query):
            found[row.run] = unpack(row.packed)
    return found


def playbooks_with_jobs(db: Connection) -> set[str]:
    """The playbooks that were ever queued or imported, whatever came of that."""
    return set(db.execute(select(tables.job.c.playbook).distinct()).scalars())


def expected_s(db: Connection, host: str, playbook: str, params: Mapping[str, str]) -> float | None:
    """Median duration of a host's last finished runs of this, seconds; None without any."""
    run, res, task = tables.run.c, tables.result.c, tables.job.c
    query = (
        select(run.ended_at - run.started_at)
        .join(tables.result, res.run == run.id)
        .join(tables.job, task.id == run.job)
        .where(run.host == host, task.playbook == playbook, res.outcome == "finished")
        .where(run.started_at.is_not(None), cast(run.params, Text) == json.dumps(dict(params)))
        .order_by(run.ended_at.desc())
        .limit(LEARNED_FROM)
    )
    spans = sorted(span for span in db.execute(query).scalars() if span)
    if not spans:
        return None
    middle = len(spans) // 2
    median = spans[middle] if len(spans) % 2 else math.fsum(spans[middle - 1 : middle + 1]) / 2
    return float(median)


def count(db: Connection) -> int:
    """How many results there are."""
    return int(db.execute(select(func.count()).select_from(tables.result)).scalar_one())


def hosts_with_results(db: Connection) -> set[str]:
    """The hosts that have results, imported ones among them."""
    return set(db.execute(select(tables.result.c.host).distinct()).scalars())


def imported_already(db: Connection, name: str, playbook: str, host: str) -> bool:
    """Whether results of this source were imported for this host before."""
    column = tables.job.c
    query = (
        select(column.id)
        .join(tables.run, tables.run.c.job == column.id)
        .where(column.imported_from == name, column.playbook == playbook, tables.run.c.host == host)
        .limit(1)
    )
    return db.execute(query).first() is not None
