"""Waiting for a job: live progress, and how it ended as an exit code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import typer

from orchestrator.cli.command import Desk
from orchestrator.cli.job import all_finished, progress
from orchestrator.cli.results import show_tables
from orchestrator.cli.screen import Screen
from orchestrator.cli.text import safe
from orchestrator.contract import errors

if TYPE_CHECKING:
    from rich.console import RenderableType

#: seconds between two looks
_LOOK_S: Final = 0.25

Job = Mapping[str, Any]


def until_ended(desk: Desk, job: Job) -> None:
    """Show a job's progress until it has ended, then its results.

    Raises: LabError if all that is left waits for hosts that cannot be used; Exit with code 1 if
    not all runs finished, or if the operator stops waiting.
    """
    try:
        job = watch(desk, job)
    except KeyboardInterrupt as error:
        short = job["short_id"]
        desk.screen.say(
            f"job {short} goes on without you; see it with: benchrack job show {short}, "
            f"end it with: benchrack job cancel {short}"
        )
        raise typer.Exit(1) from error
    if desk.screen.json:
        desk.screen.data(job)
    elif job["state"] == "cancelled" and not job["outcomes"].get("finished"):
        desk.screen.say(f"job {job['short_id']} was cancelled; no run counted")
        raise typer.Exit(1)
    elif job["outcomes"]:
        show_tables(desk, {"job": job["id"]})
    if not all_finished(job):
        for reason in job["reasons"]:
            desk.screen.say(reason)
        raise typer.Exit(1)


def watch(desk: Desk, job: Job) -> Job:
    """Show a job's progress until it has ended; the job as it is then.

    Raises: LabError if all that is left waits for hosts that cannot be used.
    """
    with _progress(desk.screen) as show:
        while True:
            job = desk.lab.get(f"jobs/{job['id']}")
            show(job)
            if job["done"] == job["total"]:
                return job
            if job["blocked"] and not _under_way(job):
                raise errors.HostError(
                    f"job {job['short_id']} stays queued, as its hosts cannot be used now: "
                    f"{'; '.join(job['reasons'])}"
                )
            time.sleep(_LOOK_S)


def _under_way(job: Job) -> bool:
    return any(state not in ("queued", "ended") for state in job["states"])


@contextmanager
def _progress(screen: Screen) -> Iterator[Callable[[Job], None]]:
    """What shows each new state of a job: one line redrawn, or a line for each change."""
    if not screen.lively:
        yield _line_by_line(screen)
        return
    from rich.live import Live

    with Live(console=screen.progress, transient=True, refresh_per_second=8) as live:
        yield lambda job: live.update(_bar(job))


def _line_by_line(screen: Screen) -> Callable[[Job], None]:
    said: list[Sequence[str]] = [()]

    def show(job: Job) -> None:
        lines = [f"job {job['short_id']}: {progress(job)}", *job["reasons"]]
        for line in lines:
            if line not in said[-1]:
                screen.say(line)
        said[-1] = lines

    return show


def _bar(job: Job) -> RenderableType:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.spinner import Spinner
    from rich.table import Table
    from rich.text import Text

    row = Table.grid(padding=(0, 1))
    row.add_row(
        Spinner("dots"),
        Text(f"job {job['short_id']}", style="bold"),
        ProgressBar(total=max(1, job["total"]), completed=job["done"], width=24),
        Text(safe(progress(job))),
    )
    reasons = [Text(f"  {safe(reason)}", style="yellow") for reason in job["reasons"][:5]]
    return Group(row, *reasons)
