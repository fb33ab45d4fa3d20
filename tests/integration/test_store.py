"""The store on a real SQLite file: migrations, leases, compare-and-set, counting once."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from orchestrator.contract import errors
from orchestrator.contract.domain import (
    Better,
    KernelIdentity,
    Measurement,
    NoisePolicy,
    Outcome,
    PreemptModel,
    RunState,
    new_id,
)
from orchestrator.planner import Point, plan
from orchestrator.runs import Ending, Job, Run
from orchestrator.stats.summary import Moments
from orchestrator.store import hosts, results, runs, schema, session, tables

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KERNEL = KernelIdentity(
    release="6.1", version="#1", build_id=None, config_hash=None, preempt=PreemptModel.NONE
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[session.Store]:
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    schema.prepare(url)
    opened = session.Store(url)
    yield opened
    opened.close()


def make_job(*, repeats: int = 3) -> tuple[Job, tuple[Run, ...]]:
    job = Job(
        id=new_id(),
        created_at=NOW,
        user="ada",
        playbook="p",
        source="",
        given={},
        hosts=("h1",),
        repeats=repeats,
        warmups=0,
        pause_s=0.0,
        noise=NoisePolicy.NOTE,
        seed=1,
    )
    point = Point(params={"a": "1"}, expected_s=1.0, max_runtime_s=9.0)
    return job, plan(job, {"h1": point}, now=NOW)


def make_result(value: float) -> results.Result:
    measured = Measurement(
        name="m", value=value, unit="us", better=Better.LOWER, parser="x@1", primary=True
    )
    return results.Result(
        params={"a": "1"},
        ending=Ending(outcome=Outcome.FINISHED),
        kernel="k",
        boot="b",
        series="s",
        environment={},
        notes=(),
        measurements=(measured,),
        samples={"m": (1, 2, 3)},
        counted=True,
    )


def test_migrations_give_exactly_the_tables_of_the_code(store: session.Store) -> None:
    with store.reading() as db:
        assert compare_metadata(MigrationContext.configure(db), tables.metadata) == []


def test_sqlite_commits_survive_a_power_loss(store: session.Store) -> None:
    with store.reading() as db:
        assert db.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert db.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL


def test_prepare_twice_keeps_the_lab(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    seen = set()
    for _ in range(2):
        schema.prepare(url)
        opened = session.Store(url)
        with opened.reading() as db:
            seen.add(session.lab_id(db))
        opened.close()
    assert len(seen) == 1


def test_prepare_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    schema.prepare(f"sqlite:///{path}")
    raw = sqlite3.connect(path)
    raw.execute("UPDATE alembic_version SET version_num = '9999'")
    raw.commit()
    raw.close()
    with pytest.raises(errors.StoreTooNew, match="newer benchrack"):
        schema.prepare(f"sqlite:///{path}")


def test_prepare_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    path.write_bytes(b"this is no database, and long enough to be looked at " * 40)
    with pytest.raises(errors.StoreError, match="not a database"):
        schema.prepare(f"sqlite:///{path}")


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder that not even root can write."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o500)
    if os.geteuid() != 0:
        yield folder
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_prepare_read_only_folder_is_refused(read_only: Path) -> None:
    with pytest.raises(errors.StoreReadOnly, match="cannot be written"):
        schema.prepare(f"sqlite:///{read_only / 'lab.db'}")


def test_lease_many_at_once_grants_one_and_fences_grow(store: session.Store) -> None:
    with store.writing() as db:
        db.execute(tables.machine.insert().values(id="m", fence=0))
    granted: list[int] = []

    def contend(run: str) -> None:
        for _ in range(5):
            with store.writing() as db:
                fence = hosts.lease(db, "m", run, NOW)
            if fence is not None:
                granted.append(fence)
                with store.writing() as db:
                    hosts.release(db, run)

    threads = [threading.Thread(target=contend, args=(f"r{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(granted) == list(range(1, len(granted) + 1))


def test_lease_held_by_another_run_is_not_granted(store: session.Store) -> None:
    with store.writing() as db:
        db.execute(tables.machine.insert().values(id="m", fence=0))
        assert hosts.lease(db, "m", "one", NOW) == 1
        assert hosts.lease(db, "m", "two", NOW) is None
        hosts.release(db, "two")
        assert hosts.leases(db) == {"m": "one"}


def test_change_of_a_row_that_moved_on_is_refused(store: session.Store) -> None:
    job, planned = make_job(repeats=1)
    with store.writing() as db:
        runs.insert_job(db, job, planned)
    before = planned[0]
    with store.writing() as db:
        assert runs.change(db, before, replace(before, state=RunState.LEASED))
        assert not runs.change(db, before, replace(before, state=RunState.ENDED))
        found = runs.get_run(db, before.id)
    assert found is not None
    assert (found.state, found.rev) == (RunState.LEASED, 1)


def test_run_comes_back_from_the_store_as_it_was(store: session.Store) -> None:
    job, planned = make_job(repeats=1)
    run = replace(planned[0], ending=Ending(outcome=Outcome.VOID, reason="x"), blocker="a.1.2")
    with store.writing() as db:
        runs.insert_job(db, job, [run])
        assert runs.get_run(db, run.id) == run
        assert runs.jobs_by_id(db, [job.id]) == {job.id: job}


def test_insert_result_twice_counts_once(store: session.Store) -> None:
    job, planned = make_job(repeats=1)
    with store.writing() as db:
        runs.insert_job(db, job, planned)
        hosts.record_kernel(db, "k", "6.1", KERNEL)
        assert results.insert_result(db, job, planned[0], make_result(2.0), NOW)
        assert not results.insert_result(db, job, planned[0], make_result(5.0), NOW)
        row = db.execute(select(tables.aggregate)).one()
    assert (row.n, row.mean, row.minimum, row.maximum) == (1, 2.0, 2.0, 2.0)


def test_result_that_is_not_counted_enters_no_aggregate(store: session.Store) -> None:
    job, planned = make_job(repeats=1)
    with store.writing() as db:
        runs.insert_job(db, job, planned)
        hosts.record_kernel(db, "k", "6.1", KERNEL)
        results.insert_result(db, job, planned[0], replace(make_result(2.0), counted=False), NOW)
        assert db.execute(select(tables.aggregate)).all() == []


def test_aggregates_are_what_the_results_add_up_to(store: session.Store) -> None:
    values = [3.0, 1.0, 2.5, 8.0, 1e-6]
    job, planned = make_job(repeats=len(values))
    with store.writing() as db:
        runs.insert_job(db, job, planned)
        hosts.record_kernel(db, "k", "6.1", KERNEL)
        for run, value in zip(planned, values, strict=True):
            results.insert_result(db, job, run, make_result(value), NOW)
        row = db.execute(select(tables.aggregate)).one()
    expected = Moments.of(values)
    assert (row.n, row.minimum, row.maximum) == (5, expected.minimum, expected.maximum)
    assert row.mean == pytest.approx(expected.mean, rel=1e-12)
    assert row.m2 == pytest.approx(expected.m2, rel=1e-12)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=200))
def test_samples_packed_come_back_exactly(values: list[int]) -> None:
    assert results.unpack(results.pack(values)) == tuple(values)
