"""Hosts: scanned, enrolled with a pinned key, checked, shown."""

from __future__ import annotations

import time
from datetime import timedelta

from sqlalchemy import Connection

from orchestrator import inventory
from orchestrator.contract import errors, messages
from orchestrator.contract.domain import HostState, OperationName, Status, new_id
from orchestrator.inventory import Host, HostSpec
from orchestrator.report.views import HostView
from orchestrator.service import scenes, shown
from orchestrator.service.context import Context
from orchestrator.store import errands
from orchestrator.store import hosts as store

#: seconds that somebody waits for a host's answer
PATIENCE = 70.0
#: seconds between two looks at the store while waiting
LOOK = 0.03


def scan(ctx: Context, *, site: str, address: str, port: int) -> tuple[messages.HostKey, ...]:
    """The keys that an SSH server shows; nothing is sent to it, and nothing is stored.

    Raises: HostRefused if it does not answer.
    """
    spec = HostSpec(name="scan", address=address, port=port, user="scan", key="scan", site=site)
    inventory.check(spec)
    evidence = _ask(ctx, OperationName.SCAN, spec, ())
    if evidence.status is not Status.DONE:
        raise _trouble(evidence, f"{address}:{port}")
    if not evidence.host_keys:
        raise errors.HostRefused(f"{address}:{port} shows no host key that can be pinned")
    return evidence.host_keys


def add_host(ctx: Context, spec: HostSpec, *, fingerprint: str) -> HostView:
    """Enrol a host: its key must have this fingerprint, and it must let us in.

    Raises: InventoryError, WrongState, HostRefused; then nothing is stored.
    """
    inventory.check(spec)
    with ctx.store.reading() as db:
        _refuse_known(db, spec)
    shown_keys = scan(ctx, site=spec.site, address=spec.address, port=spec.port)
    pinned = [key.line for key in shown_keys if key.fingerprint == fingerprint]
    if not pinned:
        listed = ", ".join(key.fingerprint for key in shown_keys)
        raise errors.HostRefused(
            f"{spec.address}:{spec.port} shows another key than {fingerprint}: {listed}; "
            "no command was sent"
        )
    evidence = _ask(ctx, OperationName.PROBE, spec, tuple(pinned))
    if evidence.scene is None:
        raise _trouble(evidence, f"{spec.name} ({spec.address}:{spec.port})")
    with ctx.store.writing() as db:
        _refuse_known(db, spec)
        store.update_host(db, spec.name, state=HostState.READY)
        scenes.take_in(db, spec, tuple(pinned), evidence.scene, ctx.now())
    ctx.ring()
    return show_host(ctx, spec.name)


def _refuse_known(db: Connection, spec: HostSpec) -> None:
    """A name is given once; a quarantined host may be enrolled again, with the key it has now.

    A run that it still holds goes on from there: the host itself says what became of it.
    """
    known = store.find_host(db, spec.name)
    if known is not None and known.state is not HostState.QUARANTINED:
        raise errors.WrongState(
            f"there is a host {spec.name!r} already; choose another name, or see it with: "
            f"benchrack host show {spec.name}"
        )


def check_host(ctx: Context, name: str) -> HostView:
    """Probe a host anew, and bring what is known of it up to date.

    Raises: UnknownName, HostRefused.
    """
    with ctx.store.reading() as db:
        host = _find(ctx, name)
        busy = store.leases(db).get(host.machine)
    # a quarantined host gets no operations, so nothing is disturbed, and nothing ends otherwise
    if busy is not None and host.state is not HostState.QUARANTINED and not host.unreachable:
        raise errors.WrongState(
            f"host {name} executes run {busy[:8]}, and nothing may disturb it: check it later"
        )
    # the collector files what the probe found, so that there is one writer
    evidence = _ask(ctx, OperationName.PROBE, host.spec, host.host_keys)
    if evidence.scene is None:
        raise _trouble(evidence, f"{name} ({host.spec.address}:{host.spec.port})")
    return show_host(ctx, name)


def _trouble(evidence: messages.Evidence, place: str) -> errors.HostRefused:
    kind = errors.KeyRefused if evidence.status is Status.AUTH else errors.HostRefused
    return kind(evidence.detail or f"{place}: {evidence.status}")


def _ask(
    ctx: Context, op: OperationName, spec: HostSpec, host_keys: tuple[str, ...]
) -> messages.Evidence:
    """Have a worker do an operation now, and wait for what came of it.

    Raises: UnknownName for a site that there is not; LabError if no worker answers.
    """
    now = ctx.now()
    errand = errands.Errand(
        id=new_id(),
        op=op,
        site=spec.site,
        host=inventory.host_ref(spec, host_keys),
        created_at=now,
        give_up_at=now + timedelta(seconds=PATIENCE),
        next_at=now,
    )
    with ctx.store.writing() as db:
        known = store.sites(db)
        if spec.site not in known:
            raise inventory.unknown("site", spec.site, known)
        errands.insert_errand(db, errand)
    ctx.ring()
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with ctx.store.reading() as db:
            found = errands.errand_evidence(db, errand.id)
        if found is not None:
            return messages.Evidence.model_validate_json(found)
        time.sleep(LOOK)
    raise errors.LabError(
        f"no worker of site {spec.site} answered within {PATIENCE:.0f} s: see benchrack status"
    )


def _find(ctx: Context, name: str) -> Host:
    with ctx.store.reading() as db:
        host = store.find_host(db, name)
        if host is None:
            raise inventory.unknown("host", name, (one.name for one in store.select_hosts(db)))
    return host


def list_hosts(ctx: Context) -> tuple[HostView, ...]:
    """All hosts, by name."""
    with ctx.store.reading() as db:
        names = store.kernels(db)
        leases = store.leases(db)
        return tuple(shown.host(host, names, leases) for host in store.select_hosts(db))


def show_host(ctx: Context, name: str) -> HostView:
    """One host.

    Raises: UnknownName.
    """
    host = _find(ctx, name)
    with ctx.store.reading() as db:
        return shown.host(host, store.kernels(db), store.leases(db))
