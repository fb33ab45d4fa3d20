"""The state machine of a run: total, and never wrong about what may have been executed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator import reconciler
from orchestrator.contract.domain import (
    HostState,
    OperationName,
    Outcome,
    RunState,
    Status,
    new_id,
)
from orchestrator.contract.messages import Evidence
from orchestrator.reconciler import clockwork
from orchestrator.runs import Ending, Run

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LAB = "a" * 32


def make_run(state: RunState, **changes: object) -> Run:
    run = Run(
        id="1" * 32,
        job="2" * 32,
        host="h1",
        position=0,
        block=1,
        repeat=1,
        expected_s=2.0,
        max_runtime_s=60.0,
        state=state,
        attempt=1,
        fence=7,
        sends=1,
        next_at=NOW,
        leased_at=NOW,
        deadline_at=NOW + timedelta(seconds=120),
    )
    return replace(run, **changes)  # type: ignore[arg-type]


def make_evidence(status: Status, **changes: object) -> Evidence:
    fields: dict[str, object] = {
        "id": new_id(),
        "operation": new_id(),
        "op": OperationName.POLL,
        "site": "main",
        "lab": LAB,
        "worker": "w",
        "host": "h1",
        "run": "1" * 32,
        "attempt": 1,
        "fence": 7,
        "status": status,
        "commanded": True,
        "at": NOW,
        "duration_s": 0.1,
    }
    return Evidence(**(fields | changes))  # type: ignore[arg-type]


def test_table_every_state_and_status_has_an_entry() -> None:
    assert set(reconciler.TABLE) == {(state, status) for state in RunState for status in Status}


@given(
    state=st.sampled_from(RunState),
    status=st.sampled_from(Status),
    sends=st.integers(0, 3),
    attempt=st.integers(1, 4),
    commanded=st.booleans(),
    cancel=st.booleans(),
    owner=st.sampled_from([None, "", "junk", f"{LAB}.{'1' * 32}.1.3.b", f"{'b' * 32}.x.1.2.b"]),
)
def test_apply_any_evidence_leaves_a_row_that_goes_on_or_has_ended(
    state: RunState,
    status: Status,
    sends: int,
    attempt: int,
    commanded: bool,
    cancel: bool,
    owner: str | None,
) -> None:
    run = make_run(state, sends=sends, attempt=attempt, cancel=cancel)
    evidence = make_evidence(status, commanded=commanded, owner=owner, attempt=attempt)
    step = reconciler.apply(run, evidence, NOW)
    after = step.run
    later = replace(after, next_at=NOW)
    waits = after.state in (RunState.QUEUED, RunState.BOOTING, RunState.ENDED)
    assert waits or reconciler.due(later, NOW) is not None
    # a lease is given back exactly where nothing of the run can be on the host any more
    assert step.release is (
        after.state in (RunState.QUEUED, RunState.ENDED) and state is not after.state
    )
    if state is RunState.ENDED:
        assert after == run
    if after.state is RunState.ENDED and state not in (RunState.ENDED, RunState.STORED):
        assert after.ending is not None


@given(status=st.sampled_from(Status), commanded=st.booleans())
def test_apply_stored_run_never_loses_its_outcome(status: Status, commanded: bool) -> None:
    ending = Ending(outcome=Outcome.FINISHED)
    run = make_run(RunState.STORED, ending=ending)
    after = reconciler.apply(run, make_evidence(status, commanded=commanded), NOW).run
    assert after.ending == ending
    assert after.state in (RunState.STORED, RunState.ENDED)


def test_unreachable_first_start_without_command_goes_back_to_the_queue() -> None:
    run = make_run(RunState.LEASED, sends=1)
    step = reconciler.apply(run, make_evidence(Status.UNREACHABLE, commanded=False), NOW)
    assert (step.run.state, step.release, step.unreachable) == (RunState.QUEUED, True, True)
    assert step.run.attempt == 0


@pytest.mark.parametrize(("sends", "commanded"), [(2, False), (1, True)])
def test_unreachable_start_that_may_have_been_executed_keeps_the_lease(
    sends: int, commanded: bool
) -> None:
    run = make_run(RunState.LEASED, sends=sends)
    step = reconciler.apply(run, make_evidence(Status.UNREACHABLE, commanded=commanded), NOW)
    assert (step.run.state, step.release) == (RunState.LEASED, False)


def test_changed_host_key_quarantines_the_host() -> None:
    evidence = make_evidence(Status.HOSTKEY, commanded=False, detail="key changed")
    step = reconciler.apply(make_run(RunState.LEASED, sends=1), evidence, NOW)
    assert (step.host_state, step.run.state) == (HostState.QUARANTINED, RunState.QUEUED)


def test_busy_by_another_lab_waits_and_says_who() -> None:
    evidence = make_evidence(Status.BUSY, owner=f"{'b' * 32}.{'3' * 32}.1.4.boot")
    step = reconciler.apply(make_run(RunState.LEASED), evidence, NOW)
    assert step.run.state is RunState.QUEUED
    assert step.run.sentence == "the host is held by lab bbbbbbbb"


def test_busy_by_an_unreadable_owner_quarantines() -> None:
    step = reconciler.apply(make_run(RunState.LEASED), make_evidence(Status.BUSY, owner="?"), NOW)
    assert step.host_state is HostState.QUARANTINED


def test_busy_by_our_own_lost_attempt_reaps_it_and_starts() -> None:
    run = make_run(RunState.LEASED)
    owner = f"{LAB}.{'3' * 32}.2.5.boot"
    blocked = reconciler.apply(run, make_evidence(Status.BUSY, owner=owner), NOW).run
    assert reconciler.due(blocked, NOW) is OperationName.REAP
    freed = reconciler.apply(blocked, make_evidence(Status.CLEAN), NOW).run
    assert reconciler.due(freed, NOW) is OperationName.START


def test_busy_by_our_own_live_run_waits_for_it() -> None:
    run = make_run(RunState.LEASED, blocker=f"{'3' * 32}.2.5")
    holder = make_run(RunState.RUNNING, id="3" * 32, attempt=2, fence=5)
    step = reconciler.blocked(run, holder, NOW)
    assert (step.run.state, step.release) == (RunState.QUEUED, True)


def test_rebooted_run_is_void_and_tried_again_up_to_its_limit() -> None:
    run = make_run(RunState.RUNNING)
    reaping = reconciler.apply(run, make_evidence(Status.REBOOTED), NOW).run
    assert reaping.state is RunState.REAPING
    again = reconciler.apply(reaping, make_evidence(Status.CLEAN), NOW)
    assert (again.run.state, again.release) == (RunState.QUEUED, True)
    last = replace(reaping, attempt=3)
    ended = reconciler.apply(last, make_evidence(Status.CLEAN, attempt=3), NOW).run
    assert ended.ending is not None
    assert (ended.state, ended.ending.outcome) == (RunState.ENDED, Outcome.VOID)


def test_cancel_of_a_queued_run_ends_it_without_an_operation() -> None:
    after = reconciler.overdue(make_run(RunState.QUEUED, cancel=True), NOW)
    assert after.ending is not None
    assert (after.state, after.ending.outcome) == (RunState.ENDED, Outcome.CANCELLED)


@pytest.mark.parametrize("state", [RunState.LEASED, RunState.RUNNING])
def test_overdue_run_is_killed_as_timed_out(state: RunState) -> None:
    after = reconciler.overdue(make_run(state), NOW + timedelta(seconds=121))
    assert after.ending is not None
    assert (after.state, after.ending.outcome) == (RunState.KILLING, Outcome.TIMED_OUT)


def test_result_that_finished_before_the_kill_is_fetched() -> None:
    ending = Ending(outcome=Outcome.CANCELLED, reason="cancelled")
    run = make_run(RunState.KILLING, ending=ending)
    step = reconciler.apply(run, make_evidence(Status.DONE, rc=0), NOW)
    assert (step.run.state, step.store) == (RunState.FETCHING, True)


@given(tries=st.integers(0, 40), jitter=st.floats(0, 1))
def test_sent_waits_longer_each_time_but_never_over_the_limit(tries: int, jitter: float) -> None:
    run = make_run(RunState.RUNNING, tries=tries)
    after = reconciler.sent(run, OperationName.POLL, NOW, jitter)
    wait = (after.next_at - NOW).total_seconds()
    assert clockwork.RESEND_FIRST <= wait <= clockwork.RESEND_MOST * 1.1
    assert (after.tries, after.sends) == (tries + 1, run.sends + 1)


def test_sent_attended_start_is_not_repeated_while_it_may_be_attending() -> None:
    run = make_run(RunState.LEASED, expected_s=9.0)
    after = reconciler.sent(run, OperationName.START, NOW, 0.0)
    assert (after.next_at - NOW).total_seconds() > reconciler.attend_s(run)


@given(elapsed=st.floats(0, 10_000), expected=st.floats(0, 10_000))
def test_running_is_not_polled_before_nine_tenths_of_the_expected_time(
    elapsed: float, expected: float
) -> None:
    run = make_run(RunState.RUNNING, expected_s=expected, started_at=NOW)
    now = NOW + timedelta(seconds=elapsed)
    after = reconciler.apply(run, make_evidence(Status.RUNNING), now).run
    assert (after.next_at - NOW).total_seconds() >= 0.9 * expected - 1e-3
