"""Mails of a kernel list, with tables of throughput or of scheduler latency in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from orchestrator.contract import errors
from orchestrator.importers import latency, text, throughput
from orchestrator.importers.base import ImportedRun

__all__ = ["ImportedRun", "read_mail"]


def read_mail(data: bytes, *, name: str) -> tuple[ImportedRun, ...]:
    """The runs that the mails of a file report; all of them, or none.

    ``name`` is what messages call the source.

    Raises: ImportRefused where there is no table, or something in one that cannot be believed;
    the message names the line.
    """
    source = text.read(data, name)
    runs: list[ImportedRun] = []
    for begin, end in source.mails():
        of_mail = [*throughput.read(source, begin, end), *latency.read(source, begin, end)]
        runs += _told_apart(of_mail, runs)
    if not runs:
        raise errors.ImportRefused(
            f"{name}: no table was found: neither [SUM] lines under a kernel label "
            "nor scheduler latencies"
        )
    return tuple(dataclasses.replace(run, order=n) for n, run in enumerate(runs, start=1))


def _told_apart(of_mail: Iterable[ImportedRun], before: Iterable[ImportedRun]) -> list[ImportedRun]:
    """The runs of a mail; a kernel and group that an earlier mail has too are other ones."""
    taken = {(run.playbook, run.params, run.kernel, run.group) for run in before}
    made = []
    for run in of_mail:
        group, count = run.group, 1
        while (run.playbook, run.params, run.kernel, group) in taken:
            count += 1
            group = f"{run.group} (mail {count})".strip()
        made.append(dataclasses.replace(run, group=group))
    return made
