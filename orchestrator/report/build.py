"""From the values of runs to results tables: who stands together in a row, and who in a table."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from decimal import Decimal
from itertools import chain, zip_longest
from typing import Final, NamedTuple, TypeVar

from orchestrator.contract import errors, units
from orchestrator.contract.domain import Better, Note
from orchestrator.report import rows, table
from orchestrator.stats.series import ExcludedRun, Params, RunValue

#: parameters whose values are shown side by side in one table
AXES: Final = ("load",)

_STATISTIC: Final = re.compile(r"mean|min|max|sd|median|p\d+(_\d+)?")
#: a plain decimal that stands by itself, not one within a name
_NUMBER: Final = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.]*[A-Za-z_])")
_T = TypeVar("_T")


class _TableKey(NamedTuple):
    playbook: str
    params: Params
    family: str
    dimension: units.Dimension | None


def results_tables(
    values: Iterable[RunValue],
    excluded: Iterable[ExcludedRun] = (),
    *,
    axes: Sequence[str] = AXES,
) -> tuple[table.ResultsTable, ...]:
    """One table for each playbook, parameters and metric; primary metrics first."""
    left_out = _grouped(excluded, lambda run: (run.playbook, _fixed(run.params, axes)))
    by_table = _grouped(
        values,
        lambda run: _TableKey(
            run.playbook,
            _fixed(run.params, axes),
            family(run.metric)[0],
            units.dimension(run.unit),
        ),
    )
    with_values = {(key.playbook, key.params) for key in by_table}
    tables = [
        _table(key, members, left_out.get((key.playbook, key.params), []), axes)
        for key, members in by_table.items()
    ]
    tables += [
        _table(_TableKey(*key, "", None), [], members, axes)
        for key, members in left_out.items()
        if key not in with_values
    ]
    return tuple(sorted(tables, key=lambda t: (t.playbook, t.params, not t.primary, t.metric)))


def results_table(
    values: Iterable[RunValue],
    excluded: Iterable[ExcludedRun] = (),
    *,
    axes: Sequence[str] = AXES,
) -> table.ResultsTable:
    """The table of values that share playbook, parameters and metric.

    Raises: InputError where they make no table, or more than one.
    """
    tables = results_tables(values, excluded, axes=axes)
    if len(tables) != 1:
        raise errors.InputError(f"these runs make {len(tables)} tables, not one")
    return tables[0]


def headline(tables: Iterable[table.ResultsTable]) -> tuple[table.ResultsTable, ...]:
    """The tables that stand for their playbooks: of primary metrics, and those without a number.

    A playbook without a primary metric keeps all of its tables.
    """
    given = tuple(tables)
    led = {one.playbook for one in given if one.primary}
    return tuple(one for one in given if one.primary or not one.metric or one.playbook not in led)


def of_metric(tables: Iterable[table.ResultsTable], metric: str) -> tuple[table.ResultsTable, ...]:
    """The tables of a metric, and those of its playbooks in which no run gave a number."""
    given = tuple(tables)
    measured = {one.playbook for one in given if one.metric == metric}
    return tuple(
        one
        for one in given
        if one.metric == metric or (not one.metric and one.playbook in measured)
    )


def family(metric: str) -> tuple[str, str]:
    """The metric and the statistic that a name speaks of: ``latency.p99`` is latency, p99."""
    name, _, tail = metric.partition(".")
    statistic = tail.replace(".", "_")
    return (name, statistic) if _STATISTIC.fullmatch(statistic) else (metric, "")


def _table(
    key: _TableKey, members: list[RunValue], left_out: list[ExcludedRun], axes: Sequence[str]
) -> table.ResultsTable:
    lead = min(members, key=lambda run: (run.order, run.run, run.metric), default=None)
    # one table, one unit: runs may have been printed in different ones
    members = [dataclasses.replace(run, unit=lead.unit) for run in members] if lead else []
    of_samples = any(
        family(run.metric)[1] or run.raw is not None or run.histogram is not None for run in members
    )
    by_row = _grouped(members, lambda run: _row_key(run, axes))
    groups = _first(members, lambda run: (run.host, run.group))
    ordered = sorted(
        by_row.items(),
        key=lambda item: (
            item[0].host,
            groups[item[0].host, item[0].group],
            item[0].group,
            min(run.order for run in item[1]),
            item[0],
        ),
    )
    made = [
        rows.of_samples(row_key, _by_statistic(runs)) if of_samples else rows.plain(row_key, runs)
        for row_key, runs in ordered
    ]
    unmeasured = rows.unmeasured(
        {row_key.kernel_key for row_key in by_row}, left_out, lambda p: _point(p, axes)
    )
    shown = [*made, *unmeasured]
    return table.ResultsTable(
        playbook=key.playbook,
        params=key.params,
        metric=key.family,
        unit=lead.unit if lead else "",
        better=lead.better if lead else Better.NEITHER,
        primary=any(run.primary for run in members),
        of_samples=of_samples,
        rows=tuple(one.row for one in shown),
        notes=_notes(shown, lambda note: _concerns(note, key.family, of_samples=of_samples)),
        excluded=_exclusions(left_out, axes),
    )


def _row_key(run: RunValue, axes: Sequence[str]) -> rows.RowKey:
    return rows.RowKey(
        run.host,
        run.group,
        run.kernel,
        run.kernel_id,
        _point(run.params, axes),
        run.environment,
    )


def _by_statistic(runs: Iterable[RunValue]) -> list[dict[str, RunValue]]:
    """What each run says, by statistic, in the order of the runs."""
    by_run: dict[str, dict[str, RunValue]] = defaultdict(dict)
    for run in sorted(runs, key=lambda run: (run.order, run.run)):
        by_run[run.run][family(run.metric)[1]] = run
    return list(by_run.values())


def _concerns(note: Note, metric: str, *, of_samples: bool) -> bool:
    """Whether a note of a run is about this metric: an absent one is the other's concern.

    A percentile that n does not reach stands as such in its own cell.
    """
    return note.code != "absent" or (
        not of_samples and family(note.text.partition(" ")[0])[0] == metric
    )


def _notes(
    shown: Sequence[rows.NotedRow], concerns: Callable[[Note], bool]
) -> tuple[table.NoteLine, ...]:
    """Each caveat once, with the rows it is about; those that differ in numbers only are one."""
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    places: dict[tuple[str, str], dict[int, None]] = defaultdict(dict)
    for place, one in enumerate(shown):
        for note in filter(concerns, one.notes):
            shape = (note.code, _NUMBER.sub("#", note.text))
            alike[shape].append(note.text)
            places[shape][place] = None
    about: dict[tuple[str, str], list[int]] = defaultdict(list)
    for shape, texts in alike.items():
        about[shape[0], spanned(texts)] += places[shape]
    same = Counter((one.row.host, one.row.kernel, one.row.group, one.row.point) for one in shown)
    for place, one in enumerate(shown):
        row = one.row
        if same[row.host, row.kernel, row.group, row.point] > 1:
            text = f"{row.kernel} on {row.host} is more than one row: kernel or surroundings differ"
            about["ambiguous-label", text].append(place)
    measured = {place for place, one in enumerate(shown) if one.row.runs}
    return tuple(
        table.NoteLine(code=code, text=text, rows=() if measured <= set(places) else tuple(places))
        for (code, text), places in about.items()
    )


def spanned(texts: Sequence[str]) -> str:
    """One text for texts that differ in numbers only: each number that varies as its range."""
    pieces = _NUMBER.split(texts[0])
    numbers = [[Decimal(number) for number in _NUMBER.findall(text)] for text in texts]
    spans = [
        str(min(column)) if min(column) == max(column) else f"{min(column)} to {max(column)}"
        for column in zip(*numbers, strict=True)
    ]
    return "".join(chain.from_iterable(zip_longest(pieces, spans, fillvalue="")))


def _exclusions(
    left_out: Iterable[ExcludedRun], axes: Sequence[str]
) -> tuple[table.Exclusion, ...]:
    counted = Counter(
        (
            run.host,
            run.kernel,
            run.group,
            _point(run.params, axes),
            run.outcome,
            run.reason,
            run.kernel_id,
        )
        for run in left_out
    )
    return tuple(
        table.Exclusion(
            host=host,
            kernel=kernel,
            kernel_id=kernel_id,
            group=group,
            point=point,
            outcome=outcome,
            reason=reason,
            runs=runs,
        )
        for (host, kernel, group, point, outcome, reason, kernel_id), runs in sorted(
            counted.items()
        )
    )


def _fixed(params: Params, axes: Sequence[str]) -> Params:
    return tuple(sorted(pair for pair in params if pair[0] not in axes))


def _point(params: Params, axes: Sequence[str]) -> Params:
    return tuple(sorted(pair for pair in params if pair[0] in axes))


_K = TypeVar("_K", bound=Hashable)


def _grouped(items: Iterable[_T], key: Callable[[_T], _K]) -> dict[_K, list[_T]]:
    made: dict[_K, list[_T]] = defaultdict(list)
    for item in items:
        made[key(item)].append(item)
    return made


def _first(members: Iterable[RunValue], key: Callable[[RunValue], _K]) -> dict[_K, int]:
    """The least place in the order, of each group of runs."""
    least: dict[_K, int] = {}
    for run in members:
        least[key(run)] = min(run.order, least.get(key(run), run.order))
    return least
