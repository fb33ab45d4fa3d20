"""What people look at: one frozen object per view, the same for CLI, web page and export."""

from orchestrator.report.build import headline, of_metric, results_table, results_tables
from orchestrator.report.checks import CheckLine, CheckList
from orchestrator.report.table import Exclusion, NoteLine, PercentileCell, ResultsTable, Row
from orchestrator.report.text import mail, plain
from orchestrator.report.views import (
    HostView,
    JobView,
    MeasurementView,
    NoteView,
    RunView,
    SiteView,
    StatusView,
    WaitingView,
)

__all__ = [
    "CheckLine",
    "CheckList",
    "Exclusion",
    "HostView",
    "JobView",
    "MeasurementView",
    "NoteLine",
    "NoteView",
    "PercentileCell",
    "ResultsTable",
    "Row",
    "RunView",
    "SiteView",
    "StatusView",
    "WaitingView",
    "headline",
    "mail",
    "of_metric",
    "plain",
    "results_table",
    "results_tables",
]
