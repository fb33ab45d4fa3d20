"""A job becomes runs: one run per repeat, in blocks, hosts in seeded random order per block."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from orchestrator.contract import errors
from orchestrator.contract.domain import new_id
from orchestrator.runs import Job, Run

#: runs of one job
MAX_RUNS = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What one host executes for a job: resolved parameters and how long that takes."""

    params: Mapping[str, str]
    expected_s: float
    max_runtime_s: float


def plan(job: Job, points: Mapping[str, Point], *, now: datetime) -> tuple[Run, ...]:
    """The runs of a job in their order; the same seed gives the same order.

    Warm-ups come first on each host. Each repeat is a block in which every host occurs once, so
    that what drifts with time falls on all hosts alike.

    Raises: Misfit if the job has more than MAX_RUNS runs, or none.
    """
    total = len(job.hosts) * (job.repeats + job.warmups)
    if not total:
        raise errors.Misfit("the job has no runs: it needs a host and at least one repeat")
    if total > MAX_RUNS:
        raise errors.Misfit(
            f"the job has {total} runs ({len(job.hosts)} hosts x {job.repeats + job.warmups}); "
            f"at most {MAX_RUNS} can be queued at once: split it"
        )
    order = random.Random(job.seed)
    runs: list[Run] = []
    for block in range(1, job.warmups + job.repeats + 1):
        warmup = block <= job.warmups
        for host in order.sample(job.hosts, len(job.hosts)):
            point = points[host]
            runs.append(
                Run(
                    id=new_id(),
                    job=job.id,
                    host=host,
                    position=len(runs),
                    block=block,
                    repeat=block if warmup else block - job.warmups,
                    warmup=warmup,
                    params=point.params,
                    expected_s=point.expected_s,
                    max_runtime_s=point.max_runtime_s,
                    next_at=now,
                )
            )
    return tuple(runs)
