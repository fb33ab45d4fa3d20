"""Processes of the lab are killed in the middle of a run: it ends in one result all the same."""

from __future__ import annotations

import os
import signal

import pytest

from tests import services
from tests.acceptance import labs
from tests.acceptance.conftest import desk as desk  # the fixture, under its own name

#: a busy machine would make latencies under real-time priority void
QUICK = ("--pause", "0", "--noise", "note", "--set", "policy=other")


@pytest.mark.needs("sshd")
@pytest.mark.parametrize("victim", ["worker", "collector", "controller"])
def test_process_killed_in_mid_run_ends_in_one_result(
    desk: labs.Desk, sshd: services.Server, keys: services.Keys, victim: str
) -> None:
    base = sshd.folder / "base"
    desk.enrol("alpha", sshd, keys, "--base", str(base))
    job = desk.ask(
        "submit", "sched-latency-idle", "--host", "alpha", *QUICK, "--repeat", "1", "--warmup", "0",
        "--set", "samples=3000",
    )["id"]  # fmt: skip
    services.wait_for(lambda: (base / "log").exists(), "the host's begin of the run")
    os.kill(desk.pid(victim), signal.SIGKILL)
    services.wait_for(
        lambda: desk.ask("job", "show", job)["state"] == "ended", "the end of the job", within_s=90
    )

    assert desk.ask("job", "show", job)["outcomes"] == {"finished": 1}
    assert len(labs.executions(base)) == 1
    table = desk.ask("results", "sched-latency-idle", "--metric", "latency")[0]
    assert [(row["runs"], row["samples"]) for row in table["rows"]] == [(1, 3000)]
