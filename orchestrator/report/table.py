"""The results table: one row per host and kernel, in the unit that the metric is shown in."""

from __future__ import annotations

from pydantic import FiniteFloat, NonNegativeInt, PositiveInt

from orchestrator.contract.domain import Better, Outcome
from orchestrator.report.views import View
from orchestrator.stats.summary import CiScope


class PercentileCell(View):
    """One percentile of a row.

    ``value`` is None where n does not reach it (``attainable`` is false), where it lies beyond
    what was counted (then it is over ``over``), and where it was not measured (``n`` is None).
    """

    #: ``p50``, ``p99``, ``p99_9``
    name: str
    value: FiniteFloat | None = None
    attainable: bool = True
    n: PositiveInt | None = None
    over: FiniteFloat | None = None


class NoteLine(View):
    """A caveat under the table and the rows it is about, counted from 0; all of them if empty."""

    code: str
    text: str
    rows: tuple[NonNegativeInt, ...] = ()


class Exclusion(View):
    """Runs that are not in the numbers, counted by the reason."""

    host: str
    kernel: str
    #: empty where they ended before their kernel was known
    kernel_id: str = ""
    group: str = ""
    #: the parameters whose values the table shows side by side
    point: tuple[tuple[str, str], ...] = ()
    outcome: Outcome
    reason: str
    runs: PositiveInt


class Row(View):
    """One host under one kernel. What was not measured is None, never 0.

    Units: that of the table.
    """

    host: str
    kernel: str
    kernel_id: str
    group: str = ""
    #: the parameters whose values the table shows side by side
    point: tuple[tuple[str, str], ...] = ()
    environment: str = ""
    #: None: unknown
    boots: NonNegativeInt | None
    runs: NonNegativeInt
    #: of each run, in their order; of samples: the mean of the run
    values: tuple[FiniteFloat, ...] = ()
    mean: FiniteFloat | None = None
    sd: FiniteFloat | None = None
    minimum: FiniteFloat | None = None
    maximum: FiniteFloat | None = None
    median: FiniteFloat | None = None
    ci95_low: FiniteFloat | None = None
    ci95_high: FiniteFloat | None = None
    ci_scope: CiScope | None = None
    method: str = ""
    percentiles: tuple[PercentileCell, ...] = ()
    samples: PositiveInt | None = None


class ResultsTable(View):
    """One metric of one playbook under one set of parameters, per host and kernel."""

    playbook: str
    params: tuple[tuple[str, str], ...]
    #: empty where no run gave a number
    metric: str
    unit: str
    better: Better
    primary: bool = False
    #: whether the metric is a statistic of samples, with percentiles
    of_samples: bool = False
    rows: tuple[Row, ...]
    notes: tuple[NoteLine, ...] = ()
    excluded: tuple[Exclusion, ...] = ()
