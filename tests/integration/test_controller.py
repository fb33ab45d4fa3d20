"""The controller's turns: leases, and what a single bad run cannot do to the others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from orchestrator.contract import broker as contract_broker
from orchestrator.contract.domain import HostState, Outcome, RunState
from orchestrator.controller import Controller
from orchestrator.runs import Ending
from orchestrator.service import scenes
from orchestrator.store import hosts, runs, tables
from tests.integration import labkit
from tests.integration.labkit import NOW, Kit

Make = Callable[[Kit], Controller]


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    made = labkit.make(tmp_path)
    made.enrol("h1")
    yield made
    made.context.store.close()


@pytest.fixture
def controller(broker: str) -> Make:
    """Controllers on a broker that no worker listens to: what is sent gets no answer."""
    key = Ed25519PrivateKey.generate()
    app = contract_broker.make_app(broker, role="test", sites=("main",))
    return lambda kit: Controller(kit.context, app, key)


def test_waiting_run_is_leased_and_its_start_is_written_down_before_it_is_sent(
    kit: Kit, controller: Make
) -> None:
    run = kit.run("h1", RunState.QUEUED, attempt=0, fence=0, sends=0)
    controller(kit).turn()
    after = kit.now(run)
    assert (after.state, after.attempt, after.fence, after.sends) == (RunState.LEASED, 1, 1, 1)
    assert after.next_at > NOW
    with kit.context.store.reading() as db:
        script = runs.script(db, run.id, 1)
    assert script is not None
    assert script.startswith(b"#!/bin/sh")


def test_lost_start_is_sent_again_when_its_time_is_up_and_not_before(
    kit: Kit, controller: Make
) -> None:
    run = kit.run("h1", RunState.QUEUED, attempt=0, fence=0, sends=0)
    control = controller(kit)
    control.turn()
    control.turn()
    assert kit.now(run).sends == 1
    due = kit.now(run).next_at + timedelta(seconds=1)
    later = Kit(replace(kit.context, now=lambda: due))
    controller(later).turn()
    assert kit.now(run).sends == 2


def test_one_machine_is_leased_once_by_many_controllers(kit: Kit, controller: Make) -> None:
    waiting = [kit.run("h1", RunState.QUEUED, attempt=0, fence=0, sends=0) for _ in range(4)]
    threads = [threading.Thread(target=controller(kit).turn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    states = [kit.now(run).state for run in waiting]
    assert states.count(RunState.LEASED) == len(kit.leases()) == 1
    assert states.count(RunState.QUEUED) == 3


def test_two_names_of_one_machine_share_its_lease(kit: Kit, controller: Make) -> None:
    kit.enrol("h2")
    both = [kit.run(name, RunState.QUEUED, attempt=0, fence=0, sends=0) for name in ("h1", "h2")]
    controller(kit).turn()
    assert [kit.now(run).state for run in both] == [RunState.LEASED, RunState.QUEUED]


def test_run_whose_playbook_cannot_be_read_ends_and_the_next_goes_on(
    kit: Kit, controller: Make
) -> None:
    bad = kit.run("h1", RunState.QUEUED, attempt=0, fence=0, sends=0)
    with kit.context.store.writing() as db:
        db.execute(tables.job.update().values(source="playbook: 99\n"))
    good = kit.run("h1", RunState.QUEUED, attempt=0, fence=0, sends=0)
    controller(kit).turn()
    ended = kit.now(bad)
    assert ended.ending is not None
    assert (ended.state, ended.ending.outcome) == (RunState.ENDED, Outcome.INFRA_FAILED)
    assert "cannot be prepared" in ended.ending.reason
    assert kit.now(good).state is RunState.LEASED


def test_run_whose_numbers_overflow_ends_and_the_next_goes_on(kit: Kit, controller: Make) -> None:
    bad = kit.run("h1", RunState.QUEUED, attempt=0, fence=0, sends=0, max_runtime_s=1e300)
    good = kit.run("h1", RunState.QUEUED, attempt=0, fence=0, sends=0)
    controller(kit).turn()
    assert (kit.now(bad).state, kit.now(good).state) == (RunState.ENDED, RunState.LEASED)


def test_run_that_cannot_be_operated_is_put_off_with_the_reason(kit: Kit, controller: Make) -> None:
    kit.enrol("h2", instance="other", boot="boot-2")
    bad = kit.run("h1", RunState.LEASED, sends=0, blocker="no.such.owner")
    good = kit.run("h2", RunState.QUEUED, attempt=0, fence=0, sends=0)
    controller(kit).turn()
    assert "cannot be operated" in kit.now(bad).sentence
    assert kit.now(bad).next_at > NOW
    assert kit.now(good).state is RunState.LEASED


def test_host_that_is_being_probed_gets_no_run(kit: Kit, controller: Make) -> None:
    run = kit.run("h1", RunState.QUEUED, attempt=0, fence=0, sends=0)
    with kit.context.store.writing() as db:
        scenes.order_probe(db, kit.host("h1"), NOW)
    controller(kit).turn()
    assert kit.now(run).state is RunState.QUEUED


@pytest.mark.parametrize(
    "state", [HostState.QUARANTINED, HostState.NEEDS_CARE, HostState.MAINTENANCE]
)
def test_host_that_is_not_ready_gets_no_run(kit: Kit, controller: Make, state: HostState) -> None:
    run = kit.run("h1", RunState.QUEUED, attempt=0, fence=0, sends=0)
    with kit.context.store.writing() as db:
        hosts.update_host(db, "h1", state=state)
    controller(kit).turn()
    assert kit.now(run).state is RunState.QUEUED


def test_first_run_of_a_job_does_not_wait_for_its_pause(kit: Kit, controller: Make) -> None:
    run = kit.run("h1", RunState.QUEUED, attempt=0, fence=0, sends=0)
    with kit.context.store.writing() as db:
        db.execute(tables.job.update().values(pause_s=1e300))
    controller(kit).turn()
    assert kit.now(run).state is RunState.LEASED


def test_pause_of_a_job_is_kept_between_its_runs(kit: Kit, controller: Make) -> None:
    run = kit.run("h1", RunState.QUEUED, attempt=0, fence=0, sends=0)
    with kit.context.store.writing() as db:
        db.execute(tables.job.update().values(pause_s=10.0))
        past = replace(run, id="e" * 32, position=1, state=RunState.ENDED, ended_at=NOW)
        db.execute(tables.run.insert().values(runs.run_values(past)))
    controller(kit).turn()
    assert kit.now(run).state is RunState.QUEUED
    rested = Kit(replace(kit.context, now=lambda: NOW + timedelta(seconds=11)))
    controller(rested).turn()
    assert kit.now(run).state is RunState.LEASED


def test_cancelled_run_that_waits_ends_without_a_lease(kit: Kit, controller: Make) -> None:
    run = kit.run("h1", RunState.QUEUED, attempt=0, fence=0, sends=0, cancel=True)
    controller(kit).turn()
    ending = Ending(outcome=Outcome.CANCELLED, reason="cancelled before it was started")
    assert (kit.now(run).state, kit.now(run).ending, kit.leases()) == (
        RunState.ENDED,
        ending,
        set(),
    )
