"""Health checks of a query's runs: what a host showed, beside what its playbook allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.contract import errors, units
from orchestrator.contract.domain import Outcome
from orchestrator.playbook import model
from orchestrator.report.checks import CheckLine, CheckList
from orchestrator.runs import Job
from orchestrator.service import digestion

Row = Mapping[str, Any]


def newest(
    rows: Sequence[Row],
    jobs: Mapping[str, Job],
    measured: Mapping[str, Sequence[Row]],
    labels: Mapping[str, str],
) -> tuple[CheckList, ...]:
    """The newest check of each host, of rows that are oldest first; by playbook and host."""
    made = {}
    for row in rows:
        playbook = playbook_of(jobs[row["job"]])
        if playbook is not None and playbook.kind is model.Kind.HEALTH:
            found = measured.get(row["id"], ())
            made[row["playbook"], row["host"]] = _check(row, playbook, found, labels)
    return tuple(check for _, check in sorted(made.items()))


def playbook_of(job: Job) -> model.Playbook | None:
    """The playbook that a job was queued with; None for what was imported, or is not readable."""
    if job.imported_from is not None:
        return None
    try:
        return digestion.playbook_of(job.source, job.playbook)
    except errors.PlaybookError:
        # of another version: its runs have ended with that as their reason
        return None


def _check(
    row: Row, playbook: model.Playbook, measured: Sequence[Row], labels: Mapping[str, str]
) -> CheckList:
    values = {one["metric"]: units.show(one["value"], one["unit"]) for one in measured}
    lines = tuple(
        CheckLine(
            metric=metric.name,
            unit=metric.unit,
            value=values.get(metric.name),
            valid=metric.valid,
            needed=metric.needed,
        )
        for metric in playbook.metrics
    )
    return CheckList(
        playbook=row["playbook"],
        host=row["host"],
        kernel=labels.get(row["kernel"] or "", ""),
        run=row["id"],
        outcome=Outcome(row["outcome"]),
        reason=row["reason"],
        lines=lines if values else (),
    )
