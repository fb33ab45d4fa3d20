"""``benchrack status``: the lab at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import typer

from orchestrator.cli import text
from orchestrator.cli.command import Desk, command
from orchestrator.cli.host import hosts_sheet
from orchestrator.cli.job import runs_sheet
from orchestrator.cli.sheet import Cell, Column, Sheet, Tone


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "status")(status)


def status(desk: Desk) -> None:
    """Show the lab at a glance: hosts, what runs, what waits and why."""
    lab = desk.lab.get("status")
    desk.screen.show(lab, *status_sheets(lab))


def status_sheets(lab: Mapping[str, Any]) -> tuple[Sheet, ...]:
    """Hosts, what runs, what waits, and the sum of it all."""
    sheets = [hosts_sheet(lab["hosts"])]
    if lab["running"]:
        sheets.append(runs_sheet(lab["running"]))
    if lab["waiting"]:
        sheets.append(_waiting_sheet(lab))
    return (*sheets, _summary_sheet(lab))


def _waiting_sheet(lab: Mapping[str, Any]) -> Sheet:
    waiting = lab["waiting"]
    more = lab["queued"] - sum(one["runs"] for one in waiting)
    return Sheet(
        columns=(
            Column("WAITING", tuple(Cell(text.count(one["runs"], "run")) for one in waiting)),
            Column("HOST", tuple(Cell(one["host"], Tone.NAME) for one in waiting)),
            Column("PLAYBOOK", tuple(Cell(one["playbook"]) for one in waiting), wrap=True),
            Column("FOR", tuple(Cell(one["why"], Tone.WAIT) for one in waiting)),
        ),
        sentences=(Cell(f"and {more} more"),) if more > 0 else (),
    )


def _summary_sheet(lab: Mapping[str, Any]) -> Sheet:
    numbers = ", ".join(_counted(*one) for one in lab["counts"].items() if one[1])
    return Sheet(
        sentences=(
            Cell(f"{len(lab['running'])} running, {lab['queued']} queued; in all: {numbers}"),
            *(_site(site) for site in lab["sites"]),
        )
    )


def _counted(what: str, number: int) -> str:
    return text.count(number, what[:-1]) if what.endswith("s") else f"{number} {what}"


def _site(site: Mapping[str, Any]) -> Cell:
    age = site["echo_age_s"]
    if age is None:
        return Cell(f"site {site['name']}: no worker answered yet", Tone.WAIT)
    since = text.duration(timedelta(seconds=age))
    return Cell(f"site {site['name']}: its worker answered {since} ago", Tone.FAINT)
