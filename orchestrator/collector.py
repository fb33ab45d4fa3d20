"""The collector: evidence from the queue ``results`` becomes state, streams and results.

Each evidence is one transaction. The one that completes a run's streams carries everything
together: the last chunk, the result row (its primary key is the run, so that it is counted once),
measurements, aggregates and the new state. Only after that commit is a purge due.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from orchestrator import reconciler
from orchestrator.contract import broker, errors, messages
from orchestrator.contract.domain import HostState, OperationName, Outcome, RunState
from orchestrator.inventory import Host
from orchestrator.runs import Ending, Run
from orchestrator.service import digestion, entry, scenes
from orchestrator.service.context import Context
from orchestrator.settings import Settings
from orchestrator.store import errands, hosts, results, runs

log = logging.getLogger("benchrack.collector")

#: how often an evidence is read again when somebody else changed its run meanwhile
RACES = 8
#: how often streams that do not match their manifest are fetched again
REFETCHES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What one evidence will change, worked out before the transaction."""

    before: Run
    step: reconciler.Step
    digest: digestion.Digest | None = None
    refetch: bool = False
    #: a host that proved to be the same machine
    joined: str | None = None


class Collector:
    """Takes evidence into the store."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def receive(self, envelope: messages.Envelope) -> None:
        """Open an envelope and take in what it holds; what cannot be believed is kept as dead."""
        with self._context.store.reading() as db:
            keys = hosts.site_keys(db)
        try:
            evidence = messages.open_evidence(envelope, keys)
        except errors.MessageError as error:
            self._refuse(error.message, str(envelope.body))
            return
        self.ingest(evidence)

    def ingest(self, evidence: messages.Evidence) -> None:
        """Take in one evidence. Idempotent."""
        now = self._context.now()
        if evidence.lab != self._context.lab:
            self._refuse(f"evidence of lab {evidence.lab}", evidence.model_dump_json())
        elif evidence.op is OperationName.ECHO:
            with self._context.store.writing() as db:
                hosts.record_echo(db, evidence.site, now)
        elif evidence.run is None:
            self._ingest_errand(evidence, now)
        else:
            self._ingest_run(evidence, evidence.run, now)
        self._context.ring()

    def _refuse(self, reason: str, body: str) -> None:
        log.warning("refused a message: %s", reason)
        with self._context.store.writing() as db:
            errands.insert_dead_letter(db, self._context.now(), reason, body)

    def _ingest_errand(self, evidence: messages.Evidence, now: datetime) -> None:
        with self._context.store.writing() as db:
            errand = errands.find_errand(db, evidence.operation)
            host = hosts.find_host(db, evidence.host) if evidence.host else None
            asked = errand is not None and (errand.op, errand.site, errand.host.name) == (
                evidence.op,
                evidence.site,
                evidence.host,
            )
            if errand is None or not asked:
                reason = f"{evidence.op} of {evidence.host} that nobody asked for"
                errands.insert_dead_letter(db, now, reason, evidence.model_dump_json())
                return
            first = errands.errand_done(db, errand.id, evidence.model_dump_json())
            # a host under another address or other keys is one that is being enrolled again
            if first and host is not None and host.ref() == errand.host:
                self._file_probe(db, host, evidence, now)

    @staticmethod
    def _file_probe(db: Connection, host: Host, evidence: messages.Evidence, now: datetime) -> None:
        try:
            scenes.file_probe(db, host, evidence, now)
        except errors.HostRefused as error:
            runs.record_event(db, now, "probe", error.message, host=host.name)
            hosts.update_host(db, host.name, sentence=error.message)

    def _ingest_run(self, evidence: messages.Evidence, run_id: str, now: datetime) -> None:
        sound = tuple(chunk for chunk in evidence.chunks if digestion.is_sound(chunk))
        evidence = evidence.model_copy(update={"chunks": sound})
        for _ in range(RACES):
            with self._context.store.reading() as db:
                run = self._waiting_for(db, evidence) or runs.get_run(db, run_id)
                wrong = self._wrong_speaker(db, run, evidence)
                plan = None
                if run is not None and not wrong and self._concerns(run, evidence):
                    plan = self._plan(db, run, evidence, now)
            if wrong:
                self._refuse(wrong, evidence.model_dump_json())
                return
            if plan is None:
                self._superseded(evidence, run_id, now)
                return
            with self._context.store.writing() as db:
                if self._commit(db, plan, evidence, now):
                    return
        log.warning(
            "evidence %s met %d changes of its run; it is asked for again", evidence.id, RACES
        )

    @staticmethod
    def _wrong_speaker(db: Connection, run: Run | None, evidence: messages.Evidence) -> str | None:
        if run is None:
            return f"evidence for a run that is not known: {evidence.run}"
        host = hosts.find_host(db, run.host)
        if evidence.host != run.host:
            return f"evidence of host {evidence.host} for a run of host {run.host}"
        if host is not None and host.spec.site != evidence.site:
            return f"site {evidence.site} speaks for host {run.host} of site {host.spec.site}"
        return None

    @staticmethod
    def _waiting_for(db: Connection, evidence: messages.Evidence) -> Run | None:
        """The run that waits on this host for the attempt that was reaped."""
        if evidence.op is not OperationName.REAP or evidence.host is None:
            return None
        owner = f"{evidence.run}.{evidence.attempt}.{evidence.fence}"
        return runs.blocked_by(db, evidence.host, owner)

    @staticmethod
    def _concerns(run: Run, evidence: messages.Evidence) -> bool:
        """Whether evidence is of the attempt that the row is about, or that it waits for."""
        owner = (evidence.run, evidence.attempt, evidence.fence)
        waits = run.blocker == ".".join(map(str, owner))
        return waits or (run.id, run.attempt, run.fence) == owner

    def _superseded(self, evidence: messages.Evidence, run_id: str, now: datetime) -> None:
        detail = f"{evidence.op}: {evidence.status} of attempt {evidence.attempt}"
        with self._context.store.writing() as db:
            runs.record_event(db, now, "superseded", detail, host=evidence.host, run=run_id)

    def _plan(self, db: Connection, run: Run, evidence: messages.Evidence, now: datetime) -> _Plan:
        step = reconciler.apply(run, evidence, now)
        joined = None
        if step.run.blocker and step.run.blocker != run.blocker:
            holder = runs.get_run(db, step.run.blocker.split(".")[0])
            if holder is not None and holder.id != run.id:
                blocked = reconciler.blocked(step.run, holder, now)
                step = replace(step, run=blocked.run, release=blocked.release)
                joined = holder.host if blocked.release else None
        if not step.store or not step.run.manifest:
            return _Plan(before=run, step=step, joined=joined)
        have = results.fetched(db, run.id, run.attempt)
        for chunk in evidence.chunks:
            have.setdefault(chunk.stream, []).append((chunk.offset, len(chunk.data)))
        if digestion.missing(step.run.manifest, have):
            return _Plan(before=run, step=step)
        return self._complete(db, run, step, evidence, now)

    def _complete(
        self,
        db: Connection,
        run: Run,
        step: reconciler.Step,
        evidence: messages.Evidence,
        now: datetime,
    ) -> _Plan:
        pieces = results.chunks(db, run.id, run.attempt)
        for chunk in evidence.chunks:
            pieces.setdefault(chunk.stream, {}).setdefault(chunk.offset, chunk.data)
        streams = digestion.join(step.run.manifest, pieces)
        if streams is None:
            step = self._corrupt(db, run, step, now)
            refetch = step.run.state is RunState.FETCHING
            return _Plan(before=run, step=step, refetch=refetch)
        job = runs.jobs_by_id(db, [run.job])[run.job]
        late = run.ending is not None or run.cancel
        # an attended run ended just before its evidence; of others it is not known to the second
        ended = evidence.at.timestamp() if evidence.op is OperationName.START else None
        host = hosts.find_host(db, run.host)
        boot_facts = host.facts if host is not None and host.boot == run.boot else None
        digest = digestion.digest(
            job, step.run, streams, boot_facts=boot_facts, late=late, wall_s=ended
        )
        after = reconciler.stored(step.run, digest.result.ending, now)
        return _Plan(before=run, step=replace(step, run=after), digest=digest)

    @staticmethod
    def _corrupt(db: Connection, run: Run, step: reconciler.Step, now: datetime) -> reconciler.Step:
        """The streams do not add up to the manifest: fetch again, within limits."""
        mark = ("corrupt", f"attempt {run.attempt}")
        past = [event for event in runs.events_of_run(db, run.id) if event[1:] == mark]
        if len(past) < REFETCHES:
            return replace(step, run=replace(step.run, next_at=now))
        reason = f"its streams did not match their checksums {REFETCHES} times"
        ending = Ending(outcome=Outcome.INFRA_FAILED, reason=reason)
        after = replace(step.run, state=RunState.REAPING, ending=ending, next_at=now, tries=0)
        return replace(step, run=after)

    def _commit(
        self, db: Connection, plan: _Plan, evidence: messages.Evidence, now: datetime
    ) -> bool:
        before, after, step = plan.before, plan.step.run, plan.step
        if not runs.change(db, before, after):
            return False
        if plan.refetch:
            results.drop_chunks(db, before)
            detail = f"attempt {before.attempt}"
            runs.record_event(db, now, "corrupt", detail, host=before.host, run=before.id)
        elif step.store:
            results.insert_chunks(db, before, evidence.chunks)
        if plan.digest is not None:
            self._count(db, after, plan.digest, now)
        if step.fence_floor:
            host = hosts.find_host(db, before.host)
            if host is not None:
                hosts.raise_fence(db, host.machine, step.fence_floor)
        if step.release:
            hosts.release(db, before.id)
        if after.state is RunState.QUEUED and after.next_at > now:
            # what keeps this run from its host keeps the others too
            runs.put_off(db, before.host, after.next_at)
        self._note_host(db, before.host, plan, now)
        if after.state is not before.state:
            detail = f"{before.state} -> {after.state} ({evidence.op}: {evidence.status})"
            runs.record_event(db, now, "state", detail, host=before.host, run=before.id)
            if before.attempt and after.state in (RunState.QUEUED, RunState.ENDED):
                lost = before.ending or after.ending
                if lost is not None:
                    runs.end_attempt(db, before, lost, now)
        return True

    @staticmethod
    def _count(db: Connection, run: Run, digest: digestion.Digest, now: datetime) -> None:
        job = runs.jobs_by_id(db, [run.job])[run.job]
        if digest.kernel is not None:
            hosts.record_kernel(db, digest.kernel.id, digest.kernel.label, digest.kernel.identity)
        results.insert_result(db, job, run, digest.result, now)
        runs.end_attempt(db, run, digest.result.ending, now)

    @staticmethod
    def _note_host(db: Connection, name: str, plan: _Plan, now: datetime) -> None:
        host, step = hosts.find_host(db, name), plan.step
        if host is None:
            return
        if plan.joined is not None:
            hosts.join(db, host, plan.joined)
        if step.host_state is HostState.QUARANTINED:
            scenes.quarantine(db, host, step.host_sentence, now)
        elif step.host_state is not None and host.state is HostState.READY:
            hosts.update_host(db, name, state=step.host_state, sentence=step.host_sentence)
        elif step.release and host.state is HostState.NEEDS_CARE:
            # what could not be proved gone is gone now
            hosts.update_host(db, name, state=HostState.READY, sentence="")
        elif step.unreachable:
            scenes.flag_unreachable(db, host, step.host_sentence)
        elif step.unreachable is False and host.unreachable:
            sentence = "" if host.state is HostState.READY else host.sentence
            hosts.update_host(db, name, unreachable=False, sentence=sentence)
        if step.boot is not None and step.boot != host.boot:
            scenes.order_probe(db, host, now)


def make_worker(context: Context, url: str) -> Any:
    """The Celery app that consumes ``results``."""
    app = broker.make_app(url, role="collector", consumes=broker.RESULTS)
    collector = Collector(context)

    @app.task(name=messages.INGEST, max_retries=0)  # type: ignore[untyped-decorator]
    def ingest(body: str, key_id: str, signature: str) -> None:
        collector.receive(messages.Envelope(body, key_id, signature))

    return app


def consume(_settings: Settings, context: Context, url: str) -> None:
    """Take evidence from ``results`` until SIGTERM."""
    # one thread: SQLite has one writer, and evidence of a run is taken in its order
    make_worker(context, url).worker_main(
        ["worker", "-P", "solo", "-Q", broker.RESULTS, "-l", "WARNING", "-n", "collector@%h",
         "--without-gossip", "--without-mingle", "--without-heartbeat"]
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(entry.execute("collector", consume))
