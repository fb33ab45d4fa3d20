"""``benchrack import``: results from elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import files
from orchestrator.cli.command import Desk, command, noun
from orchestrator.cli.sheet import Cell, Column, Sheet, Tone
from orchestrator.cli.text import count

app = noun("import", "Imports: results from elsewhere.")


@command(app, "mail")
def mail(
    desk: Desk,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-", help="File with the mail, headers and all; - is standard input."
        ),
    ],
    host: Annotated[
        str | None,
        typer.Option(help="What to call the host that it was measured on. [default: imported]"),
    ] = None,
) -> None:
    """Take in the tables of a mail, all of them or none."""
    data = (
        files.drain(sys.stdin.buffer, "standard input") if file == "-" else files.read(Path(file))
    )
    name = "standard input" if file == "-" else Path(file).name
    jobs = desk.lab.post_bytes("imports/mail", data, name=name, host=host)
    playbooks = dict.fromkeys(job["playbook"] for job in jobs)
    runs = sum(job["total"] for job in jobs)
    sentences = [Cell(f"{count(runs, 'run')} of {name} imported", Tone.GOOD)]
    sentences += [
        Cell(f"see them with: benchrack results {one} --host {jobs[0]['hosts'][0]}")
        for one in playbooks
    ]
    desk.screen.show(
        jobs,
        Sheet(
            columns=(
                Column("JOB", tuple(Cell(job["short_id"], Tone.NAME) for job in jobs)),
                Column("PLAYBOOK", tuple(Cell(job["playbook"]) for job in jobs)),
                Column("HOST", tuple(Cell(" ".join(job["hosts"])) for job in jobs)),
                Column("RUNS", tuple(Cell(str(job["total"])) for job in jobs), right=True),
            ),
            sentences=tuple(sentences),
        ),
    )
