"""``benchrack submit``: queue a job, and wait for it if asked to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.cli import files, wait
from orchestrator.cli.command import Desk, command
from orchestrator.cli.job import job_sheet
from orchestrator.cli.sheet import Cell, Sheet, Tone
from orchestrator.cli.text import count
from orchestrator.contract import errors
from orchestrator.contract.domain import NoisePolicy


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "submit")(submit)


def submit(
    desk: Desk,
    playbook: Annotated[
        str,
        typer.Argument(metavar="PLAYBOOK|FILE", help="Its name, or a file *.yaml that holds it."),
    ],
    host: Annotated[
        list[str] | None, typer.Option(help="Host to execute it on; may be repeated.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="All hosts with this tag; may be repeated.")
    ] = None,
    assign: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Value of a parameter; may be repeated. playbook show NAME lists them.",
        ),
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, help="Runs on each host. [default: as the playbook says]")
    ] = None,
    warmup: Annotated[
        int | None,
        typer.Option(
            min=0, help="Runs on each host first that do not count. [default: as the playbook says]"
        ),
    ] = None,
    pause: Annotated[
        float | None,
        typer.Option(
            min=0, help="Seconds between two runs of a host. [default: as the playbook says]"
        ),
    ] = None,
    noise: Annotated[
        NoisePolicy | None,
        typer.Option(
            help="Whether a host that is not quiet voids a run, or is noted. [default: refuse]"
        ),
    ] = None,
    priority: Annotated[
        int | None,
        typer.Option(min=0, max=100, help="Jobs of a higher one go first. [default: 50]"),
    ] = None,
    wait_: Annotated[
        bool, typer.Option("--wait", help="Wait for the end and show the results.")
    ] = False,
) -> None:
    """Queue a playbook on hosts.

    With --wait: exit code 0 if all runs finished, 1 if not, 4 if what is left waits for a host
    that cannot be used.
    """
    order = {
        "hosts": host or [],
        "tags": tag or [],
        "params": _assignments(assign or []),
        "repeats": repeat,
        "warmups": warmup,
        "pause_s": pause,
        "noise": noise,
        "priority": priority,
        **_playbook(playbook),
    }
    job = desk.lab.post("jobs", {name: value for name, value in order.items() if value is not None})
    if wait_:
        desk.screen.say(_queued(job))
        wait.until_ended(desk, job)
    else:
        follow = Cell(f"follow it with: benchrack job show {job['short_id']}", Tone.FAINT)
        desk.screen.show(job, job_sheet(job), Sheet(sentences=(follow,)))


def _queued(job: Mapping[str, Any]) -> str:
    runs = count(job["total"], "run")
    return f"job {job['short_id']}: {runs} of {job['playbook']} on {', '.join(job['hosts'])}"


def _playbook(given: str) -> dict[str, str]:
    """A playbook by its name, or by its text where a file is meant."""
    path = Path(given)
    if "/" not in given and path.suffix not in (".yaml", ".yml"):
        if "." in given and path.is_file():
            raise errors.PlaybookError(
                f"{given}: a file with a playbook ends in .yaml; give ./{given} if this is one"
            )
        return {"playbook": given}
    try:
        return {"source": files.read(path).decode(), "source_name": given}
    except UnicodeDecodeError as error:
        raise errors.PlaybookError(f"{path}: is not text in UTF-8") from error


def _assignments(given: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for assignment in given:
        name, equals, value = assignment.partition("=")
        if not name or not equals:
            raise errors.InputError(f"--set {assignment}: give it as NAME=VALUE")
        if name in values:
            raise errors.InputError(f"--set {name}: given twice")
        values[name] = value
    return values
