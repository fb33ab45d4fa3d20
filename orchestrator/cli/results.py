"""``benchrack results`` and ``benchrack export``: the tables per host and kernel."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.cli import files
from orchestrator.cli.command import Desk, command
from orchestrator.cli.sheet import sentence
from orchestrator.cli.text import count

EMPTY = "no results yet; make some with: benchrack submit PLAYBOOK --host HOST --wait"

Playbook = Annotated[
    str | None, typer.Argument(metavar="PLAYBOOK", help="Only results of this playbook.")
]
Metric = Annotated[str | None, typer.Option(help="Only this metric.")]
Hosts = Annotated[list[str] | None, typer.Option("--host", help="Only of this host; repeatable.")]
Job = Annotated[str | None, typer.Option(metavar="ID", help="Only of this job.")]


class Shown(StrEnum):
    """How results are shown."""

    TABLE = "table"
    MAIL = "mail"
    CSV = "csv"


class Exported(StrEnum):
    """What results are exported as."""

    CSV = "csv"
    CSV_SUMMARY = "csv-summary"
    MAIL = "mail"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "results")(results)
    command(app, "export")(export)


def results(
    desk: Desk,
    playbook: Playbook = None,
    metric: Metric = None,
    host: Hosts = None,
    job: Job = None,
    form: Annotated[Shown, typer.Option("--format", help="How they are shown.")] = Shown.TABLE,
) -> None:
    """Show the results, a row per host and kernel."""
    query = {"playbook": playbook, "metric": metric, "host": host, "job": job}
    show_tables(desk, query, form)


def show_tables(desk: Desk, query: dict[str, Any], form: Shown = Shown.TABLE) -> None:
    """Print the tables of a query."""
    if desk.screen.json:
        desk.screen.data(desk.lab.get("results", **query))
        return
    if form is Shown.TABLE:
        found = desk.lab.get_bytes("results", format="plain", **query)
    else:
        found = desk.lab.get_bytes("export", format=str(form), **query)
    if found.strip():
        desk.screen.text(found.decode())
    else:
        desk.screen.show([], sentence(EMPTY))


def export(
    desk: Desk,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="Where to; - is the screen.")],
    form: Annotated[Exported, typer.Option("--format", help="As what.")],
    playbook: Annotated[str | None, typer.Option(help="Only results of this playbook.")] = None,
    metric: Metric = None,
    host: Hosts = None,
    job: Job = None,
) -> None:
    """Write the results to a file."""
    query = {"playbook": playbook, "metric": metric, "host": host, "job": job}
    data = desk.lab.get_bytes("export", format=str(form), **query)
    if file == "-":
        desk.screen.octets(data)
        return
    path = Path(file)
    files.write(path, data)
    said = {"file": str(path.absolute()), "format": str(form), "bytes": len(data)}
    desk.screen.show(said, sentence(f"{path}: {count(len(data), 'byte')} written"))
