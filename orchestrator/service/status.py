"""The lab at a glance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orchestrator.contract.domain import RunState
from orchestrator.inventory import Host
from orchestrator.report.views import SiteView, StatusView, WaitingView
from orchestrator.runs import Run
from orchestrator.service import shown
from orchestrator.service.context import Context
from orchestrator.store import errands, hosts, results, runs

#: kinds of waiting that are listed
MOST_WAITING = 20


def status(ctx: Context) -> StatusView:
    """Hosts, what they do, what waits and why, and whether the sites answer."""
    now = ctx.now()
    with ctx.store.reading() as db:
        kernels, leases = hosts.kernels(db), hosts.leases(db)
        known = {host.name: host for host in hosts.select_hosts(db)}
        live = runs.live_runs(db)
        jobs = runs.jobs_by_id(db, {run.job for run in live})
        waiting = [run for run in live if run.state is RunState.QUEUED]
        busy = [run for run in live if run.state is not RunState.QUEUED]
        counts = runs.counts(db)
        return StatusView(
            hosts=tuple(shown.host(host, kernels, leases) for host in known.values()),
            queued=len(waiting),
            running=tuple(shown.run(run, jobs[run.job], kernels, None, ()) for run in busy),
            waiting=_grouped(
                (run, jobs[run.job].playbook, _why(run, known.get(run.host), leases))
                for run in waiting
            )[:MOST_WAITING],
            sites=tuple(
                SiteView(name=name, echo_age_s=shown.age(at, now))
                for name, at in sorted(hosts.sites(db).items())
            ),
            counts={
                "hosts": len(known),
                "runs": sum(counts.values()),
                "ended": counts.get(str(RunState.ENDED), 0),
                "results": results.count(db),
                "refused messages": errands.dead_letters(db),
            },
        )


def _why(run: Run, host: Host | None, leases: Mapping[str, str]) -> str:
    """What a queued run waits for; there always is something."""
    busy = host is not None and host.machine in leases
    return shown.why_waits(run, host) or ("its machine is busy" if busy else "its turn")


def _grouped(waiting: Iterable[tuple[Run, str, str]]) -> tuple[WaitingView, ...]:
    """Runs of a host and a playbook that wait for the same, together, in their order."""
    groups: dict[tuple[str, str, str], list[Run]] = {}
    for run, playbook, why in waiting:
        groups.setdefault((run.host, playbook, why), []).append(run)
    return tuple(
        WaitingView(run=members[0].id, host=host, playbook=playbook, why=why, runs=len(members))
        for (host, playbook, why), members in groups.items()
    )
