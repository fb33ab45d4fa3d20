"""Hosts, machines and their leases, kernels, sites."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from sqlalchemy import Connection, Row, delete, select, update
from sqlalchemy.dialects.sqlite import insert

from orchestrator.contract import errors
from orchestrator.contract.domain import Exclusive, HostState, KernelIdentity, PreemptModel, new_id
from orchestrator.inventory import Host, HostSpec, MachineMarks, same_machine
from orchestrator.store import tables


def _spec(values: Mapping[str, Any]) -> HostSpec:
    return HostSpec(
        **{
            **values,
            "exclusive": Exclusive(values["exclusive"]),
            "tags": tuple(values["tags"]),
        }
    )


def _host(row: Row[Any]) -> Host:
    values = dict(row._mapping)
    values.pop("name")
    values["spec"] = _spec(values["spec"])
    values["host_keys"] = tuple(values["host_keys"])
    values["state"] = HostState(values["state"])
    values["probed_at"] = datetime.fromtimestamp(values["probed_at"], UTC)
    return Host(**values)


def select_hosts(db: Connection) -> tuple[Host, ...]:
    """All hosts, by name."""
    rows = db.execute(select(tables.host).order_by(tables.host.c.name))
    return tuple(_host(row) for row in rows)


def find_host(db: Connection, name: str) -> Host | None:
    """The host of that name."""
    row = db.execute(select(tables.host).where(tables.host.c.name == name)).first()
    return None if row is None else _host(row)


def record_host(db: Connection, host: Host) -> None:
    """Insert a host, or bring its row up to what is known now."""
    values = {field.name: getattr(host, field.name) for field in dataclasses.fields(host)}
    values["name"] = host.name
    values["spec"] = {
        **dataclasses.asdict(host.spec),
        "exclusive": str(host.spec.exclusive),
        "tags": list(host.spec.tags),
    }
    values["host_keys"] = list(host.host_keys)
    values["state"] = str(host.state)
    values["probed_at"] = host.probed_at.timestamp()
    changed = {key: value for key, value in values.items() if key != "name"}
    db.execute(
        insert(tables.host)
        .values(values)
        .on_conflict_do_update(index_elements=["name"], set_=changed)
    )


def update_host(db: Connection, name: str, **values: Any) -> None:
    """Change single columns of a host."""
    if "state" in values:
        values["state"] = str(values["state"])
    db.execute(update(tables.host).where(tables.host.c.name == name).values(values))


def marks(host: Host) -> MachineMarks:
    """By what a host is known to be a machine."""
    return MachineMarks(
        machine_id=host.machine_id,
        instance=host.instance,
        boot=host.boot,
        host_keys=host.host_keys,
    )


def assign_machine(db: Connection, spec: HostSpec, found: MachineMarks) -> str:
    """The machine that a probed host is: one that is known by its marks, or a new one.

    Hosts that turn out to be one machine are joined; the joined machine's fence is the highest of
    all, and a lease that one of them holds is kept.
    """
    if spec.exclusive is Exclusive.HOST:
        own = find_host(db, spec.name)
        if own is not None and own.spec.exclusive is Exclusive.HOST:
            return own.machine
        return _new_machine(db)
    alike = {
        host.machine
        for host in select_hosts(db)
        if host.spec.exclusive is Exclusive.MACHINE and same_machine(marks(host), found)
    }
    own = find_host(db, spec.name)
    if own is not None and own.spec.exclusive is Exclusive.MACHINE:
        alike.add(own.machine)
    if not alike:
        return _new_machine(db)
    keep = _leased_first(db, alike)
    for other in alike - {keep}:
        _join(db, keep, other)
    return keep


def _new_machine(db: Connection) -> str:
    ident = new_id()
    db.execute(tables.machine.insert().values(id=ident, fence=0))
    return ident


def _leased_first(db: Connection, machines: set[str]) -> str:
    column = tables.machine.c
    order = (column.lease_run.is_(None), column.id)
    query = select(column.id).where(column.id.in_(machines)).order_by(*order)
    return str(db.execute(query).scalars().first())


def join(db: Connection, host: Host, other: str) -> None:
    """Two hosts proved to be one machine: they take turns from now on."""
    same = find_host(db, other)
    alike = same is not None and same.machine != host.machine
    if same is None or not alike or Exclusive.HOST in (host.spec.exclusive, same.spec.exclusive):
        return
    keep = _leased_first(db, {host.machine, same.machine})
    _join(db, keep, ({host.machine, same.machine} - {keep}).pop())


def _join(db: Connection, keep: str, other: str) -> None:
    column = tables.machine.c
    row = db.execute(select(column.fence, column.lease_run).where(column.id == other)).one()
    raise_fence(db, keep, row.fence)
    db.execute(update(tables.host).where(tables.host.c.machine == other).values(machine=keep))
    # a lease of the other goes on until its run's own evidence ends it; release() finds it by run
    if row.lease_run is None:
        db.execute(delete(tables.machine).where(column.id == other))


def lease(db: Connection, machine: str, run: str, now: datetime) -> int | None:
    """Lease a machine for a run: its new fence, or None if it is leased already."""
    column = tables.machine.c
    row = db.execute(
        update(tables.machine)
        .where(column.id == machine, column.lease_run.is_(None))
        .values(lease_run=run, leased_at=now.timestamp(), fence=column.fence + 1)
        .returning(column.fence)
    ).first()
    return None if row is None else int(row.fence)


def release(db: Connection, run: str) -> None:
    """End the lease that a run holds."""
    column = tables.machine.c
    db.execute(
        update(tables.machine).where(column.lease_run == run).values(lease_run=None, leased_at=None)
    )


def raise_fence(db: Connection, machine: str, floor: int) -> None:
    """Raise a machine's fence to at least this."""
    column = tables.machine.c
    db.execute(
        update(tables.machine).where(column.id == machine, column.fence < floor).values(fence=floor)
    )


def leases(db: Connection) -> dict[str, str]:
    """Machines that are leased, with the run that holds each."""
    column = tables.machine.c
    query = select(column.id, column.lease_run).where(column.lease_run.is_not(None))
    return {row.id: row.lease_run for row in db.execute(query)}


def record_kernel(db: Connection, ident: str, label: str, identity: KernelIdentity) -> None:
    """Remember a kernel; its label is kept as it was first given."""
    values = dataclasses.asdict(identity)
    values["preempt"] = str(identity.preempt)
    grouped = identity.imported[1] if identity.imported else ""
    db.execute(
        insert(tables.kernel)
        .values(id=ident, label=label, grouped=grouped, identity=values)
        .on_conflict_do_nothing()
    )


def kernels(db: Connection) -> dict[str, tuple[str, str, KernelIdentity]]:
    """All kernels by id: label, group of the source, identity."""
    found = {}
    for row in db.execute(select(tables.kernel)):
        values = dict(row.identity)
        values["preempt"] = PreemptModel(values["preempt"])
        values["options"] = tuple(tuple(option) for option in values["options"])
        values["imported"] = tuple(values["imported"]) if values["imported"] else None
        found[row.id] = (row.label, row.grouped, KernelIdentity(**values))
    return found


def record_site(db: Connection, name: str, public_key: str) -> None:
    """Remember a site by the public key (PEM) of its workers."""
    db.execute(
        insert(tables.site)
        .values(name=name, public_key=public_key)
        .on_conflict_do_update(index_elements=["name"], set_={"public_key": public_key})
    )


def record_echo(db: Connection, name: str, at: datetime) -> None:
    """A worker of the site answered."""
    db.execute(update(tables.site).where(tables.site.c.name == name).values(echo_at=at.timestamp()))


def sites(db: Connection) -> dict[str, float | None]:
    """Sites with the time of their last echo."""
    rows = db.execute(select(tables.site.c.name, tables.site.c.echo_at))
    return {row.name: row.echo_at for row in rows}


def site_keys(db: Connection) -> dict[str, Ed25519PublicKey]:
    """The public key of each site.

    Raises: StoreError if one is not an Ed25519 key.
    """
    found = {}
    for row in db.execute(select(tables.site.c.name, tables.site.c.public_key)):
        key = load_pem_public_key(row.public_key.encode())
        if not isinstance(key, Ed25519PublicKey):
            raise errors.StoreError(f"the key of site {row.name} is not an Ed25519 key")
        found[row.name] = key
    return found
