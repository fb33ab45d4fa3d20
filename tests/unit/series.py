"""Values of runs for tests: made up, or from an imported mail."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from orchestrator.contract.domain import Better
from orchestrator.importers.base import ImportedRun
from orchestrator.importers.mail import read_mail
from orchestrator.stats.series import RunValue

DATA = Path(__file__).parent.parent / "data"


def mail(name: str) -> bytes:
    return (DATA / "mails" / name).read_bytes()


def value(**changes: Any) -> RunValue:
    """A throughput of 4 Gbit/s on one host under one kernel, but for the changes."""
    fields: dict[str, Any] = {
        "run": "r1",
        "host": "homer",
        "kernel_id": "k1",
        "kernel": "6.12.0",
        "boot": "b1",
        "playbook": "loopback-throughput",
        "metric": "throughput",
        "value": 4e9,
        "unit": "Gbit/s",
        "better": Better.HIGHER,
    }
    return RunValue(**fields | changes)


def latencies(samples: Iterable[int], **changes: Any) -> RunValue:
    """The mean latency of one run in us, with its samples in ns."""
    raw = tuple(samples)
    return value(
        **{
            "playbook": "sched-latency",
            "metric": "latency.mean",
            "value": sum(raw) / len(raw) / 1e9,
            "unit": "us",
            "better": Better.LOWER,
            "samples": len(raw),
            "raw": raw,
        }
        | changes
    )


def imported(name: str) -> list[RunValue]:
    """All measurements of a mail, as the store hands them over."""
    return of_runs(read_mail(mail(name), name=name))


def of_runs(runs: Iterable[ImportedRun]) -> list[RunValue]:
    return [
        RunValue(
            run=f"run-{run.order}",
            host="imported",
            kernel_id=hashlib.sha256(repr(run.identity).encode()).hexdigest(),
            kernel=run.kernel,
            group=run.group,
            boot=None,
            playbook=run.playbook,
            params=run.params,
            metric=measured.name,
            value=measured.value,
            unit=measured.unit,
            better=measured.better,
            primary=measured.primary,
            samples=measured.samples,
            notes=run.notes,
            order=run.order,
        )
        for run in runs
        for measured in run.measurements
    ]
