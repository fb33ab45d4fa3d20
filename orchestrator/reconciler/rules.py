"""What single answers of a host do to a run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from orchestrator.contract.domain import HostState, Outcome, RunState, Status
from orchestrator.contract.messages import Evidence
from orchestrator.runs import Ending, Run

#: seconds between two polls
POLL_LEAST = 2.0
POLL_MOST = 300.0
#: useless answers in a row before a run is given up
PATIENCE = 4
#: a host's fence above this is damaged or made up; ours count from 1
HIGHEST_FENCE = 2**52
_OWNER = re.compile(
    r"(?P<lab>[0-9a-f]{32})\.(?P<attempt>[0-9a-f]{32}\.[1-9][0-9]{0,14}\.[1-9][0-9]{0,14})"
    r"\.[A-Za-z0-9-]+",
    re.ASCII,
)
#: seconds before a host that could not be reached, or is held by others, is tried again
RETRY_HOST = 30.0


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


Rule = Callable[[Run, Evidence, datetime], Step]


def blocked(run: Run, holder: Run | None, now: datetime) -> Step:
    """What a lock held by our own lab means: a live run is waited for, a lost attempt is reaped."""
    owner = run.blocker or ""
    live = holder is not None and holder.state not in (RunState.QUEUED, RunState.ENDED)
    if holder is None or not live or f"{holder.id}.{holder.attempt}.{holder.fence}" != owner:
        return Step(run=run)
    sentence = f"the machine executes run {holder.id[:8]} of host {holder.host}"
    after = replace(_to_queue(run, now, sentence, POLL_LEAST), attempt=max(run.attempt - 1, 0))
    return Step(run=after, release=True)


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


def stay(run: Run, evidence: Evidence, now: datetime) -> Step:
    """The evidence is late or repeats what is known."""
    return Step(run=run, unreachable=False if evidence.commanded else None)


def again(run: Run, evidence: Evidence, now: datetime) -> Step:
    """The way failed or the answer was garbled; what became of the command is unknown."""
    detail = evidence.detail or f"no usable answer to {evidence.op}"
    return Step(run=replace(run, sentence=detail), unreachable=None)


def useless(run: Run, evidence: Evidence, now: datetime) -> Step:
    """The host answers against the protocol. A few times may be chance; then it is reaped."""
    step = again(run, evidence, now)
    if run.tries < PATIENCE:
        return step
    detail = step.run.sentence
    if run.state in (RunState.REAPING, RunState.STORED):
        # a committed result is never put at risk: what is left is removed once the host is mended
        sentence = f"a run cannot be removed from it: {detail}"
        return replace(step, host_state=HostState.NEEDS_CARE, host_sentence=sentence)
    ending = run.ending or Ending(outcome=Outcome.INFRA_FAILED, reason=detail)
    return replace(step, run=_go(step.run, RunState.REAPING, now, ending=ending))


def start_again(run: Run, evidence: Evidence, now: datetime) -> Step:
    return Step(run=_go(run, RunState.LEASED, now))


def running(run: Run, evidence: Evidence, now: datetime) -> Step:
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


def done(run: Run, evidence: Evidence, now: datetime) -> Step:
    manifest = evidence.manifest or run.manifest
    after = replace(
        _go(run, RunState.FETCHING, now), manifest=manifest, rc=evidence.rc, sentence=""
    )
    return Step(run=after, store=True)


def lost(reason: str) -> Rule:
    """The attempt left no result; the host is cleaned and, within limits, it is tried again."""

    def rule(run: Run, evidence: Evidence, now: datetime) -> Step:
        outcome = Outcome.VOID if evidence.status is Status.REBOOTED else Outcome.INFRA_FAILED
        detail = f"{reason}: {evidence.detail}" if evidence.detail else reason
        ending = run.ending or Ending(outcome=outcome, reason=detail)
        return Step(run=_go(run, RunState.REAPING, now, ending=ending))

    return rule


def otherboot(run: Run, evidence: Evidence, now: datetime) -> Step:
    if run.sends <= 1:
        # this attempt's only start is the one that did nothing
        after = replace(_to_queue(run, now, "", 0.0), attempt=max(run.attempt - 1, 0))
        return Step(run=after, release=True, boot=evidence.boot)
    # an earlier copy of this start may have been executed under the boot that is gone, so that
    # the attempt is over; the host itself runs under the boot that it names now
    step = lost("the host was rebooted before the run was started")(run, evidence, now)
    ending = Ending(outcome=Outcome.VOID, reason="the host was rebooted")
    return replace(step, run=replace(step.run, ending=run.ending or ending), boot=evidence.boot)


def stale(run: Run, evidence: Evidence, now: datetime) -> Step:
    floor = evidence.host_fence or run.fence
    if floor > HIGHEST_FENCE:
        return _unreadable(run, now, f"its fence {floor} is out of range; remove BASE/fence.LAB")
    sentence = f"the host knows a higher fence ({floor}); leased again above it"
    return Step(run=_to_queue(run, now, sentence, 0.0), release=True, fence_floor=floor)


def busy(run: Run, evidence: Evidence, now: datetime) -> Step:
    found = _OWNER.fullmatch(evidence.owner or "")
    if found is None:
        sentence = f"its lock is held by an owner that cannot be read: {evidence.owner!r}"
        return _unreadable(run, now, sentence)
    if found["lab"] != evidence.lab:
        sentence = f"the host is held by lab {found['lab'][:8]}"
        return Step(run=_given_back(run, now, sentence, RETRY_HOST), release=True)
    # by whom of our own is for the store to say: a live run there is waited for, a superseded
    # attempt is reaped first
    return Step(run=replace(_go(run, RunState.LEASED, now), blocker=found["attempt"]))


def _unreadable(run: Run, now: datetime, sentence: str) -> Step:
    """What the host says of its lock or fence makes no sense: a person has to look at it."""
    after = _given_back(run, now, sentence, RETRY_HOST)
    return Step(run=after, release=True, host_state=HostState.QUARANTINED, host_sentence=sentence)


def _given_back(run: Run, now: datetime, sentence: str, wait_s: float) -> Run:
    """Back in the queue; an attempt whose only start did nothing is none."""
    after = _to_queue(run, now, sentence, wait_s)
    return replace(after, attempt=max(run.attempt - 1, 0)) if run.sends <= 1 else after


def blocker_gone(run: Run, evidence: Evidence, now: datetime) -> Step:
    return Step(run=replace(_go(run, RunState.LEASED, now), blocker=None))


def unsure(run: Run, evidence: Evidence, now: datetime) -> Step:
    listed = "; ".join(evidence.left[:3])
    sentence = f"processes of a run could not be proved gone: {listed or evidence.detail}"
    after = replace(run, sentence=sentence)
    return Step(run=after, host_state=HostState.NEEDS_CARE, host_sentence=sentence)


def no_way(run: Run, evidence: Evidence, now: datetime) -> Step:
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


def purged(run: Run, evidence: Evidence, now: datetime) -> Step:
    return Step(run=replace(_go(run, RunState.ENDED, now), ended_at=now), release=True)


def reaped(run: Run, evidence: Evidence, now: datetime) -> Step:
    ending = run.ending or Ending(outcome=Outcome.INFRA_FAILED, reason="the attempt was lost")
    retry = ending.outcome in (Outcome.VOID, Outcome.INFRA_FAILED)
    if retry and not run.cancel and run.attempt < run.max_attempts:
        sentence = f"attempt {run.attempt}: {ending.reason}"
        return Step(run=_to_queue(run, now, sentence, 0.0), release=True)
    after = replace(_go(run, RunState.ENDED, now, ending=ending), ended_at=now)
    return Step(run=after, release=True)
