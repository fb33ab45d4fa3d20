"""``benchrack host``: enrol, list, show and check hosts."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from orchestrator.cli import keyring, text
from orchestrator.cli.command import Desk, command, noun
from orchestrator.cli.sheet import Cell, Column, Sheet, Tone, sentence
from orchestrator.contract import errors
from orchestrator.contract.domain import Exclusive

app = noun("host", "Hosts: the machines under test.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the host.")]

EMPTY = (
    "no hosts yet; add one with: benchrack host add NAME --address ADDRESS --user USER --key FILE"
)
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_TONES = {
    "ready": Tone.GOOD,
    "busy": Tone.BUSY,
    "booting": Tone.BUSY,
    "quarantined": Tone.BAD,
    "needs-care": Tone.BAD,
    "retired": Tone.FAINT,
}


@command(app, "add")
def add(
    desk: Desk,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="What the lab will call it: small letters, digits and -."
        ),
    ],
    address: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS[:PORT]", help="Where SSH reaches it: a name or an IP address."
        ),
    ],
    user: Annotated[str, typer.Option(help="Login name on the host.")],
    key: Annotated[
        str,
        typer.Option(
            metavar="FILE|NAME",
            help="Private SSH key: a file, which is copied; or the name of one that the site has.",
        ),
    ],
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of the SSH server. [default: 22]")
    ] = None,
    fingerprint: Annotated[
        str | None,
        typer.Option(
            metavar="SHA256:...",
            help="Fingerprint of the host key that you trust. [default: shown and asked for]",
        ),
    ] = None,
    site: Annotated[
        str | None, typer.Option(help="Site whose workers reach it. [default: that of the lab]")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Word or key=value to select it by; may be repeated.")
    ] = None,
    exclusive: Annotated[
        Exclusive, typer.Option(help="What a run has to itself; host is for simulated hosts only.")
    ] = Exclusive.MACHINE,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Folder on the host for its runs. [default: chosen by the host]"
        ),
    ] = None,
) -> None:
    """Enrol a host: look at its host key, log in, read what it is."""
    where, port = _address(address, port)
    found = keyring.find(desk.settings, site=site, host=name, given=key)
    if fingerprint is None:
        fingerprint = _trusted(desk, where, port, site)
    elif not _FINGERPRINT.fullmatch(fingerprint):
        raise errors.InventoryError(
            f"--fingerprint {fingerprint}: a fingerprint looks like SHA256: and 43 characters; "
            "leave the option out to be shown those of the host"
        )
    order = {
        "name": name,
        "address": where,
        "port": port,
        "user": user,
        "key": found.name,
        "fingerprint": fingerprint,
        "site": site,
        "base": base,
        "exclusive": str(exclusive),
        "tags": tag or [],
    }
    try:
        with keyring.lent(found):
            host = desk.lab.post("hosts", order)
    except errors.KeyRefused as error:
        raise errors.KeyRefused(
            f"{where}:{port} refuses the key {key} for user {user}: put its public half into "
            f"~/.ssh/authorized_keys of {user} on that host"
        ) from error
    desk.screen.show(host, host_sheet(host))


@command(app, "list")
def list_hosts(desk: Desk) -> None:
    """List all hosts."""
    hosts = desk.lab.get("hosts")
    desk.screen.show(hosts, hosts_sheet(hosts))


@command(app, "show")
def show(desk: Desk, name: Name) -> None:
    """Show one host."""
    host = desk.lab.get(f"hosts/{keyring.segment(name)}")
    desk.screen.show(host, host_sheet(host))


@command(app, "check")
def check(desk: Desk, name: Name) -> None:
    """Connect to a host and read anew what it is."""
    host = desk.lab.post(f"hosts/{keyring.segment(name)}/check")
    desk.screen.show(host, host_sheet(host))


def hosts_sheet(hosts: Sequence[Mapping[str, Any]]) -> Sheet:
    """All hosts, a row each, and what is wrong with which."""
    if not hosts:
        return sentence(EMPTY)
    columns = (
        Column("HOST", tuple(Cell(host["name"], Tone.NAME) for host in hosts)),
        Column("STATE", tuple(map(_short_state, hosts))),
        Column("KERNEL", tuple(Cell(host["kernel"] or "?") for host in hosts), wrap=True),
        Column("CPUS", tuple(Cell(str(host["cpus"] or "?")) for host in hosts), right=True),
        Column("MEMORY", tuple(Cell(_memory(host, "?")) for host in hosts), right=True),
        Column("ADDRESS", tuple(Cell(_place(host)) for host in hosts), wrap=True),
        Column("TAGS", tuple(Cell(" ".join(host["tags"])) for host in hosts), wrap=True),
    )
    troubles = tuple(
        Cell(f"{host['name']}: {host['sentence']}", _state(host).tone)
        for host in hosts
        if host["sentence"]
    )
    return Sheet(columns=columns, sentences=troubles)


def host_sheet(host: Mapping[str, Any]) -> Sheet:
    """All that is known of a host."""
    pairs = (
        ("state", _state(host)),
        ("address", Cell(_place(host))),
        ("user", Cell(host["user"])),
        ("host key", Cell(host["fingerprint"])),
        ("site", Cell(host["site"])),
        ("kernel", Cell(host["kernel"] or "not known")),
        ("boot", Cell(host["boot"] or "not known")),
        ("machine", Cell(_machine(host))),
        ("memory", Cell(_memory(host, "not known"))),
        ("exclusive", Cell(host["exclusive"])),
        ("tags", Cell(" ".join(host["tags"]) or "none")),
        ("tools", Cell(" ".join(host["tools"]) or "none")),
    )
    said = (Cell(host["sentence"], _state(host).tone),) if host["sentence"] else ()
    return Sheet(title=host["name"], pairs=pairs, sentences=said)


def _state(host: Mapping[str, Any]) -> Cell:
    if host["unreachable"]:
        return Cell(f"{host['state']}, unreachable", Tone.BAD)
    return Cell(host["state"], _TONES.get(host["state"], Tone.WAIT))


def _short_state(host: Mapping[str, Any]) -> Cell:
    """The worse of the two: that it does not answer, or that it may not be used."""
    if host["unreachable"] and host["state"] in ("ready", "busy", "booting"):
        return Cell("unreachable", Tone.BAD)
    return Cell(host["state"], _TONES.get(host["state"], Tone.WAIT))


def _memory(host: Mapping[str, Any], unknown: str) -> str:
    return text.memory(host["memory_bytes"]) if host["memory_bytes"] else unknown


def _place(host: Mapping[str, Any]) -> str:
    address = f"[{host['address']}]" if ":" in host["address"] else host["address"]
    return f"{address}:{host['port']}"


def _machine(host: Mapping[str, Any]) -> str:
    parts = [host["arch"], text.count(host["cpus"], "CPU") if host["cpus"] else None]
    return ", ".join(part for part in parts if part) or "not known"


def _address(given: str, port: int | None) -> tuple[str, int]:
    """Address and port from ``ADDRESS``, ``ADDRESS:PORT`` or ``[ADDRESS]:PORT``.

    Raises: InventoryError.
    """
    where, colon, found = given, "", ""
    if given.startswith("["):
        where, _, rest = given[1:].partition("]")
        _, colon, found = rest.partition(":")
    elif given.count(":") == 1:
        where, colon, found = given.partition(":")
    if not colon:
        return where, port or 22
    if not found.isascii() or not found.isdigit() or not 1 <= int(found) <= 65535:
        raise errors.InventoryError(f"--address {given}: {found!r} is not a port (1 to 65535)")
    if port not in (None, int(found)):
        raise errors.InventoryError(f"--address {given} and --port {port} name two ports; give one")
    return where, int(found)


def _trusted(desk: Desk, address: str, port: int, site: str | None) -> str:
    """The fingerprint that the operator confirms.

    Raises: HostRefused where nobody can be asked, or the answer is no.
    """
    keys = desk.lab.post("scan", {"address": address, "port": port, "site": site})
    for key in keys:
        desk.screen.say(f"{address}:{port} shows {key['line'].split()[0]} {key['fingerprint']}")
    first = str(keys[0]["fingerprint"])
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        again = shlex.join(("benchrack", *desk.words, "--fingerprint", first))
        raise errors.HostRefused(
            f"the host key of {address}:{port} is not known; if it is {first}, repeat: {again}"
        )
    if not typer.confirm(f"Is {first} the key of this host?", err=True):
        raise errors.HostRefused(f"the host key of {address}:{port} was not trusted")
    return first
