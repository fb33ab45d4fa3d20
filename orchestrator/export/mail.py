"""Results as one pastes them into a mail: plain ASCII, at most 76 columns."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator import report
from orchestrator.report import checks as checks_


def results(tables: Iterable[report.ResultsTable], checks: Iterable[report.CheckList] = ()) -> str:
    """Health checks, then the tables, one below the other."""
    texts = [*(checks_.plain(check) for check in checks), report.mail(*tables)]
    return "\n".join(filter(None, texts))
