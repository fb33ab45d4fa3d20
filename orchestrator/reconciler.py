"""The state machine of a run: which operation is due, and what evidence does. Pure.

Level-triggered: the row says what is due, and it is sent again until evidence comes. Evidence may
come twice, late or never; the table below is total over (state, status), so that nothing that a
host can say leaves a run without a next step.

    queued -lease-> leased -start-> running -poll-> fetching -fetch-> stored -purge-> ended
                      \\____________|_____ killing ___|___ reaping -reap-> ended or queued
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from orchestrator.contract.domain import HostState, OperationName, Outcome, RunState, Status
from orchestrator.contract.messages import Evidence
from orchestrator.runs import Ending, Run

#: seconds between two sendings of one operation, first and at most
RESEND_FIRST = 15.0
RESEND_MOST = 300.0
#: seconds by which attending may exceed the expected time before the operation is sent again
ATTEND_GRACE = 12.0
#: seconds between two polls
POLL_LEAST = 2.0
POLL_MOST = 300.0
#: runs that are expected to end within this many seconds are attended
ATTEND = 10.0
#: seconds that a run may go on after its host should have stopped it
GRACE = 60.0
#: seconds before a host that could not be reached is tried again
RETRY_HOST = 30.0


def due(run: Run, now: datetime) -> OperationName | None:
    """The operation that a run's state calls for at this time."""
    if run.next_at > now:
        return None
    match run.state:
        case RunState.LEASED:
            return OperationName.REAP if run.blocker else OperationName.START
        case RunState.RUNNING:
            return OperationName.POLL
        case RunState.FETCHING:
            return OperationName.FETCH if run.manifest else OperationName.POLL
        case RunState.STORED:
            return OperationName.PURGE
        case RunState.KILLING:
            return OperationName.KILL
        case RunState.REAPING:
            return OperationName.REAP
        case RunState.QUEUED | RunState.BOOTING | RunState.ENDED:
            return None


def attend_s(run: Run) -> float:
    """Seconds that start may wait for the run's end; 0 for a run that is polled for."""
    return run.expected_s + ATTEND_GRACE if run.expected_s <= ATTEND else 0.0


def sent(run: Run, op: OperationName, now: datetime, jitter: float) -> Run:
    """The row after an operation was sent: when to send it again if no evidence comes.

    ``jitter`` is a random number in 0..1, so that a lab does not resend in step.
    """
    first = RESEND_FIRST
    if op is OperationName.START:
        first += attend_s(run)
    wait = min(first * 1.5**run.tries, RESEND_MOST) * (1 + 0.1 * jitter)
    return replace(
        run,
        tries=run.tries + 1,
        sends=run.sends + 1,
        next_at=now + timedelta(seconds=wait),
        started_at=run.started_at or now,
    )


def overdue(run: Run, now: datetime) -> Run:
    """The row with what time alone demands: a cancelled or overdue run is to be killed."""
    live = run.state in (RunState.LEASED, RunState.RUNNING)
    if run.cancel and run.state is RunState.QUEUED:
        ending = Ending(outcome=Outcome.CANCELLED, reason="cancelled before it was started")
        return replace(run, state=RunState.ENDED, ending=ending, ended_at=now)
    if run.cancel and live:
        ending = Ending(outcome=Outcome.CANCELLED, reason="cancelled by the operator")
        return replace(run, state=RunState.KILLING, ending=ending, next_at=now, tries=0)
    if live and run.deadline_at is not None and run.deadline_at <= now:
        reason = f"not done {run.max_runtime_s + GRACE:.0f} s after it was leased"
        ending = Ending(outcome=Outcome.TIMED_OUT, reason=reason)
        return replace(run, state=RunState.KILLING, ending=ending, next_at=now, tries=0)
    return run


def leased(run: Run, *, fence: int, boot: str, now: datetime) -> Run:
    """The row once its machine was leased for it: a new attempt under a new fence."""
    return replace(
        run,
        state=RunState.LEASED,
        attempt=run.attempt + 1,
        fence=fence,
        boot=boot,
        blocker=None,
        ending=None,
        manifest=(),
        rc=None,
        tries=0,
        sends=0,
        sentence="",
        next_at=now,
        leased_at=now,
        started_at=None,
        deadline_at=now + timedelta(seconds=run.max_runtime_s + GRACE),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What evidence does: the new row, and what changes around it.

    ``store``: the evidence's chunks and manifest are to be stored. ``release``: the machine's lease
    ends. ``unreachable``: the host's flag, if it changes. ``fence_floor``: the machine's fence
    is raised to at least this. ``boot``: the host runs under this boot id now.
    """

    run: Run
    store: bool = False
    release: bool = False
    unreachable: bool | None = False
    host_state: HostState | None = None
    host_sentence: str = ""
    fence_floor: int = 0
    boot: str | None = None


_Rule = Callable[[Run, Evidence, datetime], Step]


def apply(run: Run, evidence: Evidence, now: datetime) -> Step:
    """What evidence of this run's own attempt does to it. Total over (state, status)."""
    return TABLE[run.state, evidence.status](run, evidence, now)


def blocked(run: Run, holder: Run | None, now: datetime) -> Step:
    """What a lock held by our own lab means: a live run is waited for, a lost attempt is reaped."""
    owner = run.blocker or ""
    live = holder is not None and holder.state not in (RunState.QUEUED, RunState.ENDED)
    if holder is None or not live or f"{holder.id}.{holder.attempt}.{holder.fence}" != owner:
        return Step(run=run)
    sentence = f"the machine executes run {holder.id[:8]} of host {holder.host}"
    after = replace(_to_queue(run, now, sentence, POLL_LEAST), attempt=max(run.attempt - 1, 0))
    return Step(run=after, release=True)


def stored(run: Run, ending: Ending, now: datetime) -> Run:
    """The row once its result is committed. A result that came after a kill is kept as it is."""
    return replace(run, state=RunState.STORED, ending=ending, next_at=now, tries=0)


def _go(run: Run, state: RunState, now: datetime, *, ending: Ending | None = None) -> Run:
    return replace(run, state=state, ending=ending or run.ending, next_at=now, tries=0)


def _to_queue(run: Run, now: datetime, sentence: str, wait_s: float) -> Run:
    return replace(
        run,
        state=RunState.QUEUED,
        blocker=None,
        ending=None,
        tries=0,
        sentence=sentence,
        next_at=now + timedelta(seconds=wait_s),
    )


def _stay(run: Run, evidence: Evidence, now: datetime) -> Step:
    """The evidence is late or repeats what is known."""
    return Step(run=run, unreachable=False if evidence.commanded else None)


def _again(run: Run, evidence: Evidence, now: datetime) -> Step:
    """The way failed or the answer was garbled; what became of the command is unknown."""
    detail = evidence.detail or f"no usable answer to {evidence.op}"
    return Step(run=replace(run, sentence=detail), unreachable=None)


def _start_again(run: Run, evidence: Evidence, now: datetime) -> Step:
    return Step(run=_go(run, RunState.LEASED, now))


def _running(run: Run, evidence: Evidence, now: datetime) -> Step:
    started = run.started_at or now
    elapsed = (now - started).total_seconds()
    if elapsed < 0.9 * run.expected_s:
        wait = max(0.9 * run.expected_s - elapsed, POLL_LEAST)
    else:
        wait = min(max(0.2 * elapsed, POLL_LEAST), POLL_MOST)
    after = replace(
        _go(run, RunState.RUNNING, now), next_at=now + timedelta(seconds=wait), sentence=""
    )
    return Step(run=after)


def _done(run: Run, evidence: Evidence, now: datetime) -> Step:
    manifest = evidence.manifest or run.manifest
    after = replace(
        _go(run, RunState.FETCHING, now), manifest=manifest, rc=evidence.rc, sentence=""
    )
    return Step(run=after, store=True)


def _lost(reason: str) -> _Rule:
    """The attempt left no result; the host is cleaned and, within limits, it is tried again."""

    def rule(run: Run, evidence: Evidence, now: datetime) -> Step:
        outcome = Outcome.VOID if evidence.status is Status.REBOOTED else Outcome.INFRA_FAILED
        detail = f"{reason}: {evidence.detail}" if evidence.detail else reason
        ending = run.ending or Ending(outcome=outcome, reason=detail)
        return Step(run=_go(run, RunState.REAPING, now, ending=ending))

    return rule


def _otherboot(run: Run, evidence: Evidence, now: datetime) -> Step:
    if run.sends <= 1:
        # this attempt's only start is the one that did nothing
        after = replace(_to_queue(run, now, "", 0.0), attempt=max(run.attempt - 1, 0))
        return Step(run=after, release=True, boot=evidence.boot)
    # an earlier copy of this start may have been executed under the boot that is gone, so that
    # the attempt is over; the host itself runs under the boot that it names now
    step = _lost("the host was rebooted before the run was started")(run, evidence, now)
    ending = Ending(outcome=Outcome.VOID, reason="the host was rebooted")
    return replace(step, run=replace(step.run, ending=run.ending or ending), boot=evidence.boot)


def _stale(run: Run, evidence: Evidence, now: datetime) -> Step:
    floor = evidence.host_fence or run.fence
    sentence = f"the host knows a higher fence ({floor}); leased again above it"
    return Step(run=_to_queue(run, now, sentence, 0.0), release=True, fence_floor=floor)


def _busy(run: Run, evidence: Evidence, now: datetime) -> Step:
    owner = (evidence.owner or "").split(".")
    if len(owner) != 5 or not owner[2].isdigit() or not owner[3].isdigit():
        sentence = f"the host's lock is held by an owner that cannot be read: {evidence.owner!r}"
        after = _to_queue(run, now, sentence, RETRY_HOST)
        return Step(
            run=after, release=True, host_state=HostState.QUARANTINED, host_sentence=sentence
        )
    if owner[0] != evidence.lab:
        sentence = f"the host is held by lab {owner[0][:8]}"
        return Step(run=_to_queue(run, now, sentence, RETRY_HOST), release=True)
    # by whom of our own is for the store to say: a live run there is waited for, a superseded
    # attempt is reaped first
    return Step(run=replace(_go(run, RunState.LEASED, now), blocker=".".join(owner[1:4])))


def _blocker_gone(run: Run, evidence: Evidence, now: datetime) -> Step:
    return Step(run=replace(_go(run, RunState.LEASED, now), blocker=None))


def _unsure(run: Run, evidence: Evidence, now: datetime) -> Step:
    listed = "; ".join(evidence.left[:3])
    sentence = f"processes of a run could not be proved gone: {listed or evidence.detail}"
    after = replace(run, sentence=sentence)
    return Step(run=after, host_state=HostState.NEEDS_CARE, host_sentence=sentence)


def _no_way(run: Run, evidence: Evidence, now: datetime) -> Step:
    """The host did not let us in.

    If this was the attempt's only operation and no command was sent, nothing can have been
    executed, and the run goes back to the queue; otherwise the lease stays until evidence ends it.
    """
    if run.state is RunState.LEASED and run.sends <= 1 and not evidence.commanded:
        after = replace(
            _to_queue(run, now, evidence.detail, RETRY_HOST), attempt=max(run.attempt - 1, 0)
        )
        release = True
    else:
        after, release = replace(run, sentence=evidence.detail), False
    if evidence.status is Status.HOSTKEY:
        return Step(
            run=after,
            release=release,
            unreachable=None,
            host_state=HostState.QUARANTINED,
            host_sentence=evidence.detail,
        )
    return Step(run=after, release=release, unreachable=True, host_sentence=evidence.detail)


def _purged(run: Run, evidence: Evidence, now: datetime) -> Step:
    return Step(run=replace(_go(run, RunState.ENDED, now), ended_at=now), release=True)


def _reaped(run: Run, evidence: Evidence, now: datetime) -> Step:
    ending = run.ending or Ending(outcome=Outcome.INFRA_FAILED, reason="the attempt was lost")
    retry = ending.outcome in (Outcome.VOID, Outcome.INFRA_FAILED)
    if retry and not run.cancel and run.attempt < run.max_attempts:
        sentence = f"attempt {run.attempt}: {ending.reason}"
        return Step(run=_to_queue(run, now, sentence, 0.0), release=True)
    after = replace(_go(run, RunState.ENDED, now, ending=ending), ended_at=now)
    return Step(run=after, release=True)


def _table() -> dict[tuple[RunState, Status], _Rule]:
    """Every pair has its entry: first what holds for a state, then its exceptions."""
    s, r = Status, RunState
    table: dict[tuple[RunState, Status], _Rule] = {}
    away: dict[Status, _Rule] = {
        s.UNREACHABLE: _no_way,
        s.HOSTKEY: _no_way,
        s.AUTH: _no_way,
        s.TIMEOUT: _again,
        s.PROTO: _again,
    }
    died = _lost("the run's process is gone and left no result")
    absent = _lost("the host does not know the run")
    rebooted = _lost("the host was rebooted in the middle of the run")
    lost: dict[Status, _Rule] = {s.DIED: died, s.REBOOTED: rebooted, s.ABSENT: absent}
    own: dict[RunState, dict[Status, _Rule]] = {
        r.QUEUED: {},
        r.LEASED: {
            s.PREPARED: _start_again,
            s.RUNNING: _running,
            s.DONE: _done,
            s.DIED: died,
            s.REBOOTED: rebooted,
            s.ABSENT: _start_again,
            s.BUSY: _busy,
            s.STALE: _stale,
            s.OTHERBOOT: _otherboot,
            s.CLEAN: _blocker_gone,
            s.NOTOWNER: _blocker_gone,
            s.PURGED: _blocker_gone,
            s.UNSURE: _unsure,
        },
        r.BOOTING: {},
        r.RUNNING: {
            **lost,
            s.PREPARED: _start_again,
            s.RUNNING: _running,
            s.DONE: _done,
            s.BUSY: absent,
            s.STALE: absent,
            s.NOTOWNER: absent,
            s.PURGED: absent,
            s.OTHERBOOT: rebooted,
        },
        r.FETCHING: {
            **lost,
            s.DONE: _done,
            s.BUSY: absent,
            s.STALE: absent,
            s.NOTOWNER: absent,
            s.PURGED: absent,
            s.OTHERBOOT: rebooted,
        },
        r.STORED: dict.fromkeys(
            (s.PURGED, s.NOTOWNER, s.ABSENT, s.CLEAN, s.BUSY, s.STALE, s.OTHERBOOT, s.REBOOTED),
            _purged,
        ),
        r.KILLING: {
            **lost,
            s.DONE: _done,
            s.PURGED: absent,
            s.NOTOWNER: absent,
            s.CLEAN: absent,
            s.BUSY: absent,
            s.STALE: absent,
            s.OTHERBOOT: rebooted,
            s.UNSURE: _unsure,
        },
        r.REAPING: {
            **dict.fromkeys((s.CLEAN, s.PURGED, s.NOTOWNER, s.ABSENT, s.BUSY, s.STALE), _reaped),
            s.UNSURE: _unsure,
        },
        r.ENDED: {},
    }
    for state in RunState:
        for status in Status:
            rule = own[state].get(status)
            if rule is None and state in (r.QUEUED, r.ENDED):
                rule = _stay
            table[state, status] = rule or away.get(status, _stay)
    return table


TABLE = _table()
