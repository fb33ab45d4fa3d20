"""Tidy CSV: one row a fact, units in columns, numbers in the shortest form that is exact."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
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
    "left_out", "left_out_reason",
)  # fmt: skip


def measurements(values: Iterable[RunValue]) -> str:
    """One row for each metric of each run, with a header."""
    return _csv(MEASUREMENTS, map(_measurement, values))


def summaries(tables: Iterable[report.ResultsTable]) -> str:
    """One row for each row of each table, with a header. What was not measured is empty.

    Runs that were left out before their kernel was known have a row of their own.
    """
    return _csv(SUMMARIES, chain.from_iterable(map(_summaries, tables)))


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


def _summaries(table: report.ResultsTable) -> Iterator[Mapping[str, object]]:
    left: dict[tuple[object, ...], list[report.Exclusion]] = {}
    for one in table.excluded:
        left.setdefault(_place(one), []).append(one)
    for place, row in enumerate(table.rows):
        yield {**_summary(table, place), **_left_out(left.pop(_place(row), []))}
    for ones in left.values():
        first = ones[0]
        yield {
            "playbook": table.playbook,
            "params": _params((*table.params, *first.point)),
            "metric": table.metric,
            "unit": table.unit,
            "better": table.better.value,
            "host": first.host,
            "kernel": first.kernel,
            "kernel_id": first.kernel_id,
            "group": first.group,
            "runs": 0,
            **_left_out(ones),
        }


def _place(one: report.Row | report.Exclusion) -> tuple[object, ...]:
    """What runs that count and runs that do not have in common where they belong together."""
    return one.host, one.kernel_id, one.group, one.point


def _left_out(ones: Sequence[report.Exclusion]) -> Mapping[str, object]:
    reason = f"{ones[0].outcome}: {ones[0].reason}" if ones else ""
    return {"left_out": sum(one.runs for one in ones), "left_out_reason": reason}


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
