"""``benchrack demo``: the main job from enrolment to table, by nothing but the lab's API."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import typer

from orchestrator.cli import files, results, wait
from orchestrator.cli.command import Desk
from orchestrator.cli.job import all_finished
from orchestrator.cli.text import count
from orchestrator.contract import errors

REPEATS: Final = 3
#: what the importer calls the host of a mail that names none
IMPORTED: Final = "imported"
#: seconds that cancelled runs may take until nothing of them is left on their host
_CANCEL_S: Final = 30.0
_LOOK_S: Final = 0.1

Job = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A host that can be enrolled; ``key`` is a name in the key folder of the site."""

    name: str
    address: str
    port: int
    user: str
    key: str
    fingerprint: str


def perform(desk: Desk, places: Sequence[Place], mails: Mapping[str, bytes], *, port: int) -> None:
    """Enrol hosts, queue two jobs, wait, show the tables, and those of the mails.

    ``port``: where an iperf server may listen on the hosts.

    Raises: LabError; Exit with code 1 if not all runs finished.
    """
    try:
        _cancel(desk, _open_jobs(desk))
        _enrol(desk, places)
        ended = [_follow(desk, job) for job in _submit(desk, places, port)]
    except KeyboardInterrupt:
        desk.screen.say("ending: what is under way is cancelled, and removed from its host")
        _cancel(desk, _open_jobs(desk))
        raise
    _export(desk)
    _import(desk, mails)
    _say_what_next(desk)
    if not all(map(all_finished, ended)):
        desk.screen.say(unfinished(ended))
        raise typer.Exit(1)


def _enrol(desk: Desk, places: Sequence[Place]) -> None:
    known = {host["name"] for host in desk.lab.get("hosts")}
    for place in places:
        if place.name not in known:
            desk.lab.post(
                "hosts",
                {
                    "name": place.name,
                    "address": place.address,
                    "port": place.port,
                    "user": place.user,
                    "key": place.key,
                    "fingerprint": place.fingerprint,
                },
            )
        desk.screen.say(
            f"host {place.name}: {place.user}@{place.address}:{place.port}, "
            f"host key {place.fingerprint}"
        )
    desk.screen.say("both are this machine, reached over SSH; their runs take turns")


def _submit(desk: Desk, places: Sequence[Place], port: int) -> list[Job]:
    common = {
        "hosts": [place.name for place in places],
        "repeats": REPEATS,
        "warmups": 0,
        "pause_s": 0,
        "noise": "note",
    }
    return [
        desk.lab.post("jobs", {"playbook": playbook, "params": params, **common})
        for playbook, params in (
            # real-time priority would make the noise of a machine in use a reason to refuse
            (
                "sched-latency-idle",
                {"samples": "1000", "interval_us": "1000", "policy": "other"},
            ),
            ("loopback-throughput", {"streams": "10", "seconds": "1", "port": str(port)}),
        )
    ]


def _follow(desk: Desk, job: Job) -> Job:
    job = wait.watch(desk, job)
    desk.screen.text("")
    results.show_tables(desk, {"job": job["id"]})
    return job


def _export(desk: Desk) -> None:
    path = desk.settings.state / "results.csv"
    files.write(path, desk.lab.get_bytes("export", format="csv"))
    desk.screen.say(f"every measurement as CSV: {path}")


def _import(desk: Desk, mails: Mapping[str, bytes]) -> None:
    for name, content in mails.items():
        # a demo that was here before has imported them
        with contextlib.suppress(errors.WrongState):
            desk.lab.post_bytes("imports/mail", content, name=name)
    desk.screen.text("\nTwo mails of the Linux kernel list, imported:\n")
    results.show_tables(desk, {"host": IMPORTED})


def _open_jobs(desk: Desk) -> list[Job]:
    return [job for job in desk.lab.get("jobs", limit=1000) if job["done"] < job["total"]]


def _cancel(desk: Desk, jobs: Sequence[Job]) -> None:
    for job in jobs:
        desk.lab.post(f"jobs/{job['id']}/cancel")
    deadline = time.monotonic() + _CANCEL_S
    while jobs and _open_jobs(desk):
        if time.monotonic() > deadline:
            desk.screen.say("a cancelled run has not ended yet; the next demo goes on with it")
            return
        time.sleep(_LOOK_S)


def unfinished(jobs: Sequence[Job]) -> str:
    """How many runs of jobs did not finish, in a sentence."""
    total = sum(job["total"] for job in jobs)
    left = total - sum(job["outcomes"].get("finished", 0) for job in jobs)
    return f"{left} of {count(total, 'run')} did not finish (see left out above)"


def _say_what_next(desk: Desk) -> None:
    command = shlex.quote(_shown(Path(sys.argv[0])))
    state = shlex.quote(str(desk.settings.state))
    desk.screen.text(
        "\n".join(
            (
                "",
                f"What the lab knows stays in {desk.settings.state}.",
                "See it again, with the lab in one terminal:",
                f"  {command} up --state {state}",
                "and in another:",
                f"  {command} results --state {state}",
                "Print the mails back:",
                f"  {command} results loopback-throughput --host {IMPORTED} --format mail "
                f"--state {state}",
                "Queue runs on hosts of your own:",
                f"  {command} up &",
                f"  {command} host add NAME --address ADDRESS --user USER --key FILE",
                f"  {command} submit sched-latency-idle --host NAME --wait",
            )
        )
    )


def _shown(program: Path) -> str:
    here = Path.cwd()
    return str(program.relative_to(here) if program.is_relative_to(here) else program)
