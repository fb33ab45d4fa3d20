"""The operations: short, idempotent, each on one host; what comes of one is a finding."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.contract import errors, messages
from orchestrator.contract.domain import OperationName, Status
from workers import hostcall, parcels, pool, shelf, ssh
from workers.contact import Contact
from workers.deadline import Deadline

#: streams that one evidence can list
_STREAMS: Final = 400
#: bytes of an evidence that are neither manifest nor chunks, at most
_FRAME: Final = 8192
#: seconds that attending may take beyond what was expected
_ATTEND_GRACE_S: Final = 2.0

#: what each failure of contact is called in evidence: unknown is never failed
STATUS_OF: Final[dict[type[errors.HostError], Status]] = {
    errors.Unreachable: Status.UNREACHABLE,
    errors.HostKeyChanged: Status.HOSTKEY,
    errors.AuthRefused: Status.AUTH,
    errors.ConnectionLost: Status.TIMEOUT,
    errors.Interrupted: Status.TIMEOUT,
    errors.DeadlineExceeded: Status.TIMEOUT,
    errors.ProtocolError: Status.PROTO,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """What a worker operates with."""

    pool: pool.Pool
    #: a folder of things that may be lost
    cache: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What came of an operation: the fields of its evidence that the host decides."""

    status: Status
    commanded: bool = False
    detail: str = ""
    rc: int | None = None
    owner: str | None = None
    host_fence: int | None = None
    boot: str | None = None
    manifest: tuple[messages.StreamEntry, ...] = ()
    chunks: tuple[messages.Chunk, ...] = ()
    host_keys: tuple[messages.HostKey, ...] = ()
    scene: messages.Scene | None = None
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Task:
    """An operation with all that it takes to do it."""

    operation: messages.Operation
    host: messages.HostRef
    contact: Contact
    slot: pool.Slot
    station: Station
    deadline: Deadline

    @property
    def owner(self) -> tuple[str, str, str]:
        """Run, attempt and fence as words of a call."""
        operation = self.operation
        return operation.run or "", str(operation.attempt), str(operation.fence)


def operate(operation: messages.Operation, station: Station) -> Finding:
    """What came of an operation, whatever came of it."""
    deadline = Deadline.after(operation.deadline_s)
    host = operation.host
    if host is None:
        return Finding(status=Status.DONE)
    if operation.op is OperationName.SCAN:
        return _scan(host, deadline)
    handler = _HANDLERS.get(operation.op)
    if handler is None:
        return Finding(status=Status.PROTO, detail=f"this worker cannot {operation.op} a host")
    commanded = False
    try:
        with station.pool.hold(
            host, deadline=deadline, urgent=operation.op is OperationName.KILL
        ) as slot:
            contact = Contact(slot, host, operation.lab, deadline=deadline)
            try:
                task = _Task(operation, host, contact, slot, station, deadline)
                return dataclasses.replace(handler(task), commanded=contact.commanded)
            finally:
                commanded = contact.commanded
    except errors.HostError as error:
        return Finding(status=STATUS_OF[type(error)], commanded=commanded, detail=error.message)
    except OSError as error:
        # of our own disk: what has to do with the connection was translated where it happened
        detail = f"the worker cannot use its own files: {error}"
        return Finding(status=Status.PROTO, commanded=commanded, detail=detail[:500])


def _scan(host: messages.HostRef, deadline: Deadline) -> Finding:
    try:
        keys = ssh.scan(host.address, host.port, deadline=deadline)
    except errors.HostError as error:
        return Finding(status=STATUS_OF[type(error)], detail=error.message)
    return Finding(status=Status.DONE, host_keys=keys)


def _probe(task: _Task) -> Finding:
    contact = task.contact
    # an open session would hide that the host shows another key by now, or lets us in no more
    task.slot.drop()
    facts = shelf.stock_facts(contact)
    shelf.stock_rackprobe(contact, task.station.cache)
    answer = contact.call("probe")
    told = contact.call("facts", facts, expect=messages.MAX_CHUNKS)
    if len(told.pieces) != 1:
        raise errors.ProtocolError("the host sent no facts")
    meeting = contact.meet()
    finding = _finding(answer)
    scene = messages.Scene(
        boot=answer.one("boot") or "unknown",
        machine_id=answer.one("machine") or None,
        instance=answer.one("instance") or meeting.instance,
        base=meeting.base,
        volatile=meeting.volatile,
        fence=answer.number("fence") or 0,
        uid=answer.number("uid") or 0,
        facts=told.pieces[0].data,
    )
    return dataclasses.replace(finding, scene=scene)


def _put(task: _Task) -> Finding:
    order = task.operation.put
    if order is None:
        raise errors.ProtocolError("there is nothing to put")
    whole = parcels.add(task.station.cache, order)
    if whole is None:
        return Finding(status=Status.PREPARED)
    task.contact.shelve(order.sha256, whole)
    return Finding(status=Status.DONE)


def _start(task: _Task) -> Finding:
    order = task.operation.start
    if order is None:
        raise errors.ProtocolError("there is nothing to start")
    shelf.stock_rackprobe(task.contact, task.station.cache)
    numbers = (math.ceil(order.max_runtime_s), math.ceil(order.need_free / 1024), len(order.script))
    with task.slot.attend(wanted=order.attend_s > 0) as attend:
        patience = Deadline.after(order.attend_s + _ATTEND_GRACE_S)
        answer = task.contact.call(
            "start",
            *task.owner,
            order.if_boot,
            "1" if attend else "0",
            *map(str, numbers),
            stdin=order.script,
            deadline=min(task.deadline, patience) if attend else None,
        )
    finding = _finding(answer)
    if finding.status is not Status.DONE:
        return finding
    return dataclasses.replace(finding, chunks=_first_chunks(task, finding.manifest))


def _poll(task: _Task) -> Finding:
    return _finding(task.contact.call("poll", *task.owner))


def _fetch(task: _Task) -> Finding:
    order = task.operation.fetch
    if order is None:
        raise errors.ProtocolError("there is nothing to fetch")
    answer, chunks = _ranges(task, order.chunks)
    return dataclasses.replace(_finding(answer), chunks=chunks)


def _kill(task: _Task) -> Finding:
    return _finding(task.contact.call("kill", *task.owner))


def _reap(task: _Task) -> Finding:
    return _finding(task.contact.call("reap", *task.owner))


def _purge(task: _Task) -> Finding:
    return _finding(task.contact.call("purge", *task.owner))


_HANDLERS: Final[dict[OperationName, Callable[[_Task], Finding]]] = {
    OperationName.PROBE: _probe,
    OperationName.PUT: _put,
    OperationName.START: _start,
    OperationName.POLL: _poll,
    OperationName.FETCH: _fetch,
    OperationName.KILL: _kill,
    OperationName.REAP: _reap,
    OperationName.PURGE: _purge,
}


def _finding(answer: hostcall.Answer) -> Finding:
    """What an answer says, in the fields of evidence."""
    streams = answer.streams
    if len(streams) > _STREAMS:
        raise errors.ProtocolError(f"the run left {len(streams)} streams; {_STREAMS} is the limit")
    owner = answer.one("owner")
    return Finding(
        status=answer.status,
        detail=answer.detail,
        rc=answer.number("rc", most=255),
        owner=owner[:200] if owner else None,
        host_fence=answer.number("fence"),
        boot=answer.one("boot") or None,
        manifest=streams,
        left=tuple(line[:500] for line in answer.values.get("left", ())[:20]),
    )


def _first_chunks(
    task: _Task, manifest: tuple[messages.StreamEntry, ...]
) -> tuple[messages.Chunk, ...]:
    """As much of a finished run as goes into the same evidence, whole streams first."""
    listed = sum(len(entry.model_dump_json()) + 1 for entry in manifest)
    # bytes become base64, four for three
    room = min(messages.MAX_CHUNKS, (messages.MAX_BODY - _FRAME - listed) * 3 // 4)
    orders: list[messages.ChunkOrder] = []
    for entry in sorted(manifest, key=lambda entry: entry.size):
        length = min(entry.size, room)
        if length > 0 and len(orders) < 256:
            orders.append(messages.ChunkOrder(stream=entry.name, offset=0, length=length))
            # a chunk's own fields take room as well
            room -= length + 256
    if not orders:
        return ()
    return _ranges(task, tuple(orders))[1]


def _ranges(
    task: _Task, orders: tuple[messages.ChunkOrder, ...]
) -> tuple[hostcall.Answer, tuple[messages.Chunk, ...]]:
    """The host's answer to a fetch, and the chunks in it; a shorter stream gives what there is."""
    lines = "".join(f"{o.stream} {o.offset} {o.length}\n" for o in orders)
    wanted = {(order.stream, order.offset): order.length for order in orders}
    answer = task.contact.call(
        "fetch", *task.owner, stdin=lines.encode(), expect=sum(wanted.values())
    )
    chunks = []
    for piece in answer.pieces:
        length = wanted.pop((piece.stream, piece.offset), -1)
        if len(piece.data) > length:
            raise errors.ProtocolError(f"the host sent bytes of {piece.stream!r} nobody asked for")
        chunks.append(
            messages.Chunk(
                stream=piece.stream,
                offset=piece.offset,
                data=piece.data,
                sha256=hashlib.sha256(piece.data).hexdigest(),
            )
        )
    return answer, tuple(chunks)
