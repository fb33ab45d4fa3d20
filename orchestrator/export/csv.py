"""Tidy CSV: one row a fact, units in columns, numbers in the shortest form that is exact."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from orchestrator import report
from orchestrator.contract import units
from orchestrator.report import rows, text
from orchestrator.stats import hist
from orchestrator.stats.series import Params, RunValue

MEASUREMENTS: Final = (
    "run", "host", "kernel", "kernel_id", "group", "boot", "playbook", "params", "environment",
    "metric", "value", "unit", "value_si", "unit_si", "better", "samples", "order", "notes",
)  # fmt: skip
_PERCENTILES: Final = tuple(hist.name(p) for p in hist.SHOWN)
SUMMARIES: Final = (
    "playbook", "params", "metric", "unit", "better", "host", "kernel", "kernel_id", "group",
    "environment", "boots", "runs", "mean", "sd", "min", "max", "median", "ci95_low", "ci95_high",
    "ci_scope", "method", *_PERCENTILES, "samples", "notes",
)  # fmt: skip


def measurements(values: Iterable[RunValue]) -> str:
    """One row for each metric of each run, with a header."""
    return _csv(MEASUREMENTS, map(_measurement, values))


def summaries(tables: Iterable[report.ResultsTable]) -> str:
    """One row for each row of each table, with a header. What was not measured is empty."""
    return _csv(SUMMARIES, (_summary(table, n) for table in tables for n in range(len(table.rows))))


def _measurement(run: RunValue) -> Mapping[str, object]:
    return {
        "run": run.run,
        "host": run.host,
        "kernel": run.kernel,
        "kernel_id": run.kernel_id,
        "group": run.group,
        "boot": run.boot,
        "playbook": run.playbook,
        "params": _params(run.params),
        "environment": run.environment,
        "metric": run.metric,
        "value": rows.shown(run.value, run.unit),
        "unit": run.unit,
        "value_si": run.value,
        "unit_si": units.BASE[units.dimension(run.unit)],
        "better": run.better.value,
        "samples": run.samples,
        "order": run.order,
        "notes": "; ".join(note.text for note in run.notes),
    }


def _summary(table: report.ResultsTable, place: int) -> Mapping[str, object]:
    row = table.rows[place]
    percentiles = {cell.name: _percentile(cell) for cell in row.percentiles}
    notes = [note.text for note in table.notes if not note.rows or place in note.rows]
    return {
        "playbook": table.playbook,
        "params": _params((*table.params, *row.point)),
        "metric": table.metric,
        "unit": table.unit,
        "better": table.better.value,
        "host": row.host,
        "kernel": row.kernel,
        "kernel_id": row.kernel_id,
        "group": row.group,
        "environment": row.environment,
        "boots": "unknown" if row.boots is None else row.boots,
        "runs": row.runs,
        "mean": row.mean,
        "sd": row.sd,
        "min": row.minimum,
        "max": row.maximum,
        "median": row.median,
        "ci95_low": row.ci95_low,
        "ci95_high": row.ci95_high,
        "ci_scope": row.ci_scope,
        "method": row.method,
        **{name: percentiles.get(name, "") for name in _PERCENTILES},
        "samples": row.samples,
        "notes": "; ".join(notes),
    }


def _percentile(cell: report.PercentileCell) -> object:
    if cell.value is not None:
        return cell.value
    unmeasured = cell.attainable and cell.over is None
    return "" if unmeasured else text.percentile(cell, 0)


def _params(params: Params) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(params))


def _csv(header: Sequence[str], lines: Iterable[Mapping[str, object]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, header, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()
