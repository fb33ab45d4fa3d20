"""``benchrack playbook``: the catalogue, and checks of playbooks that need no lab."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.cli import local
from orchestrator.cli.command import Desk, command, noun
from orchestrator.cli.keyring import segment
from orchestrator.cli.sheet import Cell, Column, Sheet, Tone, sentence
from orchestrator.cli.text import count, span, unit

app = noun("playbook", "Playbooks: what can be executed.")


@command(app, "list")
def list_playbooks(desk: Desk) -> None:
    """List the playbooks of the lab."""
    playbooks = desk.lab.get("playbooks")
    desk.screen.show(playbooks, playbooks_sheet(playbooks))


@command(app, "show")
def show(
    desk: Desk,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the playbook.")],
    source: Annotated[bool, typer.Option("--source", help="Print its YAML text instead.")] = False,
) -> None:
    """Show a playbook: what it measures, and what can be set."""
    path = f"playbooks/{segment(name)}"
    if source and not desk.screen.json:
        desk.screen.octets(desk.lab.get_bytes(f"{path}/source"))
        return
    playbook = desk.lab.get(path)
    desk.screen.show(playbook, *playbook_sheets(playbook))


@command(app, "check")
def check(
    desk: Desk,
    path: Annotated[
        Path, typer.Argument(metavar="FILE|DIR", help="A playbook, or a folder of them.")
    ],
) -> None:
    """Check playbooks without a lab; says file, line and column of what is wrong."""
    checked = local.check_playbooks(path)
    data = [{"name": name, "path": place} for name, place in checked]
    good = f"{count(len(checked), 'playbook')} in order"
    names = Column("PLAYBOOK", tuple(Cell(name, Tone.NAME) for name, _ in checked))
    files = Column("FILE", tuple(Cell(place) for _, place in checked))
    desk.screen.show(data, Sheet(columns=(names, files), sentences=(Cell(good, Tone.GOOD),)))


@command(app, "schema")
def schema(desk: Desk) -> None:
    """Print the JSON schema of playbooks, for editors."""
    desk.screen.data(local.playbook_schema())


def playbooks_sheet(playbooks: Sequence[Mapping[str, Any]]) -> Sheet:
    """Playbooks, a row each."""
    if not playbooks:
        return sentence("no playbooks; put some into the folder playbooks of the state folder")
    return Sheet(
        columns=(
            Column("PLAYBOOK", tuple(Cell(one["name"], Tone.NAME) for one in playbooks)),
            Column("KIND", tuple(Cell(one["kind"]) for one in playbooks)),
            Column("TITLE", tuple(Cell(one["title"]) for one in playbooks)),
        )
    )


def playbook_sheets(playbook: Mapping[str, Any]) -> tuple[Sheet, ...]:
    """A playbook, its parameters and its metrics."""
    about = Sheet(
        title=playbook["name"],
        pairs=(
            ("title", Cell(playbook["title"])),
            ("kind", Cell(playbook["kind"])),
            ("tags", Cell(" ".join(playbook["tags"]) or "none")),
            ("repeats", Cell(_repeats(playbook))),
            ("file", Cell(playbook["source_path"])),
        ),
        sentences=(Cell(playbook["notes"]),) if playbook["notes"] else (),
    )
    sheets = [about]
    if playbook["params"]:
        sheets.append(_params_sheet(playbook["params"]))
    if playbook["metrics"]:
        sheets.append(_metrics_sheet(playbook["metrics"]))
    return tuple(sheets)


def _repeats(playbook: Mapping[str, Any]) -> str:
    parts = [f"{playbook['repeats']} on each host"]
    if playbook["warmups"]:
        parts.append(f"{count(playbook['warmups'], 'warm-up')} before them")
    if playbook["pause_s"]:
        parts.append(f"{playbook['pause_s']:g} s between two runs")
    return ", ".join(parts)


def _params_sheet(params: Sequence[Mapping[str, Any]]) -> Sheet:
    return Sheet(
        title="parameters, to be set with --set NAME=VALUE",
        columns=(
            Column("NAME", tuple(Cell(param["name"], Tone.NAME) for param in params)),
            Column("TYPE", tuple(Cell(param["type"]) for param in params)),
            Column("DEFAULT", tuple(Cell(param["default"]) for param in params)),
            Column("RANGE", tuple(Cell(param["range"]) for param in params)),
            Column("UNIT", tuple(Cell(param["unit"]) for param in params)),
        ),
    )


def _metrics_sheet(metrics: Sequence[Mapping[str, Any]]) -> Sheet:
    return Sheet(
        title="metrics",
        columns=(
            Column(
                "NAME",
                tuple(
                    Cell(metric["name"], Tone.NAME if metric["primary"] else Tone.PLAIN)
                    for metric in metrics
                ),
            ),
            Column("UNIT", tuple(Cell(unit(metric["unit"])) for metric in metrics)),
            Column("ALLOWED", tuple(Cell(span(metric["valid"]) or "any") for metric in metrics)),
            Column("BETTER", tuple(Cell(metric["better"]) for metric in metrics)),
        ),
    )
