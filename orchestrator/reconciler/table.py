"""The table of the state machine: what each status does in each state. Total."""

from __future__ import annotations

from datetime import datetime

from orchestrator.contract.domain import RunState, Status
from orchestrator.contract.messages import Evidence
from orchestrator.reconciler import rules
from orchestrator.runs import Run


def apply(run: Run, evidence: Evidence, now: datetime) -> rules.Step:
    """What evidence of this run's own attempt does to it. Total over (state, status)."""
    return TABLE[run.state, evidence.status](run, evidence, now)


def _table() -> dict[tuple[RunState, Status], rules.Rule]:
    """Every pair has its entry: first what holds for a state, then its exceptions."""
    s, r = Status, RunState
    table: dict[tuple[RunState, Status], rules.Rule] = {}
    away: dict[Status, rules.Rule] = {
        s.UNREACHABLE: rules.no_way,
        s.HOSTKEY: rules.no_way,
        s.AUTH: rules.no_way,
        s.TIMEOUT: rules.again,
        s.PROTO: rules.useless,
    }
    died = rules.lost("the run's process is gone and left no result")
    absent = rules.lost("the host does not know the run")
    rebooted = rules.lost("the host was rebooted in the middle of the run")
    lost: dict[Status, rules.Rule] = {s.DIED: died, s.REBOOTED: rebooted, s.ABSENT: absent}
    own: dict[RunState, dict[Status, rules.Rule]] = {
        r.QUEUED: {},
        r.LEASED: {
            s.PREPARED: rules.start_again,
            s.RUNNING: rules.running,
            s.DONE: rules.done,
            s.DIED: died,
            s.REBOOTED: rebooted,
            s.ABSENT: rules.start_again,
            s.BUSY: rules.busy,
            s.STALE: rules.stale,
            s.OTHERBOOT: rules.otherboot,
            s.CLEAN: rules.blocker_gone,
            s.NOTOWNER: rules.blocker_gone,
            s.PURGED: rules.blocker_gone,
            s.UNSURE: rules.unsure,
        },
        r.BOOTING: {},
        r.RUNNING: {
            **lost,
            # what goes on there is not disturbed; its deadline ends it
            s.PROTO: rules.again,
            s.PREPARED: rules.start_again,
            s.RUNNING: rules.running,
            s.DONE: rules.done,
            s.BUSY: absent,
            s.STALE: absent,
            s.NOTOWNER: absent,
            s.PURGED: absent,
            s.OTHERBOOT: rebooted,
        },
        r.FETCHING: {
            **lost,
            s.DONE: rules.done,
            s.BUSY: absent,
            s.STALE: absent,
            s.NOTOWNER: absent,
            s.PURGED: absent,
            s.OTHERBOOT: rebooted,
        },
        r.STORED: dict.fromkeys(
            (s.PURGED, s.NOTOWNER, s.ABSENT, s.CLEAN, s.BUSY, s.STALE, s.OTHERBOOT, s.REBOOTED),
            rules.purged,
        ),
        r.KILLING: {
            **lost,
            s.DONE: rules.done,
            s.PURGED: absent,
            s.NOTOWNER: absent,
            s.CLEAN: absent,
            s.BUSY: absent,
            s.STALE: absent,
            s.OTHERBOOT: rebooted,
            s.UNSURE: rules.unsure,
        },
        r.REAPING: {
            **dict.fromkeys(
                (s.CLEAN, s.PURGED, s.NOTOWNER, s.ABSENT, s.BUSY, s.STALE), rules.reaped
            ),
            s.UNSURE: rules.unsure,
        },
        r.ENDED: {},
    }
    for state in RunState:
        for status in Status:
            rule = own[state].get(status)
            if rule is None and state in (r.QUEUED, r.ENDED):
                rule = rules.stay
            table[state, status] = rule or away.get(status, rules.stay)
    return table


TABLE = _table()
