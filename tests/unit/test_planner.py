"""Jobs become runs: complete, in blocks, in a seeded order."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contract import errors
from orchestrator.contract.domain import NoisePolicy
from orchestrator.planner import MAX_RUNS, Point, plan
from orchestrator.runs import Job

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def make_job(hosts: tuple[str, ...], repeats: int, warmups: int = 0, seed: int = 1) -> Job:
    return Job(
        id="j" * 32,
        created_at=NOW,
        user="",
        playbook="p",
        source="",
        given={},
        hosts=hosts,
        repeats=repeats,
        warmups=warmups,
        pause_s=0.0,
        noise=NoisePolicy.NOTE,
        seed=seed,
    )


def points(hosts: tuple[str, ...]) -> dict[str, Point]:
    return {host: Point(params={}, expected_s=1.0, max_runtime_s=2.0) for host in hosts}


@given(
    count=st.integers(1, 6),
    repeats=st.integers(1, 8),
    warmups=st.integers(0, 3),
    seed=st.integers(0, 2**31),
)
def test_plan_each_block_holds_every_host_once(
    count: int, repeats: int, warmups: int, seed: int
) -> None:
    hosts = tuple(f"h{n}" for n in range(count))
    made = plan(make_job(hosts, repeats, warmups, seed), points(hosts), now=NOW)
    assert Counter((run.block, run.host) for run in made) == Counter(
        (block, host) for block in range(1, repeats + warmups + 1) for host in hosts
    )
    assert [run.position for run in made] == list(range(len(made)))
    assert sum(run.warmup for run in made) == warmups * count
    assert all(run.warmup == (run.block <= warmups) for run in made)


def test_plan_same_seed_gives_the_same_order() -> None:
    hosts = tuple(f"h{n}" for n in range(5))
    orders = [
        [run.host for run in plan(make_job(hosts, 4, seed=seed), points(hosts), now=NOW)]
        for seed in (7, 7, 8)
    ]
    assert orders[0] == orders[1] != orders[2]


def test_plan_too_many_runs_is_refused() -> None:
    with pytest.raises(errors.Misfit, match="at most 5000"):
        plan(make_job(("h",), MAX_RUNS + 1), points(("h",)), now=NOW)


def test_plan_without_a_host_is_refused() -> None:
    with pytest.raises(errors.Misfit, match="needs a host"):
        plan(make_job((), 3), {}, now=NOW)
