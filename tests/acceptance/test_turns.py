"""Two names of one machine take turns, whatever it is that tells that they are one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests import services
from tests.acceptance import labs, logins

JOB = (
    "--set",
    "policy=other",
    "--set",
    "samples=400",
    "--pause",
    "0",
    "--noise",
    "note",
    "--warmup",
    "0",
    "--repeat",
    "2",
)


def submit_to_each(desk: labs.Desk) -> list[str]:
    """One job a host, submitted at once."""
    return [
        desk.ask("submit", "sched-latency-idle", "--host", name, *JOB)["id"]
        for name in ("alpha", "beta")
    ]


def ended(desk: labs.Desk, jobs: list[str]) -> bool:
    return all(desk.ask("job", "show", job)["state"] == "ended" for job in jobs)


def base_of(desk: labs.Desk, server: services.Server) -> Path:
    """Where a host keeps its runs when nobody says where."""
    if server.user == "root":
        return Path("/var/lib/benchrack/0")
    return server.folder.parent / "home" / ".benchrack"


@pytest.mark.needs("root", "dropbear")
@pytest.mark.parametrize("second", [logins.of_root, logins.ordinary], ids=["root", "ordinary"])
def test_two_names_without_machine_ids_never_overlap(
    desk: labs.Desk,
    keys: services.Keys,
    second: Callable[[services.Keys], AbstractContextManager[services.Server]],
) -> None:
    with logins.of_root(keys) as one, second(keys) as other:
        for name, server in (("alpha", one), ("beta", other)):
            desk.enrol(name, server, keys)
        machines = {host["machine"] for host in desk.ask("host", "list")}
        assert len(machines) == 1
        jobs = submit_to_each(desk)
        services.wait_for(lambda: ended(desk, jobs), "the end of both jobs", within_s=120)
        runs = {run["id"] for job in jobs for run in desk.ask("job", "show", job)["runs"]}
        done = [
            one
            for one in labs.executions(*{base_of(desk, one), base_of(desk, other)})
            if one.run in runs
        ]
    assert len(done) == len(runs) == 4
    assert labs.overlaps(done) == []


@pytest.mark.needs("sshd")
def test_two_labs_on_one_host_never_overlap_and_say_who_holds_it(
    desk: labs.Desk, sshd: services.Server, keys: services.Keys, tmp_path: Path
) -> None:
    base = sshd.folder / "base"
    with labs.running(tmp_path / "other") as other:
        for lab in (desk, other):
            lab.enrol("alpha", sshd, keys, "--base", str(base))
        jobs = [
            lab.ask(
                "submit", "sched-latency-idle", "--host", "alpha",
                *("--set", "policy=other", "--set", "samples=3000", "--repeat", "2"),
                *("--warmup", "0", "--pause", "0", "--noise", "note"),
            )["id"]
            for lab in (desk, other)
        ]  # fmt: skip
        services.wait_for(
            lambda: any(
                "held by lab" in reason
                for lab, job in zip((desk, other), jobs, strict=True)
                for reason in lab.ask("job", "show", job)["reasons"]
            ),
            "one lab that says who holds the host",
            within_s=60,
        )
        for lab, job in zip((desk, other), jobs, strict=True):
            services.wait_for(
                lambda lab=lab, job=job: ended(lab, [job]), "the end of both jobs", within_s=120
            )
    done = labs.executions(base)
    assert len(done) == 4
    assert labs.overlaps(done) == []
