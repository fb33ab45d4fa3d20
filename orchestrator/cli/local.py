"""What needs no running lab, or starts one. Everything behind it is imported when it is used."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orchestrator.cli import files
from orchestrator.cli.command import Desk, command
from orchestrator.contract import errors

if TYPE_CHECKING:
    from orchestrator.local.lab import Lab


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "up")(up)
    command(app, "demo")(demo)


def up(desk: Desk) -> None:
    """Start a lab on this machine and keep it running until Ctrl-C."""
    from orchestrator.local import up as lab_

    def ready(lab: Lab) -> None:
        state = desk.settings.state
        if desk.screen.json:
            desk.screen.data({"url": lab.api_url, "state": str(state), "pids": lab.pids})
        else:
            desk.screen.say(f"the lab is up at {lab.api_url}, its state in {state}; Ctrl-C ends it")

    raise typer.Exit(lab_.up(desk.settings, environ=os.environ, ready=ready))


def demo(desk: Desk) -> None:
    """Show it all on this machine: hosts, jobs, tables. State is kept in ./demo-state."""
    from orchestrator.cli import demo as script
    from orchestrator.local import demo as local
    from orchestrator.local.up import interruptible

    settings = local.settings_of(desk.state, os.environ)
    # an address or a token in the environment is of another lab
    desk = replace(desk, state=settings.state, environ={})
    with interruptible(), local.staged(settings, os.environ) as stage:
        places = [
            script.Place(
                name=name,
                address=host.address,
                port=host.port,
                user=host.user,
                key=local.KEY,
                fingerprint=host.fingerprint,
            )
            for name, host in stage.hosts.items()
        ]
        mails = {name: local.mail(name) for name in local.MAILS}
        script.perform(desk, places, mails, port=local.free_port())


def check_playbooks(path: Path) -> tuple[tuple[str, str], ...]:
    """Names and paths of the playbooks in a file or folder, if all are in order.

    Raises: PlaybookError with file, line and column; InputError.
    """
    from orchestrator.parsers import REGISTRY
    from orchestrator.playbook import check, loader

    paths = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    if not paths:
        raise errors.InputError(f"{path}: holds no playbook (*.yaml)")
    read = {str(one): files.read(one) for one in paths}
    loader.load_folder(read)
    checked = []
    for place, data in read.items():
        playbook = loader.load(data, name=place)
        check.check(playbook, REGISTRY)
        checked.append((playbook.name, place))
    return tuple(checked)


def playbook_schema() -> dict[str, Any]:
    """The JSON schema of playbooks."""
    from orchestrator.playbook import model

    return model.schema()
