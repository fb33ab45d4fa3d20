"""What a probe found of a host, filed: its machine, boot, kernel and facts."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection

from orchestrator import facts, inventory
from orchestrator.contract import errors, messages
from orchestrator.contract.domain import HostState, OperationName, Status, new_id
from orchestrator.inventory import Host, HostSpec
from orchestrator.reconciler.rules import HIGHEST_FENCE
from orchestrator.service import digestion
from orchestrator.store import errands, hosts, runs

#: seconds for which a probe that nobody waits for is tried
UNATTENDED = 3600.0


def take_in(
    db: Connection,
    spec: HostSpec,
    host_keys: tuple[str, ...],
    scene: messages.Scene,
    now: datetime,
) -> Host:
    """File what a probe found of a host that is enrolled, or is enrolled by this.

    Raises: HostRefused if its facts cannot be read.
    """
    try:
        kernel = digestion.kernel_of(facts.interpret(scene.facts))
    except errors.ParseError as error:
        raise errors.HostRefused(f"{spec.name}: its facts cannot be read: {error}") from error
    if scene.fence > HIGHEST_FENCE:
        raise errors.HostRefused(
            f"{spec.name}: its fence {scene.fence} is out of range; remove the file fence.* of "
            f"this lab from {scene.base}"
        )
    found = inventory.MachineMarks(
        machine_id=scene.machine_id, instance=scene.instance, boot=scene.boot, host_keys=host_keys
    )
    known = hosts.find_host(db, spec.name)
    machine = hosts.assign_machine(db, spec, found)
    hosts.raise_fence(db, machine, scene.fence)
    hosts.record_kernel(db, kernel.id, kernel.label, kernel.identity)
    kept = known is not None and known.state is not HostState.READY
    host = Host(
        spec=spec,
        machine=machine,
        host_keys=host_keys,
        state=known.state if known and kept else HostState.READY,
        sentence=known.sentence if known and kept else "",
        machine_id=scene.machine_id,
        instance=scene.instance,
        boot=scene.boot,
        uid=scene.uid,
        base=scene.base,
        volatile=scene.volatile,
        facts=scene.facts,
        kernel=kernel.id,
        probed_at=now,
    )
    hosts.record_host(db, host)
    detail = f"boot {scene.boot}, kernel {kernel.label}"
    runs.record_event(db, now, "probe", detail, host=spec.name)
    return host


def file_probe(db: Connection, host: Host, evidence: messages.Evidence, now: datetime) -> None:
    """File the evidence of a probe of an enrolled host, good or bad.

    Raises: HostRefused if its facts cannot be read.
    """
    if evidence.status in (Status.CLEAN, Status.BUSY) and evidence.scene is not None:
        take_in(db, host.spec, host.host_keys, evidence.scene, now)
        # what was put off because the host could not be reached is due now
        runs.hasten(db, host.name, now)
        free = evidence.status is Status.CLEAN or (evidence.owner or "").startswith(evidence.lab)
        if free and host.state is HostState.QUARANTINED:
            # it shows the pinned key, and its lock is free or ours: what was wrong is over
            runs.record_event(db, now, "release", "a probe found it in order", host=host.name)
            hosts.update_host(db, host.name, state=HostState.READY, sentence="")
    elif evidence.status is Status.HOSTKEY:
        quarantine(db, host, evidence.detail, now)
    elif evidence.status in (Status.UNREACHABLE, Status.AUTH):
        flag_unreachable(db, host, evidence.detail)


def quarantine(db: Connection, host: Host, sentence: str, now: datetime) -> None:
    """Take a host out of use, for a reason that only a person can judge."""
    if host.state is not HostState.QUARANTINED:
        runs.record_event(db, now, "quarantine", sentence, host=host.name)
        hosts.update_host(db, host.name, state=HostState.QUARANTINED, sentence=sentence)


def flag_unreachable(db: Connection, host: Host, sentence: str) -> None:
    """Mark a host that does not let us in; why it is in its state is not overwritten."""
    values: dict[str, object] = {"unreachable": True}
    if host.state is HostState.READY:
        values["sentence"] = sentence
    hosts.update_host(db, host.name, **values)


def order_probe(db: Connection, host: Host, now: datetime) -> None:
    """Have a host probed anew; it gets no run until that is done."""
    errand = errands.Errand(
        id=new_id(),
        op=OperationName.PROBE,
        site=host.spec.site,
        host=host.ref(),
        created_at=now,
        give_up_at=now + timedelta(seconds=UNATTENDED),
        next_at=now,
    )
    errands.insert_errand(db, errand)
