"""Hosts: what a lab knows of the machines under test, as frozen values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches

from orchestrator.contract import errors, messages
from orchestrator.contract.domain import Exclusive, HostState

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_ADDRESS = re.compile(r"[A-Za-z0-9_.:][A-Za-z0-9_.:-]{0,252}")
_USER = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}")
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_TAG = re.compile(r"[A-Za-z0-9_.-]{1,64}(=[A-Za-z0-9_.-]{1,64})?")
_BASE = re.compile(r"/[A-Za-z0-9_./-]{1,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSpec:
    """How to reach a host; what an operator says of it. ``key`` names a key of the site."""

    name: str
    address: str
    port: int = 22
    user: str
    key: str
    site: str = "main"
    base: str | None = None
    exclusive: Exclusive = Exclusive.MACHINE
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host of the lab: its spec, its pinned keys, and what was found on it."""

    spec: HostSpec
    #: the unit of exclusivity; hosts that share it take turns
    machine: str
    host_keys: tuple[str, ...]
    state: HostState = HostState.READY
    unreachable: bool = False
    #: why it is not simply ready, in one sentence
    sentence: str = ""
    machine_id: str | None = None
    instance: str
    boot: str
    uid: int
    base: str
    volatile: bool
    #: output of the facts snippet of the last probe
    facts: bytes
    kernel: str
    probed_at: datetime

    @property
    def name(self) -> str:
        """The host's name."""
        return self.spec.name

    def ref(self) -> messages.HostRef:
        """What a worker needs to reach it."""
        return host_ref(self.spec, self.host_keys)


def host_ref(spec: HostSpec, host_keys: Sequence[str]) -> messages.HostRef:
    """What a worker needs to reach a host that shows one of these keys."""
    return messages.HostRef(
        name=spec.name,
        address=spec.address,
        port=spec.port,
        user=spec.user,
        host_keys=tuple(host_keys),
        key=spec.key,
        base=spec.base,
    )


def check(spec: HostSpec) -> None:
    """Refuse a spec that no operation could be made from.

    Raises: InventoryError naming the field and the mend.
    """
    rules: tuple[tuple[str, re.Pattern[str], str, str], ...] = (
        ("name", _NAME, spec.name, "small letters, digits and -, at most 63, no - in front"),
        ("address", _ADDRESS, spec.address, "a host name or an IP address, no - in front"),
        ("user", _USER, spec.user, "a login name, no - in front and no spaces"),
        ("key", _KEY, spec.key, "a name of letters, digits and _ . -, none of . - in front"),
        ("site", _NAME, spec.site, "small letters, digits and -"),
        ("base", _BASE, spec.base or "/x", "an absolute path of letters, digits and _ . - /"),
    )
    for field, pattern, text, mend in rules:
        if not pattern.fullmatch(text):
            raise errors.InventoryError(f"host {field} {text!r} is not usable: give {mend}")
    if not 1 <= spec.port <= 65535:
        raise errors.InventoryError(f"host port {spec.port} is outside 1..65535")
    if spec.base is not None and ".." in spec.base.split("/"):
        raise errors.InventoryError(f"host base {spec.base!r} may not hold ..")
    for tag in spec.tags:
        if not _TAG.fullmatch(tag):
            raise errors.InventoryError(f"tag {tag!r} is not a word or key=value")


def unknown(kind: str, name: str, known: Iterable[str], *, of: str = "") -> errors.UnknownName:
    """The error for a name that is not known, with the nearest one that is.

    ``of``: what the thing would be a part of.
    """
    names = sorted(known)
    what = f"unknown {kind} {name!r}" + (f" of {of}" if of else "")
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        return errors.UnknownName(f"{what}; did you mean {near[0]!r}?")
    if names:
        listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        return errors.UnknownName(f"{what}; known are: {listed}")
    return errors.UnknownName(f"{what}; there is none yet")


def select(hosts: Iterable[Host], names: Sequence[str], tags: Sequence[str]) -> tuple[Host, ...]:
    """The hosts that are named, and those that carry one of the tags; in the order of names.

    Raises: UnknownName for a name or tag that selects nothing.
    """
    by_name = {host.name: host for host in hosts}
    chosen: dict[str, Host] = {}
    for name in names:
        if name not in by_name:
            raise unknown("host", name, by_name)
        chosen[name] = by_name[name]
    for tag in tags:
        tagged = {name: host for name, host in by_name.items() if tag in host.spec.tags}
        if not tagged:
            known = {known for host in by_name.values() for known in host.spec.tags}
            raise unknown("tag", tag, known)
        chosen.update(sorted(tagged.items()))
    return tuple(chosen.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineMarks:
    """By what two hosts are known to be one machine, strongest first."""

    machine_id: str | None
    instance: str
    boot: str
    host_keys: tuple[str, ...]


def same_machine(one: MachineMarks, other: MachineMarks) -> bool:
    """Whether two hosts are one machine.

    Any one mark suffices: two machines never share an instance id or a boot id, and two that
    share a host key or a machine id (cloned images) rather take turns than run at once.
    """
    if one.machine_id and one.machine_id == other.machine_id:
        return True
    if one.instance == other.instance:
        return True
    if one.boot == other.boot and one.boot != "unknown":
        return True
    return bool(set(one.host_keys) & set(other.host_keys))
