"""``benchrack run``: single runs, what they gave and what they left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from orchestrator.cli.command import Desk, command, noun
from orchestrator.cli.job import Ident, repeat, run_state
from orchestrator.cli.keyring import segment
from orchestrator.cli.sheet import Cell, Column, Sheet, Tone, sentence
from orchestrator.cli.text import unit

app = noun("run", "Runs: one execution on one host each.")


@command(app, "show")
def show(desk: Desk, ident: Ident) -> None:
    """Show a run: where it is, how it ended, what it measured."""
    run = desk.lab.get(f"runs/{segment(ident)}")
    desk.screen.show(run, *run_sheets(run))


@command(app, "raw")
def raw(
    desk: Desk,
    ident: Ident,
    stream: Annotated[
        str | None, typer.Argument(metavar="STREAM", help="Which one; without it, all are listed.")
    ] = None,
) -> None:
    """Print a stream of a run, byte for byte as the host left it."""
    path = f"runs/{segment(ident)}"
    if stream is None or desk.screen.json:
        streams = desk.lab.get(f"{path}/streams")
        desk.screen.show(streams, _streams_sheet(streams, ident))
    else:
        desk.screen.octets(desk.lab.get_bytes(f"{path}/raw", stream=stream))


@command(app, "script")
def script(desk: Desk, ident: Ident) -> None:
    """Print the script that the host was given; it can be executed by hand."""
    found = desk.lab.get_bytes(f"runs/{segment(ident)}/script")
    if desk.screen.json:
        desk.screen.data({"script": found.decode()})
    else:
        desk.screen.octets(found)


def run_sheets(run: Mapping[str, Any]) -> tuple[Sheet, ...]:
    """A run and its measurements."""
    sentences = [Cell(run["reason"], run_state(run).tone)] if run["reason"] else []
    sentences += [Cell(f"note: {note['text']}", Tone.WAIT) for note in run["notes"]]
    about = Sheet(
        title=f"run {run['short_id']}",
        pairs=(
            ("job", Cell(run["job"][:8])),
            ("playbook", Cell(run["playbook"])),
            ("host", Cell(run["host"])),
            ("kernel", Cell(run["kernel"] or "not known yet")),
            ("state", run_state(run)),
            ("repeat", Cell(repeat(run))),
            ("attempt", Cell(str(run["attempt"]))),
        ),
        sentences=tuple(sentences),
    )
    return (about, _measurements_sheet(run["measurements"])) if run["measurements"] else (about,)


def _measurements_sheet(found: Sequence[Mapping[str, Any]]) -> Sheet:
    tones = [Tone.NAME if one["primary"] else Tone.PLAIN for one in found]
    return Sheet(
        columns=(
            Column("METRIC", tuple(Cell(m["name"], t) for m, t in zip(found, tones, strict=True))),
            Column("VALUE", tuple(Cell(f"{one['value']:.6g}") for one in found), right=True),
            Column("UNIT", tuple(Cell(unit(one["unit"])) for one in found)),
            Column("SAMPLES", tuple(Cell(str(one["samples"] or "")) for one in found), right=True),
        )
    )


def _streams_sheet(streams: Sequence[Mapping[str, Any]], ident: str) -> Sheet:
    if not streams:
        return sentence(f"nothing was fetched yet; see why with: benchrack run show {ident}")
    return Sheet(
        columns=(
            Column("STREAM", tuple(Cell(one["name"], Tone.NAME) for one in streams)),
            Column("BYTES", tuple(Cell(str(one["size"])) for one in streams), right=True),
        )
    )
