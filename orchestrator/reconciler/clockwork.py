"""What a row calls for at a time, and the row after an operation was sent or a lease was given."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from orchestrator.contract.domain import OperationName, Outcome, RunState
from orchestrator.runs import Ending, Run

#: seconds between two sendings of one operation, first and at most
RESEND_FIRST = 15.0
RESEND_MOST = 300.0
#: seconds by which attending may exceed the expected time before the operation is sent again
ATTEND_GRACE = 12.0
#: seconds after attending must have ended before a start is sent again
ATTEND_OVER = 5.0
#: runs that are expected to end within this many seconds are attended
ATTEND = 10.0
#: seconds that a run may go on after its host should have stopped it
GRACE = 60.0


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
    attending = attend_s(run) if op is OperationName.START else 0.0
    first = attending + ATTEND_OVER if attending else RESEND_FIRST
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


def stored(run: Run, ending: Ending, now: datetime) -> Run:
    """The row once its result is committed. A result that came after a kill is kept as it is."""
    return replace(run, state=RunState.STORED, ending=ending, next_at=now, tries=0)
