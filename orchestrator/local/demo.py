"""What ``benchrack demo`` needs around it: a lab, and two hosts that are this machine."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

import asyncssh

from orchestrator import settings as settings_
from orchestrator.contract import errors, keys
from orchestrator.local import demo_host, state
from orchestrator.local.demo_host import DemoHost
from orchestrator.local.lab import Lab
from orchestrator.settings import Settings

#: two names of one machine, which therefore take turns
NAMES: Final = ("this-machine-1", "this-machine-2")
#: name of the SSH key that the hosts let in
KEY: Final = "demo"
#: the tables that benchrack began with
MAILS: Final = ("iperf-2007", "latency-2004")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A running lab, and demo hosts by name, which it does not know yet."""

    lab: Lab
    hosts: Mapping[str, DemoHost]


def settings_of(given: Path | None, environ: Mapping[str, str]) -> Settings:
    """Settings of a demo: its own folder, and of the environment only the broker.

    Raises: InputError if the folder holds something else than a demo.
    """
    folder = given or Path("demo-state")
    if folder.is_dir() and any(folder.iterdir()) and not _hosts_folder(folder).is_dir():
        raise errors.InputError(
            f"{folder} is not the state of a demo; name an empty or a new folder with --state"
        )
    wanted = {settings_.BROKER_URL: environ.get(settings_.BROKER_URL, "")}
    return Settings.read(wanted, state=folder)


@contextmanager
def staged(settings: Settings, environ: Mapping[str, str]) -> Iterator[Stage]:
    """A stage while the block lasts; state, keys and ports are those of the last time.

    Raises: LabError.
    """
    # made first: it tells this folder from the state of a lab that is no demo
    folder = _hosts_folder(settings.state)
    with state.writable(settings):
        settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        private, public = _key_pair(folder)
    with ExitStack() as running:
        starting = {
            name: running.enter_context(
                demo_host.started(folder / name, authorized=public, environ=environ)
            )
            for name in NAMES
        }
        lab = running.enter_context(Lab(settings, environ=environ))
        # where the worker of the site looks for it
        keys.write_secret(settings.ssh_keys / KEY, private.read_bytes())
        yield Stage(lab=lab, hosts={name: ready() for name, ready in starting.items()})


def free_port() -> int:
    """A port of this machine, below those that the kernel hands out, that nobody listens on now.

    Raises: LabError.
    """
    # in random order, as two demos may look at the same time
    for port in random.sample(range(25_901, 26_901), 1000):
        with socket.socket() as probe:
            if probe.connect_ex((demo_host.ADDRESS, port)) != 0:
                return port
    raise errors.LabError("no port from 25901 to 26900 is free on this machine")


def mail(name: str) -> bytes:
    """One of the founding mails."""
    return resources.files(__package__).joinpath("mails", f"{name}.txt").read_bytes()


def _hosts_folder(folder: Path) -> Path:
    return folder / "demo"


def _key_pair(folder: Path) -> tuple[Path, Path]:
    private, public = folder / "key", folder / "authorized"
    if not private.exists():
        made = asyncssh.generate_private_key("ssh-ed25519")
        keys.write_secret(private, made.export_private_key())
    public.write_bytes(asyncssh.read_private_key(private).export_public_key())
    return private, public
