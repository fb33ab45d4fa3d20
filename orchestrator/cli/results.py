"""``benchrack results`` and ``benchrack export``: the tables per host and kernel."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.cli import files
from orchestrator.cli.command import Desk, command
from orchestrator.cli.screen import Screen
from orchestrator.cli.sheet import sentence
from orchestrator.cli.text import count
from orchestrator.contract import errors

EMPTY = "no results yet; make some with: benchrack submit PLAYBOOK --host HOST --wait"

NONE_SUCH = "no results of these yet; see what there is with: benchrack results"

Playbook = Annotated[
    str | None, typer.Argument(metavar="PLAYBOOK", help="Only results of this playbook.")
]
Metric = Annotated[str | None, typer.Option(metavar="NAME", help="Only this metric.")]
Hosts = Annotated[
    list[str] | None, typer.Option("--host", help="Only results of this host; may be repeated.")
]
Job = Annotated[str | None, typer.Option(metavar="ID", help="Only results of this job.")]


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


_SUFFIXES = {
    ".csv": Exported.CSV,
    ".txt": Exported.MAIL,
    ".eml": Exported.MAIL,
    ".mail": Exported.MAIL,
}


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
    every: Annotated[
        bool, typer.Option("--all", help="Show all metrics, not only the primary one.")
    ] = False,
    form: Annotated[
        Shown, typer.Option("--format", help="Table, or text for a mail, or a row per run.")
    ] = Shown.TABLE,
) -> None:
    """Show the results, a row per host and kernel."""
    query = {"playbook": playbook, "metric": metric, "host": host, "job": job}
    if desk.screen.json:
        desk.screen.data(desk.lab.get("results", **query))
    elif form is Shown.TABLE:
        show_tables(desk, query, every=every or metric is not None)
    else:
        found = desk.lab.get_bytes("export", format=str(form), **query)
        _show_text(desk.screen, found, query)


def show_tables(desk: Desk, query: Mapping[str, Any], *, every: bool = False) -> None:
    """Print the tables of a query: of all metrics, or of those that stand for their playbook."""
    primary = None if every else True
    asked = {"format": "plain", "primary": primary, "width": min(desk.screen.width, 400), **query}
    _show_text(desk.screen, desk.lab.get_bytes("results", **asked), query)
    if not every:
        tables = desk.lab.get("results", **query)
        shown = any(table["primary"] for table in tables)
        secondary = [table["metric"] for table in tables if not table["primary"]]
        others = dict.fromkeys(filter(None, secondary))
        if shown and others:
            desk.screen.say(
                f"also measured: {', '.join(others)}; see them with --all or --metric NAME"
            )


def _show_text(screen: Screen, found: bytes, query: Mapping[str, Any]) -> None:
    if found.strip():
        screen.text(found.decode())
    else:
        screen.show([], sentence(NONE_SUCH if any(query.values()) else EMPTY))


def export(
    desk: Desk,
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="File to write; - is standard output.")
    ],
    form: Annotated[
        Exported | None,
        typer.Option(
            "--format", help="A row per run, a row per table row, or text. [default: by FILE's end]"
        ),
    ] = None,
    playbook: Annotated[str | None, typer.Option(help="Only results of this playbook.")] = None,
    metric: Metric = None,
    host: Hosts = None,
    job: Job = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write the results to a file: *.csv, or for a mail *.txt, *.eml or *.mail."""
    form = form or _by_suffix(file)
    path = Path(file)
    if file != "-" and path.is_file() and not force:
        raise errors.InputError(f"{path}: is there already; give --force to replace it")
    query = {"playbook": playbook, "metric": metric, "host": host, "job": job}
    data = desk.lab.get_bytes("export", format=str(form), **query)
    if file == "-":
        desk.screen.octets(data)
        return
    files.write(path, data)
    said = {"file": str(path.absolute()), "format": str(form), "bytes": len(data)}
    desk.screen.show(said, sentence(f"{path}: {count(len(data), 'byte')} written"))


def _by_suffix(file: str) -> Exported:
    """The format that the end of a file's name stands for.

    Raises: InputError.
    """
    form = _SUFFIXES.get(Path(file).suffix.lower())
    if form is None:
        raise errors.InputError(
            f"{file}: this name tells no format; give --format {', '.join(Exported)}"
        )
    return form
