"""``benchrack job``: what was queued."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from orchestrator.cli import text
from orchestrator.cli.command import Desk, command, noun
from orchestrator.cli.keyring import segment
from orchestrator.cli.sheet import Cell, Column, Sheet, Tone, sentence

app = noun("job", "Jobs: what was queued.")

EMPTY = "no jobs yet; queue one with: benchrack submit PLAYBOOK --host HOST"
_TONES = {
    "queued": Tone.WAIT,
    "running": Tone.BUSY,
    "cancelling": Tone.WAIT,
    "cancelled": Tone.FAINT,
}

#: what the states of runs are called where they are counted
_WORDS = {
    "leased": "running",
    "booting": "running",
    "fetching": "ending",
    "stored": "ending",
    "killing": "ending",
    "reaping": "ending",
}
_SHOWN = ("running", "ending", "queued")

Ident = Annotated[str, typer.Argument(metavar="ID", help="Its id, or the first letters of it.")]


@command(app, "list")
def list_jobs(
    desk: Desk,
    limit: Annotated[
        int, typer.Option(min=1, max=1000, help="How many jobs are listed at most.")
    ] = 20,
) -> None:
    """List the newest jobs."""
    jobs = desk.lab.get("jobs", limit=limit)
    desk.screen.show(jobs, jobs_sheet(jobs, text.utc_now()))


@command(app, "show")
def show(desk: Desk, ident: Ident) -> None:
    """Show a job and its runs."""
    job = desk.lab.get(f"jobs/{segment(ident)}")
    runs = desk.lab.get(f"jobs/{job['id']}/runs")
    desk.screen.show({**job, "runs": runs}, job_sheet(job), runs_sheet(runs))


@command(app, "cancel")
def cancel(desk: Desk, ident: Ident) -> None:
    """Cancel what has not ended of a job; finished runs stay."""
    job = desk.lab.post(f"jobs/{segment(ident)}/cancel")
    desk.screen.show(job, job_sheet(job))


def all_finished(job: Mapping[str, Any]) -> bool:
    """Whether every run of a job ended as it should."""
    return bool(job["outcomes"].get("finished", 0) == job["total"])


def progress(job: Mapping[str, Any]) -> str:
    """How far a job is, in words."""
    parts = [f"{job['done']} of {text.count(job['total'], 'run')} ended"]
    under_way: Counter[str] = Counter()
    for state, number in job["states"].items():
        under_way[_WORDS.get(state, state)] += number
    parts += [f"{under_way[word]} {word}" for word in _SHOWN if under_way[word]]
    parts += [f"{number} {kind}" for kind, number in job["outcomes"].items() if kind != "finished"]
    return ", ".join(parts)


def job_sheet(job: Mapping[str, Any]) -> Sheet:
    """All that is known of a job, and why it waits."""
    params = " ".join(f"{name}={value}" for name, value in job["params"].items())
    return Sheet(
        title=f"job {job['short_id']}",
        pairs=(
            ("playbook", Cell(job["playbook"])),
            ("parameters", Cell(params or "none")),
            ("hosts", Cell(" ".join(job["hosts"]))),
            ("repeats", Cell(str(job["repeats"]))),
            ("state", _state(job)),
            ("progress", Cell(progress(job))),
            ("queued", Cell(_moment(job["created"]))),
        ),
        sentences=tuple(Cell(reason, Tone.WAIT) for reason in job["reasons"]),
    )


def runs_sheet(runs: Sequence[Mapping[str, Any]]) -> Sheet:
    """Runs, a row each."""
    if not runs:
        return Sheet()
    return Sheet(
        columns=(
            Column("RUN", tuple(Cell(run["short_id"], Tone.NAME) for run in runs)),
            Column("HOST", tuple(Cell(run["host"]) for run in runs)),
            Column("REPEAT", tuple(Cell(repeat(run)) for run in runs), right=True),
            Column("STATE", tuple(map(run_state, runs))),
            Column("RESULT", tuple(Cell(_headline(run)) for run in runs)),
        )
    )


def repeat(run: Mapping[str, Any]) -> str:
    """Which of its repeats a run is; warm-ups are counted by themselves."""
    return f"warm-up {run['repeat']}" if run["warmup"] else str(run["repeat"])


def run_state(run: Mapping[str, Any]) -> Cell:
    """The outcome of a run, or where it is on its way."""
    if run["outcome"] is None:
        return Cell(run["state"], Tone.WAIT if run["state"] == "queued" else Tone.BUSY)
    return Cell(run["outcome"], Tone.GOOD if run["outcome"] == "finished" else Tone.BAD)


def _headline(run: Mapping[str, Any]) -> str:
    """What a run gave in short: its primary metrics, or why there are none."""
    found = [
        f"{one['name']} {one['value']:.6g} {text.unit(one['unit'])}".rstrip()
        for one in run["measurements"]
        if one["primary"]
    ]
    return ", ".join(found) or str(run["reason"])


def jobs_sheet(jobs: Sequence[Mapping[str, Any]], now: datetime) -> Sheet:
    """Jobs, a row each."""
    if not jobs:
        return sentence(EMPTY)
    return Sheet(
        columns=(
            Column("JOB", tuple(Cell(job["short_id"], Tone.NAME) for job in jobs)),
            Column("PLAYBOOK", tuple(Cell(job["playbook"]) for job in jobs)),
            Column("HOSTS", tuple(Cell(" ".join(job["hosts"])) for job in jobs)),
            Column("STATE", tuple(map(_state, jobs))),
            Column("ENDED", tuple(Cell(f"{job['done']}/{job['total']}") for job in jobs), True),
            Column("QUEUED", tuple(Cell(text.ago(job["created"], now)) for job in jobs)),
        )
    )


def _state(job: Mapping[str, Any]) -> Cell:
    if job["state"] != "ended":
        return Cell(job["state"], _TONES.get(job["state"], Tone.PLAIN))
    return Cell("finished", Tone.GOOD) if all_finished(job) else Cell("ended", Tone.BAD)


def _moment(iso: str) -> str:
    return f"{datetime.fromisoformat(iso):%Y-%m-%d %H:%M:%S} UTC"
