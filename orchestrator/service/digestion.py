"""From the streams of a finished run to its result: outcome, kernel, measurements, notes. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from orchestrator import assess, facts
from orchestrator.contract import checksum, errors, messages
from orchestrator.contract.domain import KernelIdentity, Note, Outcome
from orchestrator.parsers import REGISTRY
from orchestrator.playbook import loader, model, params, requirements
from orchestrator.runs import Ending, Job, Run
from orchestrator.store.results import Result

#: the flags of parsers that a reader of the number must know of; the others are of the parser
_FLAGS = {
    "policy_other": "measured under the ordinary scheduling policy, not under real-time priority",
    "overruns": "periods were missed and skipped",
    "page_faults": "the probe met page faults while it measured",
    "memory_not_locked": "the probe's memory could not be locked",
    "throttled": "the kernel throttled real-time tasks while the probe measured",
    "tick_limited": "the timer's resolution is that of the kernel's tick",
    "negative": "some samples were negative and were left out",
    "saturated": "some samples were longer than can be kept",
    "clock_backsteps": "the clock stepped back while the probe measured",
    "json_repaired": "the tool's JSON was damaged in known ways, and mended",
    "json_truncated": "the tool's JSON was cut off",
    "short_run": "the tool measured for less time than it was asked to",
    "short_duration": "the tool measured for less time than it was asked to",
    "total_derived": "the total was added up from the streams",
    "streams_missing": "not all streams that were asked for are in the output",
    "receiver_missing": "the rate is the sender's, as the receiver reported none",
    "receiver_incomplete": "the receiver's report is not complete",
    "datagrams_lost": "datagrams were lost",
    "kernel_messages": "messages of the kernel stood within the output",
    "non_finite_value": "some figures of the tool were no numbers, and were left out",
    "request_unknown": "what the tool was asked for is not known",
}

FACTS_BEFORE = "facts.before"
FACTS_AFTER = "facts.after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel with the names it goes by."""

    id: str
    label: str
    identity: KernelIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What a run came to, and the kernel it was executed under."""

    result: Result
    kernel: Kernel | None


def is_sound(chunk: messages.Chunk) -> bool:
    """Whether a chunk is what it says that it is."""
    return hashlib.sha256(chunk.data).hexdigest() == chunk.sha256


def missing(
    manifest: Sequence[messages.StreamEntry], have: Mapping[str, Sequence[tuple[int, int]]]
) -> tuple[messages.ChunkOrder, ...]:
    """The ranges that are still to be fetched, at most MAX_CHUNKS bytes of them."""
    orders: list[messages.ChunkOrder] = []
    room = messages.MAX_CHUNKS
    for entry in manifest:
        end = 0
        gaps = []
        for offset, length in sorted(have.get(entry.name, ())):
            if offset > end:
                gaps.append((end, offset))
            end = max(end, offset + length)
        if end < entry.size:
            gaps.append((end, entry.size))
        for start, stop in gaps:
            length = min(stop - start, room)
            if length <= 0 or len(orders) == 256:
                return tuple(orders)
            orders.append(messages.ChunkOrder(stream=entry.name, offset=start, length=length))
            room -= length
    return tuple(orders)


def join(
    manifest: Sequence[messages.StreamEntry], pieces: Mapping[str, Mapping[int, bytes]]
) -> dict[str, bytes] | None:
    """The streams of a run, or None where they do not match the host's checksums."""
    streams = {}
    for entry in manifest:
        whole = bytearray()
        for offset, data in sorted(pieces.get(entry.name, {}).items()):
            # ranges may overlap when one was asked for twice
            whole[offset : offset + len(data)] = data
        data = bytes(whole)
        if len(data) != entry.size:
            return None
        if checksum.digest(entry.algorithm, data) != entry.digest:
            return None
        streams[entry.name] = data
    return streams


@lru_cache(maxsize=64)
def playbook_of(source: str, name: str) -> model.Playbook:
    """The playbook that a job was queued with."""
    return loader.load(source.encode(), name=name)


def kernel_of(found: facts.Facts) -> Kernel:
    """The kernel that facts speak of."""
    identity = facts.kernel_identity(found)
    return Kernel(
        id=facts.kernel_id(identity), label=facts.kernel_label(identity), identity=identity
    )


def host_facts(found: facts.Facts) -> requirements.HostFacts:
    """What a playbook is compiled for: the little of the facts that it depends on."""
    return requirements.HostFacts(
        cpus=found.cpus_online or 1,
        memory_kib=found.memory_total_kib or 0,
        arch=found.machine or "",
        tools=None if found.commands is None else found.available,
    )


def imported_kernel(identity: KernelIdentity, label: str) -> Kernel:
    """A kernel that only its source knows."""
    return Kernel(id=facts.kernel_id(identity), label=label, identity=identity)


def series_of(
    host: str, playbook: str, points: Sequence[tuple[str, str]], hard: Mapping[str, str]
) -> str:
    """The identity of a series: equal host, playbook, parameters and environment class."""
    text = json.dumps([host, playbook, list(points), sorted(hard.items())])
    return hashlib.sha256(text.encode()).hexdigest()


def _unreadable(reason: str) -> Digest:
    ending = Ending(outcome=Outcome.INFRA_FAILED, reason=reason)
    result = Result(
        params={},
        ending=ending,
        kernel=None,
        boot=None,
        series=None,
        environment={},
        notes=(),
        measurements=(),
        samples={},
        counted=False,
    )
    return Digest(result=result, kernel=None)


def digest(
    job: Job,
    run: Run,
    streams: Mapping[str, bytes],
    *,
    boot_facts: bytes | None,
    late: bool,
    wall_s: float | None = None,
) -> Digest:
    """What the streams of a run say. Never raises for what a host sent: that is an outcome.

    ``boot_facts``: the full facts of the boot that it was executed under, where they are known.
    Units: ``wall_s`` is when the run ended by the lab's clock, where that is known.
    """
    try:
        playbook = playbook_of(job.source, job.playbook)
        values = params.typed_values(playbook, run.params)
    except errors.InputError as error:
        return _unreadable(f"its playbook is not one of this version: {error}")
    found = assess.assess(
        playbook, values, streams, registry=REGISTRY, nonce=run.id, rc=run.rc, wall_s=wall_s
    )
    ending = Ending(outcome=found.outcome, reason=found.reason)
    flagged = [Note(code=flag, text=_FLAGS[flag]) for flag in found.flags if flag in _FLAGS]
    notes = [*found.notes, *flagged]
    kernel, boot, hard = None, run.boot, dict(found.method)
    try:
        before = facts.interpret(streams[FACTS_BEFORE])
        kernel = kernel_of(before)
        boot = before.boot_id or run.boot
        whole = facts.interpret(boot_facts) if boot_facts is not None else before
        hard |= facts.environment(whole).hard
        before = replace(before, cpus_online=before.cpus_online or whole.cpus_online)
        notes += facts.quiet_notes(before)
        if FACTS_AFTER in streams:
            notes += facts.differences(before, facts.interpret(streams[FACTS_AFTER]))
    except (KeyError, errors.ParseError) as error:
        if ending.outcome is Outcome.FINISHED:
            reason = f"the facts of its boot are missing, so its kernel is not known: {error}"
            ending = Ending(outcome=Outcome.INFRA_FAILED, reason=reason)
    if late:
        notes.append(Note(code="late", text="it had finished before it could be stopped"))
    points = params.series_params(playbook, values)
    counted = (
        ending.outcome is Outcome.FINISHED
        and not run.warmup
        and playbook.kind is model.Kind.BENCHMARK
    )
    result = Result(
        params=dict(points),
        ending=ending,
        kernel=kernel.id if kernel else None,
        boot=None if boot == "unknown" else boot,
        series=series_of(run.host, job.playbook, points, hard) if kernel else None,
        environment=hard,
        notes=tuple(dict.fromkeys(notes)),
        measurements=found.measurements,
        samples=found.samples,
        counted=counted,
    )
    return Digest(result=result, kernel=kernel)
