"""One row of a results table, from the runs that belong in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import reduce
from typing import Final, NamedTuple

from orchestrator.contract import units
from orchestrator.contract.domain import Histogram, Note
from orchestrator.report.table import PercentileCell, Row
from orchestrator.stats import hist, summary
from orchestrator.stats.series import ExcludedRun, Params, RunValue

SAMPLES_MISSING: Final = Note(
    code="samples-missing",
    text="percentiles of several runs come from their samples, which were not kept",
)


class RowKey(NamedTuple):
    """What the runs of a row have in common. Results of two kernels never meet."""

    host: str
    group: str
    kernel: str
    kernel_id: str
    point: Params
    environment: str

    @property
    def kernel_key(self) -> tuple[str, str, Params]:
        """Host, kernel and point: what a run without a number is filed under."""
        return self.host, self.kernel_id, self.point


class NotedRow(NamedTuple):
    """A row and the caveats that travel with it."""

    row: Row
    notes: tuple[Note, ...]


def plain(key: RowKey, runs: Sequence[RunValue]) -> NotedRow:
    """The row of a metric that is one number a run."""
    ordered = sorted(runs, key=lambda run: (run.order, run.run))
    values = [(shown(run.value, run.unit), run.boot) for run in ordered]
    made = summary.summarise(values)
    row = _row(key, made, [value for value, _ in values], len(ordered))
    samples = [run.samples for run in ordered if run.samples is not None]
    return NotedRow(row.model_copy(update={"samples": sum(samples) or None}), _notes(ordered, made))


def of_samples(key: RowKey, runs: Sequence[Mapping[str, RunValue]]) -> NotedRow:
    """The row of a metric that is a distribution; each run is given by its statistics."""
    leads = [next(iter(run.values())) for run in runs]
    unit = leads[0].unit
    means = [_statistic(run, "mean") for run in runs]
    measured = [
        (mean, lead.boot) for mean, lead in zip(means, leads, strict=True) if mean is not None
    ]
    made = summary.summarise(measured) if measured else None
    percentiles = _percentiles(runs, unit)
    samples = [_samples(run) for run in runs]
    row = _row(key, made, [value for value, _ in measured], len(runs)).model_copy(
        update={
            "boots": _boots(leads),
            "minimum": _extreme(min, runs, "min"),
            "maximum": _extreme(max, runs, "max"),
            "percentiles": percentiles,
            "samples": sum(n for n in samples if n) or None,
        }
    )
    notes = _notes([value for run in runs for value in run.values()], made)
    if len(runs) > 1 and any(cell.n is None for cell in percentiles):
        notes = (*notes, SAMPLES_MISSING)
    return NotedRow(row, notes)


def unmeasured(
    known: Set[tuple[str, str, Params]],
    left_out: Iterable[ExcludedRun],
    point: Callable[[Params], Params],
) -> list[NotedRow]:
    """A row without numbers for each host and kernel that has only runs that do not count."""
    keys = {
        RowKey(run.host, run.group, run.kernel, run.kernel_id, point(run.params), "")
        for run in left_out
        if run.kernel_id
    }
    return [
        NotedRow(_row(key, None, [], 0), ()) for key in sorted(keys) if key.kernel_key not in known
    ]


def shown(value: float, unit: str) -> float:
    """A value of the base unit in its unit, as the decimal number that it is."""
    # the way through the base unit may leave noise in the last of 17 digits
    return float(f"{units.show(value, unit):.15g}")


def _row(key: RowKey, made: summary.Summary | None, values: Sequence[float], runs: int) -> Row:
    low, high = made.ci95 if made and made.ci95 else (None, None)
    return Row(
        host=key.host,
        kernel=key.kernel,
        kernel_id=key.kernel_id,
        group=key.group,
        point=key.point,
        environment=key.environment,
        boots=made.n_boots if made else 0,
        runs=runs,
        values=tuple(values),
        mean=made.mean if made else None,
        sd=made.sd if made else None,
        minimum=made.minimum if made else None,
        maximum=made.maximum if made else None,
        median=made.median if made else None,
        ci95_low=low,
        ci95_high=high,
        ci_scope=made.ci_scope if made else None,
        method=made.method if made else "",
    )


def _notes(runs: Iterable[RunValue], made: summary.Summary | None) -> tuple[Note, ...]:
    notes: list[Note] = []
    for run in runs:
        if run.machine:
            notes.append(Note(code="machine", text=run.machine))
        notes += run.notes
    return (*notes, *(made.notes if made else ()))


def _boots(runs: Iterable[RunValue]) -> int | None:
    boots = {run.boot for run in runs}
    return None if None in boots else len(boots)


def _statistic(run: Mapping[str, RunValue], name: str) -> float | None:
    """A statistic of one run: as it was reported, else from what was kept of its samples."""
    if name in run:
        return shown(run[name].value, run[name].unit)
    unit = next(iter(run.values())).unit
    raw = _raw(run)
    if raw:
        of_raw = {"mean": sum(raw) / len(raw), "min": min(raw), "max": max(raw)}
        return _from_ns(of_raw[name], unit)
    counts = _histogram(run)
    if counts:
        of_counts = {"mean": counts.total / counts.n, "min": counts.minimum, "max": counts.maximum}
        return _from_ns(of_counts[name], unit)
    return None


def _extreme(
    pick: Callable[[list[float]], float], runs: Iterable[Mapping[str, RunValue]], name: str
) -> float | None:
    found = [_statistic(run, name) for run in runs]
    there = [value for value in found if value is not None]
    return pick(there) if there else None


def _samples(run: Mapping[str, RunValue]) -> int | None:
    raw, counts = _raw(run), _histogram(run)
    if raw:
        return len(raw)
    if counts:
        return counts.n
    return next((value.samples for value in run.values() if value.samples), None)


def _raw(run: Mapping[str, RunValue]) -> tuple[int, ...] | None:
    return next((value.raw for value in run.values() if value.raw), None)


def _histogram(run: Mapping[str, RunValue]) -> Histogram | None:
    return next((value.histogram for value in run.values() if value.histogram), None)


def _percentiles(runs: Sequence[Mapping[str, RunValue]], unit: str) -> tuple[PercentileCell, ...]:
    """Percentiles of all runs together: of their samples, or of their merged histograms."""
    raws = [_raw(run) for run in runs]
    if all(raws):
        merged = sorted(sample for raw in raws for sample in raw or ())
        return tuple(_cell(hist.percentile_of(merged, p), unit) for p in hist.SHOWN)
    counts = [_histogram(run) for run in runs]
    there = [one for one in counts if one]
    if len(there) == len(runs) and len({one.layout for one in there}) == 1:
        together = reduce(hist.merge, there)
        return tuple(_cell(hist.percentile(together, p), unit) for p in hist.SHOWN)
    return tuple(_reported(runs, p) for p in hist.SHOWN)


def _cell(found: hist.Percentile, unit: str) -> PercentileCell:
    reached = found.attainable
    over = found.censored_at
    return PercentileCell(
        name=hist.name(found.p),
        value=_from_ns(found.value, unit) if reached and found.value is not None else None,
        attainable=reached,
        n=found.n,
        over=_from_ns(over, unit) if reached and over is not None else None,
    )


def _reported(runs: Sequence[Mapping[str, RunValue]], p: str) -> PercentileCell:
    """What a single run reported of itself; of several nothing can be said."""
    name = hist.name(p)
    value = runs[0].get(name) if len(runs) == 1 else None
    if value is None or value.samples is None:
        return PercentileCell(name=name)
    reached = hist.attainable(value.samples, p)
    return PercentileCell(
        name=name,
        value=shown(value.value, value.unit) if reached else None,
        attainable=reached,
        n=value.samples,
    )


def _from_ns(ns: float, unit: str) -> float:
    return shown(units.tidy(ns, "ns"), unit)
