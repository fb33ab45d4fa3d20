"""Tables as plain text: for a terminal without colours, and for a mail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from orchestrator.contract.domain import Better
from orchestrator.report import layout
from orchestrator.report.layout import Column, number
from orchestrator.report.table import PercentileCell, ResultsTable, Row
from orchestrator.stats import summary

#: what the number of boots is where a boot is unknown
UNKNOWN: Final = "?"
INTERVAL: Final = "95% CI of mean"
#: title of a table without a metric
UNMEASURED: Final = "no run gave a number"

_DIRECTION: Final = {
    Better.HIGHER: "higher is better",
    Better.LOWER: "lower is better",
    Better.NEITHER: "neither direction is better",
}


def plain(table: ResultsTable, *, width: int = layout.WIDTH) -> str:
    """The table in ASCII; what does not fit into the width goes below."""
    lines = [*_title(table, hosts=()), ""]
    if table.metric:
        keys, columns = _keys(table, host=True), _all_columns(table)
        lines += layout.blocks(keys, columns, _headings(table), width=width)
    return _text([*lines, *_below(table, width)])


def mail(*tables: ResultsTable) -> str:
    """Tables as one pastes them into a mail: every run in its column, then mean and sd."""
    return "\n".join(_text(_mail_lines(table)) for table in tables)


def _mail_lines(table: ResultsTable) -> list[str]:
    hosts = tuple(dict.fromkeys(row.host for row in table.rows))
    single = len(hosts) == 1
    lines = [*_title(table, hosts=hosts if single else ()), ""]
    if table.metric:
        columns = _sample_columns(table) if table.of_samples else _run_columns(table)
        lines += layout.blocks(_keys(table, host=not single), columns, _headings(table))
    return [*lines, *_below(table)]


def _title(table: ResultsTable, *, hosts: Sequence[str]) -> list[str]:
    params = " ".join(f"{name}={value}" for name, value in table.params)
    unit = "" if table.unit == "1" else f" in {table.unit}"
    what = f"{table.metric}{unit}, {_DIRECTION[table.better]}" if table.metric else UNMEASURED
    first = f"{table.playbook}: {what}"
    rest = [params] if params else []
    rest += [f"host {host}" for host in hosts]
    return [*layout.paragraph(first), *(layout.paragraph(", ".join(rest)) if rest else [])]


def _keys(table: ResultsTable, *, host: bool) -> list[Column]:
    rows = table.rows
    labels = Counter((row.host, row.group, row.kernel, row.point) for row in rows)
    kernels = tuple(
        row.kernel
        if labels[row.host, row.group, row.kernel, row.point] == 1
        else f"{row.kernel} [{row.kernel_id[:8]}]"
        for row in rows
    )
    axes = dict.fromkeys(name for row in rows for name, _ in row.point)
    points = [Column(axis, tuple(dict(row.point).get(axis, "") for row in rows)) for axis in axes]
    hosts = [Column("host", tuple(row.host for row in rows))] if host else []
    return [*hosts, Column("kernel", kernels), *points]


def _headings(table: ResultsTable) -> list[str]:
    return [row.group for row in table.rows]


def _all_columns(table: ResultsTable) -> list[Column]:
    counts = [_column(table, "boots", _boots), _column(table, "runs", lambda row: str(row.runs))]
    if table.of_samples:
        middle = [_mean(table), _sd(table), _minimum(table), *_percentiles(table)]
        return [*counts, *middle, _maximum(table), _samples(table), *_interval(table)]
    spread = [_mean(table), _sd(table), _minimum(table), _maximum(table)]
    return [*counts, *spread, *_interval(table)]


def _run_columns(table: ResultsTable) -> list[Column]:
    digits = layout.decimals(_values(table))
    most = max(row.runs for row in table.rows)
    runs = [
        Column(
            f"run{place + 1}",
            tuple(
                number(row.values[place], digits) if place < len(row.values) else ""
                for row in table.rows
            ),
        )
        for place in range(most)
    ]
    return [*runs, _mean(table), _sd(table), *_interval(table)]


def _sample_columns(table: ResultsTable) -> list[Column]:
    columns = [_mean(table, "average"), _minimum(table, "minimum"), _maximum(table, "maximum")]
    columns += [*_percentiles(table), _samples(table)]
    if any(row.runs > 1 for row in table.rows):
        columns += [_column(table, "runs", lambda row: str(row.runs)), _sd(table)]
        columns += _interval(table)
    return [column for column in columns if set(column.cells) != {layout.UNMEASURED}]


def _column(table: ResultsTable, header: str, cell: Callable[[Row], str]) -> Column:
    return Column(header, tuple(cell(row) for row in table.rows))


def _boots(row: Row) -> str:
    return UNKNOWN if row.boots is None else str(row.boots)


def _values(table: ResultsTable) -> list[float]:
    return [value for row in table.rows for value in row.values]


def _finer(table: ResultsTable, cells: Iterable[float | None]) -> int:
    """Digits of what is computed of values: two more than theirs, where theirs are all shown."""
    values = _values(table)
    digits = layout.decimals(values)
    if layout.exact(values) > digits:
        return digits
    return min(layout.exact([cell for cell in cells if cell is not None]), digits + 2)


def _mean(table: ResultsTable, header: str = "mean") -> Column:
    digits = _finer(table, (row.mean for row in table.rows))
    return _column(table, header, lambda row: number(row.mean, digits))


def _sd(table: ResultsTable) -> Column:
    digits = _finer(table, (row.sd for row in table.rows))
    return _column(table, "sd", lambda row: number(row.sd, digits))


def _minimum(table: ResultsTable, header: str = "min") -> Column:
    digits = layout.decimals(row.minimum for row in table.rows if row.minimum is not None)
    return _column(table, header, lambda row: number(row.minimum, digits))


def _maximum(table: ResultsTable, header: str = "max") -> Column:
    digits = layout.decimals(row.maximum for row in table.rows if row.maximum is not None)
    return _column(table, header, lambda row: number(row.maximum, digits))


def _samples(table: ResultsTable) -> Column:
    return _column(
        table, "samples", lambda row: str(row.samples) if row.samples else layout.UNMEASURED
    )


def _interval(table: ResultsTable) -> list[Column]:
    digits = _finer(table, (row.ci95_low for row in table.rows))

    def limits(row: Row) -> str:
        if row.ci95_low is None:
            return layout.UNMEASURED
        return f"[{number(row.ci95_low, digits)}, {number(row.ci95_high, digits)}]"

    def scope(row: Row) -> str:
        return layout.UNMEASURED if row.ci95_low is None else str(row.ci_scope)

    if not _scopes(table):
        return []
    columns = [_column(table, INTERVAL, limits)]
    return [*columns, _column(table, "interval", scope)] if len(_scopes(table)) > 1 else columns


def _scopes(table: ResultsTable) -> set[str]:
    return {str(row.ci_scope) for row in table.rows if row.ci95_low is not None}


def _percentiles(table: ResultsTable) -> list[Column]:
    columns = []
    for name in dict.fromkeys(cell.name for row in table.rows for cell in row.percentiles):
        cells = [
            next((cell for cell in row.percentiles if cell.name == name), PercentileCell(name=name))
            for row in table.rows
        ]
        digits = layout.decimals(cell.value for cell in cells if cell.value is not None)
        shown = tuple(percentile(cell, digits) for cell in cells)
        columns.append(Column(name.replace("_", "."), shown))
    # a source that knows no percentiles has no columns of them
    return columns if any(set(one.cells) != {layout.UNMEASURED} for one in columns) else []


def percentile(cell: PercentileCell, digits: int) -> str:
    """What a percentile cell says: a number, ``not attainable (n)``, ``> limit`` or ``-``."""
    if not cell.attainable:
        return f"not attainable ({cell.n})"
    if cell.over is not None:
        return f"> {number(cell.over, layout.decimals([cell.over]))}"
    return number(cell.value, digits)


def _below(table: ResultsTable, width: int = layout.WIDTH) -> list[str]:
    lines = layout.paragraph("; ".join(_about_intervals(table)), indent="  ", width=width)
    lines += layout.paragraph(_about_samples(table), indent="  ", width=width)
    lines = [line for line in lines if line]
    for left in table.excluded:
        point = [f"{name}={value}" for name, value in left.point]
        where = " ".join(filter(None, (left.host, left.kernel, *point, left.group)))
        runs = "run" if left.runs == 1 else "runs"
        lines += layout.paragraph(
            f"left out, {where}: {left.runs} {runs} {left.outcome}: {left.reason}",
            indent="  ",
            width=width,
        )
    for note in table.notes:
        about = dict.fromkeys(
            f"{table.rows[place].host} {table.rows[place].kernel}" for place in note.rows
        )
        rows = f" ({', '.join(about)})" if about else ""
        lines += layout.paragraph(f"note: {note.text}{rows}", indent="  ", width=width)
    return ["", *lines] if lines else []


def _about_intervals(table: ResultsTable) -> list[str]:
    """What the column of intervals speaks of, and what it needs to be read."""
    scopes = _scopes(table)
    said = [f"{INTERVAL}: {scope}" for scope in scopes] if len(scopes) == 1 else []
    short = [row for row in table.rows if row.runs > 1 and row.ci95_low is None]
    if short:
        said.append(f"an interval needs {summary.FEWEST} {_counted_once(short)}")
    below = [row for row in table.rows if (row.ci95_low or 0) < 0 <= (row.minimum or 0)]
    if below:
        few = f"too few or too different {_counted_once(below)}"
        said.append(f"an interval that reaches below 0 is of {few}")
    return said


def _about_samples(table: ResultsTable) -> str:
    """What is over runs and what over samples, where there is a difference."""
    if not table.of_samples or all(row.runs < 2 for row in table.rows):
        return ""
    percentiles = ", percentiles" if _percentiles(table) else ""
    return (
        f"mean and sd are over {_counted_once(table.rows)}; min{percentiles} and max over samples"
    )


def _counted_once(rows: Iterable[Row]) -> str:
    """What counts once in the means of rows."""
    return "boots" if any(row.method == summary.OF_BOOTS for row in rows) else "runs"


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
