"""The lab at a glance."""

from __future__ import annotations

from orchestrator.contract.domain import RunState
from orchestrator.report.views import SiteView, StatusView, WaitingView
from orchestrator.service import shown
from orchestrator.service.context import Context
from orchestrator.store import errands, hosts, results, runs


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
            waiting=tuple(
                WaitingView(
                    run=run.id,
                    host=run.host,
                    playbook=jobs[run.job].playbook,
                    why=shown.why_waits(run, known.get(run.host))
                    or ("its machine is busy" if leases else "it is next"),
                )
                for run in waiting[:20]
            ),
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
