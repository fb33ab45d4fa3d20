"""Evidence into the store: guarded, counted once, and nothing of a run lost or left leased."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from orchestrator.contract.domain import HostState, OperationName, Outcome, RunState, Status
from orchestrator.runs import Ending
from orchestrator.service import scenes
from orchestrator.store import errands, results, runs, tables
from tests.integration import labkit
from tests.integration.labkit import STREAMS, Kit

DONE = {"rc": 0, "manifest": labkit.manifest(STREAMS)}
CANCELLED = Ending(outcome=Outcome.CANCELLED, reason="cancelled")


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    made = labkit.make(tmp_path)
    made.enrol("h1")
    yield made
    made.context.store.close()


def count(kit: Kit, table: object) -> int:
    with kit.context.store.reading() as db:
        return int(db.execute(select(func.count()).select_from(table)).scalar_one())  # type: ignore[arg-type]


def test_whole_result_is_stored_with_its_state(kit: Kit) -> None:
    run = kit.run("h1", RunState.LEASED)
    kit.say(run, Status.DONE, **DONE, chunks=labkit.chunks(STREAMS))
    with kit.context.store.reading() as db:
        (measured,) = results.measurements(db, run.id)
        result = results.result_of(db, run.id)
    assert (measured["metric"], measured["value"]) == ("rate", 7.0)
    assert result is not None
    assert (kit.now(run).state, result["outcome"]) == (RunState.STORED, "finished")


def test_pieces_in_any_order_and_thrice_count_once(kit: Kit) -> None:
    run = kit.run("h1", RunState.RUNNING)
    order = [name for name in STREAMS if STREAMS[name]] * 3
    random.Random(5).shuffle(order)
    for name in order:
        kit.say(run, Status.DONE, **DONE, chunks=labkit.chunks(STREAMS, of=[name]))
    assert count(kit, tables.result) == 1
    with kit.context.store.reading() as db:
        assert [row.n for row in db.execute(select(tables.aggregate))] == [1]


def test_evidence_of_another_attempt_changes_nothing(kit: Kit) -> None:
    run = kit.run("h1", RunState.RUNNING, attempt=2, fence=9)
    for attempt, fence in ((1, 5), (2, 5), (1, 9)):
        kit.say(run, Status.DONE, attempt=attempt, fence=fence, **DONE)
    assert kit.now(run) == run


@pytest.mark.parametrize(
    "changes", [{"host": "h2"}, {"site": "other"}, {"run": "f" * 32}, {"lab": "e" * 32}]
)
def test_evidence_of_the_wrong_speaker_is_a_dead_letter(kit: Kit, changes: dict[str, str]) -> None:
    run = kit.run("h1", RunState.RUNNING)
    kit.say(run, Status.DIED, **changes)
    assert kit.now(run) == run
    assert count(kit, tables.dead_letter) == 1


def test_damaged_streams_are_fetched_again_and_then_given_up_with_their_bytes(kit: Kit) -> None:
    run = kit.run("h1", RunState.RUNNING)
    damaged = {**STREAMS, "result": STREAMS["result"].replace(b"1.0", b"9.9")}
    for _ in range(8):
        kit.say(run, Status.DONE, **DONE, chunks=labkit.chunks(damaged))
    after = kit.now(run)
    assert after.ending is not None
    assert (after.state, after.ending.outcome) == (RunState.REAPING, Outcome.INFRA_FAILED)
    assert count(kit, tables.chunk) > 0
    assert count(kit, tables.result) == 0


@pytest.mark.parametrize(
    ("holder_host", "state"),
    [("h1", RunState.ENDED), ("h1", RunState.QUEUED), ("h2", RunState.ENDED)],
)
def test_reaped_blocker_lets_the_waiting_run_start(
    kit: Kit, holder_host: str, state: RunState
) -> None:
    kit.enrol("h2", instance="other", boot="boot-2")
    holder = kit.run(holder_host, state)
    waiting = kit.run("h1", RunState.LEASED, fence=6)
    owner = f"{kit.context.lab}.{holder.id}.1.5.{labkit.BOOT}"
    kit.say(waiting, Status.BUSY, op=OperationName.START, owner=owner)
    assert kit.now(waiting).blocker == f"{holder.id}.1.5"
    kit.say(holder, Status.CLEAN, op=OperationName.REAP, host="h1", attempt=1, fence=5)
    after = kit.now(waiting)
    assert (after.state, after.blocker) == (RunState.LEASED, None)


def test_busy_by_a_live_run_of_another_name_joins_the_machines(kit: Kit) -> None:
    kit.enrol("h2", instance="other", boot="boot-2")
    assert kit.host("h1").machine != kit.host("h2").machine
    holder = kit.run("h2", RunState.RUNNING)
    waiting = kit.run("h1", RunState.LEASED, fence=6)
    owner = f"{kit.context.lab}.{holder.id}.1.5.{labkit.BOOT}"
    kit.say(waiting, Status.BUSY, op=OperationName.START, owner=owner)
    assert kit.now(waiting).state is RunState.QUEUED
    assert kit.host("h1").machine == kit.host("h2").machine
    assert kit.leases() == {holder.id}


def test_result_that_finished_before_its_kill_is_kept_and_marked_late(kit: Kit) -> None:
    timed_out = Ending(outcome=Outcome.TIMED_OUT, reason="late")
    run = kit.run("h1", RunState.KILLING, ending=timed_out)
    kit.say(run, Status.DONE, **DONE, op=OperationName.KILL)
    kit.say(run, Status.DONE, **DONE, op=OperationName.FETCH, chunks=labkit.chunks(STREAMS))
    with kit.context.store.reading() as db:
        result = results.result_of(db, run.id)
    assert result is not None
    assert result["outcome"] == "finished"
    assert "late" in [code for code, _ in result["notes"]]


def test_useless_answers_to_a_kill_end_in_a_reaping(kit: Kit) -> None:
    run = kit.run("h1", RunState.KILLING, ending=CANCELLED, tries=5)
    kit.say(run, Status.PROTO, op=OperationName.KILL, detail="400 streams")
    assert kit.now(run).state is RunState.REAPING


def test_run_whose_playbook_no_version_reads_ends_with_the_sentence(kit: Kit) -> None:
    run = kit.run("h1", RunState.RUNNING)
    with kit.context.store.writing() as db:
        db.execute(tables.job.update().values(source="playbook: 99\n"))
    kit.say(run, Status.DONE, **DONE, chunks=labkit.chunks(STREAMS))
    after = kit.now(run)
    assert after.ending is not None
    assert (after.state, after.ending.outcome) == (RunState.STORED, Outcome.INFRA_FAILED)


def test_lease_ends_with_the_purge_and_not_before(kit: Kit) -> None:
    run = kit.run("h1", RunState.RUNNING)
    kit.say(run, Status.DONE, **DONE, chunks=labkit.chunks(STREAMS))
    assert kit.leases() == {run.id}
    kit.say(run, Status.PURGED, op=OperationName.PURGE)
    assert (kit.now(run).state, kit.leases()) == (RunState.ENDED, set())


def test_new_boot_is_probed_before_the_next_run(kit: Kit) -> None:
    run = kit.run("h1", RunState.LEASED)
    kit.say(run, Status.OTHERBOOT, op=OperationName.START, boot="boot-9")
    assert kit.now(run).state is RunState.QUEUED
    with kit.context.store.reading() as db:
        (errand,) = errands.open_errands(db, labkit.NOW)
    assert (errand.op, errand.host.name) == (OperationName.PROBE, "h1")
    found = labkit.scene(boot="boot-9", facts=labkit.FACTS.replace(b"boot-1", b"boot-9"))
    kit.say(
        run, Status.CLEAN, op=OperationName.PROBE, operation=errand.id, run=None, attempt=0,
        fence=0, scene=found,
    )  # fmt: skip
    assert kit.host("h1").boot == "boot-9"


def test_probe_that_nobody_asked_for_is_a_dead_letter(kit: Kit) -> None:
    run = kit.run("h1", RunState.QUEUED)
    kit.say(
        run, Status.CLEAN, op=OperationName.PROBE, run=None, attempt=0, fence=0,
        scene=labkit.scene(boot="evil"),
    )  # fmt: skip
    assert kit.host("h1").boot == labkit.BOOT
    assert count(kit, tables.dead_letter) == 1


def test_why_a_host_needs_care_survives_its_being_unreachable(kit: Kit) -> None:
    run = kit.run("h1", RunState.REAPING, ending=CANCELLED)
    kit.say(run, Status.UNSURE, op=OperationName.REAP, left=("12 sh",))
    sentence = kit.host("h1").sentence
    kit.say(run, Status.UNREACHABLE, op=OperationName.REAP, commanded=False, detail="no answer")
    assert kit.host("h1").unreachable
    kit.say(run, Status.RUNNING, op=OperationName.POLL)
    after = kit.host("h1")
    assert (after.unreachable, after.state, after.sentence) == (
        False,
        HostState.NEEDS_CARE,
        sentence,
    )


def test_host_is_ready_again_once_what_was_left_is_proved_gone(kit: Kit) -> None:
    run = kit.run("h1", RunState.REAPING, ending=CANCELLED)
    kit.say(run, Status.UNSURE, op=OperationName.REAP, left=("12 sh",))
    assert kit.host("h1").state is HostState.NEEDS_CARE
    kit.say(run, Status.CLEAN, op=OperationName.REAP)
    assert (kit.host("h1").state, kit.now(run).state) == (HostState.READY, RunState.ENDED)


@pytest.mark.parametrize(
    ("status", "owner", "state"),
    [
        (Status.CLEAN, None, HostState.READY),
        (Status.BUSY, "own", HostState.READY),
        (Status.BUSY, "unreadable", HostState.QUARANTINED),
    ],
)
def test_quarantine_ends_when_a_probe_finds_the_pinned_key_and_no_foreign_lock(
    kit: Kit, status: Status, owner: str | None, state: HostState
) -> None:
    run = kit.run("h1", RunState.LEASED)
    kit.say(run, Status.HOSTKEY, op=OperationName.START, commanded=False, detail="another key")
    assert kit.host("h1").state is HostState.QUARANTINED
    with kit.context.store.writing() as db:
        scenes.order_probe(db, kit.host("h1"), labkit.NOW)
        (errand,) = errands.open_errands(db, labkit.NOW)
    kit.say(
        run, status, op=OperationName.PROBE, operation=errand.id, run=None, attempt=0, fence=0,
        scene=labkit.scene(),
        owner=f"{kit.context.lab}.{run.id}.1.5.b" if owner == "own" else owner,
    )  # fmt: skip
    assert kit.host("h1").state is state


@pytest.mark.parametrize(
    "owner",
    [
        "{lab}." + "a" * 32 + ".\u00b2.3.boot",
        "{lab}.zzz.1.1.boot",
        "{lab}." + "a" * 32 + ".0.1.boot",
        "{lab}." + "a" * 32 + ".1." + "9" * 30 + ".boot",
        "",
    ],
)
def test_lock_that_makes_no_sense_quarantines_and_costs_no_attempt(kit: Kit, owner: str) -> None:
    run = kit.run("h1", RunState.LEASED)
    kit.say(run, Status.BUSY, op=OperationName.START, owner=owner.format(lab=kit.context.lab))
    after = kit.now(run)
    assert (after.state, after.attempt, after.blocker) == (RunState.QUEUED, 0, None)
    assert kit.host("h1").state is HostState.QUARANTINED


def test_fence_that_makes_no_sense_quarantines_and_is_not_taken_over(kit: Kit) -> None:
    run = kit.run("h1", RunState.LEASED)
    kit.say(run, Status.STALE, op=OperationName.START, host_fence=2**53)
    assert kit.host("h1").state is HostState.QUARANTINED
    with kit.context.store.reading() as db:
        assert db.execute(select(tables.machine.c.fence)).scalar_one() < 2**52


def test_foreign_lock_puts_off_every_run_of_the_host_and_costs_no_attempt(kit: Kit) -> None:
    run = kit.run("h1", RunState.LEASED)
    other = kit.run("h1", RunState.QUEUED, attempt=0, fence=0, sends=0)
    owner = f"{'b' * 32}.{'c' * 32}.1.1.boot"
    kit.say(run, Status.BUSY, op=OperationName.START, owner=owner)
    assert kit.now(run).attempt == 0
    assert kit.now(other).next_at == kit.now(run).next_at > labkit.NOW


def test_committed_result_is_never_put_at_risk_by_a_purge_that_fails(kit: Kit) -> None:
    run = kit.run("h1", RunState.STORED, tries=9, ending=Ending(outcome=Outcome.VOID, reason="x"))
    kit.say(run, Status.PROTO, op=OperationName.PURGE, detail="the disk is read-only")
    assert kit.now(run).state is RunState.STORED
    assert kit.host("h1").state is HostState.NEEDS_CARE
    kit.say(run, Status.PURGED, op=OperationName.PURGE)
    assert kit.now(run).state is RunState.ENDED
    assert kit.host("h1").state is HostState.READY


def test_chunk_that_is_not_what_it_says_is_no_part_of_a_result(kit: Kit) -> None:
    run = kit.run("h1", RunState.RUNNING)
    wrong = tuple(one.model_copy(update={"sha256": "0" * 64}) for one in labkit.chunks(STREAMS))
    kit.say(run, Status.DONE, **DONE, chunks=wrong)
    assert kit.now(run).state is RunState.FETCHING
    assert count(kit, tables.result) == 0


def test_evidence_in_a_race_is_taken_in_once(kit: Kit) -> None:
    run = kit.run("h1", RunState.RUNNING)
    moved = replace(run, next_at=run.next_at + timedelta(seconds=5))
    with kit.context.store.writing() as db:
        assert runs.change(db, run, moved)
    kit.say(run, Status.DONE, **DONE, chunks=labkit.chunks(STREAMS))
    assert kit.now(run).state is RunState.STORED
