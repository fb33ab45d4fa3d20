"""Results as one pastes them into a mail: plain ASCII, at most 76 columns."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator import report


def results(tables: Iterable[report.ResultsTable]) -> str:
    """The tables, one below the other."""
    return report.mail(*tables)
