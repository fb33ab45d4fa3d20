"""The controller: leases machines to waiting runs and sends the operation that each row calls for.

Evidence wakes it at once; the tick is only the safety net. Whatever it does it writes down first
and sends after, so that a crash between the two costs a resend and never a lease or a run.
"""

from __future__ import annotations

import logging
import random
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from types import FrameType

from celery import Celery
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from orchestrator import facts, reconciler
from orchestrator.contract import broker, errors, keys, messages
from orchestrator.contract.domain import HostState, OperationName, Outcome, RunState, new_id
from orchestrator.inventory import Host
from orchestrator.playbook import compile as compiler
from orchestrator.playbook import params
from orchestrator.runs import Ending, Job, Run
from orchestrator.service import digestion, entry
from orchestrator.service.context import Context
from orchestrator.settings import Settings
from orchestrator.store import errands, hosts, results
from orchestrator.store import runs as store

log = logging.getLogger("benchrack.controller")

#: seconds between two turns when nothing rings
TICK = 1.0
#: seconds between two echoes to a site
ECHO = 30.0
#: seconds before an errand is sent again
ERRAND_RESEND = 20.0
#: seconds for which errands are kept after somebody waited for them
KEEP_ERRANDS = 3600.0
#: seconds for which a run that cannot be operated is left alone
PUT_OFF = 60.0
#: what is wrong with a single run, its playbook, its numbers or its message, and not with the lab
OF_ONE_RUN = (
    errors.InputError,
    errors.ParseError,
    errors.MessageError,
    ValueError,
    ArithmeticError,
)
#: name of the lab's key in an envelope
KEY_ID = "lab"


class Controller:
    """Scheduler and reconciler of one lab."""

    def __init__(self, context: Context, app: Celery, key: Ed25519PrivateKey) -> None:
        self._context = context
        self._app = app
        self._key = key
        self._jitter = random.Random()
        self._echoed: dict[str, datetime] = {}
        self._prune_at = context.now()

    def turn(self) -> None:
        """Do all that is due now."""
        now = self._context.now()
        self._echo(now)
        self._errands(now)
        with self._context.store.reading() as db:
            live = store.live_runs(db)
            known = {host.name: host for host in hosts.select_hosts(db)}
            jobs = store.jobs_by_id(db, {run.job for run in live})
        for run in live:
            after = self._overtake(run, now)
            if after.state is not RunState.QUEUED and after.host in known:
                self._operate_safely(after, known[after.host], now)
        self._lease_waiting(now, known, jobs)

    def _operate_safely(self, run: Run, host: Host, now: datetime) -> None:
        """One run that cannot be operated must not keep the others from it."""
        try:
            self._operate(run, host, now)
        except OF_ONE_RUN as error:
            log.warning("run %s: %s", run.id[:8], error)
            after = replace(
                run,
                next_at=now + timedelta(seconds=PUT_OFF),
                sentence=f"it cannot be operated: {error}"[:400],
            )
            with self._context.store.writing() as db:
                store.change(db, run, after)

    def _overtake(self, run: Run, now: datetime) -> Run:
        """What time alone demands of a run, written down."""
        after = reconciler.overdue(run, now)
        if after is run:
            return run
        with self._context.store.writing() as db:
            if not store.change(db, run, after):
                return run
            detail = f"{run.state} -> {after.state}"
            store.record_event(db, now, "state", detail, host=run.host, run=run.id)
        return replace(after, rev=run.rev + 1)

    def _operate(self, run: Run, host: Host, now: datetime) -> None:
        op = reconciler.due(run, now)
        if op is None or host.state is HostState.QUARANTINED:
            return
        with self._context.store.writing() as db:
            after = reconciler.sent(run, op, now, self._jitter.random())
            if not store.change(db, run, after):
                return
            operation = self._operation(op, run, host, now)
            if op is OperationName.START:
                script = store.script(db, run.id, run.attempt)
                if script is None:
                    raise errors.InputError(f"run {run.id} has no script for its attempt")
                operation |= {"start": self._start_order(run, script)}
            elif op is OperationName.FETCH:
                have = results.fetched(db, run.id, run.attempt)
                # nothing may be missing where a crash came between fetch and result: ask for the
                # first range again, its evidence completes the run
                first = messages.ChunkOrder(stream=run.manifest[0].name, offset=0, length=1)
                chunks = digestion.missing(run.manifest, have) or (first,)
                operation |= {"fetch": messages.FetchOrder(chunks=chunks)}
        self._send(messages.Operation(**operation))  # type: ignore[arg-type]

    def _operation(
        self, op: OperationName, run: Run, host: Host, now: datetime
    ) -> dict[str, object]:
        target, attempt, fence = run.id, run.attempt, run.fence
        if run.state is RunState.LEASED and run.blocker:
            name, tried, held = run.blocker.split(".")
            target, attempt, fence = name, int(tried), int(held)
        return {
            "id": new_id(),
            "op": op,
            "site": host.spec.site,
            "lab": self._context.lab,
            "host": host.ref(),
            "run": target,
            "attempt": attempt,
            "fence": fence,
            "sent_at": now,
        }

    @staticmethod
    def _start_order(run: Run, script: bytes) -> messages.StartOrder:
        return messages.StartOrder(
            script=script,
            if_boot=run.boot or "unknown",
            attend_s=reconciler.attend_s(run),
            max_runtime_s=run.max_runtime_s,
        )

    def _send(self, operation: messages.Operation) -> None:
        envelope = messages.seal(operation, KEY_ID, self._key)
        queue = broker.site_queue(operation.site)
        try:
            broker.send(self._app, messages.OPERATE, queue, envelope)
        except errors.BrokerError as error:
            # the row stays due and is sent again
            log.warning("%s: %s", operation.op, error.message)

    def _echo(self, now: datetime) -> None:
        with self._context.store.reading() as db:
            sites = hosts.sites(db)
        for site in sites:
            last = self._echoed.get(site)
            if last is not None and now - last < timedelta(seconds=ECHO):
                continue
            self._echoed[site] = now
            self._send(
                messages.Operation(
                    id=new_id(),
                    op=OperationName.ECHO,
                    site=site,
                    lab=self._context.lab,
                    sent_at=now,
                )
            )

    def _errands(self, now: datetime) -> None:
        with self._context.store.reading() as db:
            waiting = errands.open_errands(db, now)
        if now >= self._prune_at:
            self._prune_at = now + timedelta(seconds=KEEP_ERRANDS)
            with self._context.store.writing() as db:
                errands.drop_errands(db, now - timedelta(seconds=KEEP_ERRANDS))
        for errand in waiting:
            if errand.next_at > now:
                continue
            with self._context.store.writing() as db:
                errands.errand_sent(db, errand, now + timedelta(seconds=ERRAND_RESEND))
            try:
                self._send(
                    messages.Operation(
                        id=errand.id,
                        op=errand.op,
                        site=errand.site,
                        lab=self._context.lab,
                        host=errand.host,
                        sent_at=now,
                    )
                )
            except OF_ONE_RUN as error:
                log.warning("%s of %s: %s", errand.op, errand.host.name, error)

    def _spoil(self, run: Run, reason: str, now: datetime) -> None:
        """End a run that cannot even be prepared, with the reason."""
        ending = Ending(outcome=Outcome.INFRA_FAILED, reason=reason)
        after = replace(run, state=RunState.ENDED, ending=ending, ended_at=now)
        with self._context.store.writing() as db:
            if store.change(db, run, after):
                store.record_event(db, now, "state", reason, host=run.host, run=run.id)

    def _lease_waiting(
        self, now: datetime, known: Mapping[str, Host], jobs: Mapping[str, Job]
    ) -> None:
        with self._context.store.reading() as db:
            waiting = [run for run in store.live_runs(db) if run.state is RunState.QUEUED]
            leased = set(hosts.leases(db))
            # a host that is being probed gets no run: neither would be left in peace
            probed = {errand.host.name for errand in errands.open_errands(db, now)}
            ends = {name: store.last_end(db, name) for name in {run.host for run in waiting}}
        for run in waiting:
            host, job = known.get(run.host), jobs.get(run.job)
            if host is None or job is None or host.machine in leased:
                continue
            if any(one.machine == host.machine for one in map(known.get, probed) if one):
                continue
            if host.state is not HostState.READY or run.cancel or run.next_at > now:
                continue
            ended = ends[run.host].get(run.job)
            if ended is not None and ended + job.pause_s > now.timestamp():
                continue
            try:
                after = self._lease(run, job, host, now)
            except OF_ONE_RUN as error:
                self._spoil(run, f"it cannot be prepared: {error}", now)
                continue
            leased.add(host.machine)
            if after is not None:
                self._operate_safely(after, host, now)

    def _lease(self, run: Run, job: Job, host: Host, now: datetime) -> Run | None:
        """Lease the run's machine and write down what it will execute; None if it was taken."""
        with self._context.store.writing() as db:
            current = store.get_run(db, run.id)
            if current is None or current.rev != run.rev:
                return None
            fence = hosts.lease(db, host.machine, run.id, now)
            if fence is None:
                return None
            after = reconciler.leased(run, fence=fence, boot=host.boot, now=now)
            store.change(db, run, after)
            after = replace(after, rev=run.rev + 1)
            store.record_attempt(db, after, self._script(after, job, host), now)
            detail = f"queued -> leased (attempt {after.attempt}, fence {fence})"
            store.record_event(db, now, "state", detail, host=run.host, job=job.id, run=run.id)
        return after

    @staticmethod
    def _script(run: Run, job: Job, host: Host) -> bytes:
        playbook = digestion.playbook_of(job.source, job.playbook)
        found = facts.interpret(host.facts)
        return compiler.compile_script(
            playbook,
            params.typed_values(playbook, run.params),
            digestion.host_facts(found),
            run_id=run.id,
            repeat=run.repeat,
            host=host.name,
            kernel=found.release or "",
            noise=job.noise,
        )


def run(controller: Controller, bell: broker.Bell, stop: threading.Event) -> None:
    """Turn until told to stop. What fails in one turn is tried again in the next."""
    while not stop.is_set():
        try:
            controller.turn()
        except errors.LabError as error:
            log.warning("%s", error.message)
        bell.wait(TICK)


def control(settings: Settings, context: Context, url: str) -> None:
    """Control the lab until SIGTERM."""
    with context.store.reading() as db:
        sites = tuple(hosts.sites(db))
    app = broker.make_app(url, role="controller", sites=sites)
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    controller = Controller(context, app, keys.read_private(settings.lab_key))
    run(controller, broker.Bell(app), stop)


if __name__ == "__main__":
    sys.exit(entry.execute("controller", control))
