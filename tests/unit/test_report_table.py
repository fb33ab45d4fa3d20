"""Results tables: who stands in which row, and that nothing unmeasured becomes a number."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from orchestrator import report
from orchestrator.contract import errors
from orchestrator.contract.domain import Note, Outcome
from orchestrator.stats import hist
from orchestrator.stats.series import ExcludedRun
from tests.unit import series
from tests.unit.series import latencies, value

VOID = ExcludedRun(
    run="r9",
    host="homer",
    kernel_id="k9",
    kernel="6.13.0",
    playbook="loopback-throughput",
    outcome=Outcome.VOID,
    reason="the host was rebooted",
)


def test_table_is_per_host_and_kernel() -> None:
    table = report.results_table(
        [
            value(run="1", value=4e9),
            value(run="2", value=5e9),
            value(run="3", kernel_id="k2", kernel="6.13.0", order=1),
            value(run="4", host="marge"),
        ]
    )
    assert [(row.host, row.kernel, row.runs) for row in table.rows] == [
        ("homer", "6.12.0", 2),
        ("homer", "6.13.0", 1),
        ("marge", "6.12.0", 1),
    ]
    assert table.rows[0].mean == 4.5


def test_table_does_not_depend_on_the_order_of_its_input() -> None:
    values = series.imported("iperf-2007.flat.txt")
    tables = report.results_tables(values)
    random.Random(1).shuffle(values)
    assert report.results_tables(values) == tables


def test_kernels_of_one_label_are_two_rows_and_the_label_is_marked() -> None:
    table = report.results_table([value(run="1"), value(run="2", kernel_id="k2")])
    assert [row.runs for row in table.rows] == [1, 1]
    assert [(note.code, note.rows) for note in table.notes] == [("ambiguous-label", ())]


def test_classes_of_environment_are_never_merged() -> None:
    table = report.results_table([value(run="1"), value(run="2", environment="other")])
    assert [row.runs for row in table.rows] == [1, 1]


def test_other_parameters_are_another_table_but_loads_stand_side_by_side() -> None:
    values = [
        value(run="1", params=(("load", "idle"), ("streams", "1"))),
        value(run="2", params=(("load", "busy"), ("streams", "1"))),
        value(run="3", params=(("load", "busy"), ("streams", "2"))),
    ]
    tables = report.results_tables(values)
    assert [(dict(table.params), len(table.rows)) for table in tables] == [
        ({"streams": "1"}, 2),
        ({"streams": "2"}, 1),
    ]
    with pytest.raises(errors.InputError, match="2 tables"):
        report.results_table(values)


def test_units_of_one_table_are_brought_to_one() -> None:
    table = report.results_table([value(run="1"), value(run="2", value=2e8, unit="Mbit/s")])
    assert (table.unit, table.rows[0].values) == ("Gbit/s", (4.0, 0.2))


def test_values_come_back_as_the_decimals_that_were_imported() -> None:
    tables = report.results_tables(series.imported("iperf-2007.wrapped.txt"))
    assert tables[0].rows[0].values == (4.39, 4.23, 4.36)
    assert [table.metric for table in tables] == ["throughput", "elapsed", "transferred"]


def test_percentiles_of_several_runs_come_from_their_samples_together() -> None:
    runs = [[100_000] * 900 + [200_000] * 100, [100_000] * 1000]
    values = [latencies(taken, run=str(n), order=n) for n, taken in enumerate(runs)]
    row = report.results_table(values).rows[0]
    merged = sorted(sample for taken in runs for sample in taken)
    by_name = {cell.name: cell.value for cell in row.percentiles}
    assert by_name["p50"] == 100.0
    assert by_name["p99"] == merged[1979] / 1000 == 200.0
    assert (row.samples, row.minimum, row.maximum) == (2000, 100.0, 200.0)
    assert row.values == (110.0, 100.0)


def test_percentiles_of_histograms_are_those_of_the_merged_one() -> None:
    one = hist.from_samples("latency", hist.LINEAR_1US, [5_000] * 600)
    other = hist.from_samples("latency", hist.LINEAR_1US, [9_000] * 400)
    values = [
        replace(latencies([5_000], run=run), raw=None, histogram=counts, samples=None)
        for run, counts in (("1", one), ("2", other))
    ]
    row = report.results_table(values).rows[0]
    assert [cell.value for cell in row.percentiles] == [5.0, 9.0, None]
    assert row.samples == 1000


def test_percentile_that_n_does_not_reach_has_no_value() -> None:
    row = report.results_table([latencies(range(1000))]).rows[0]
    p999 = row.percentiles[2]
    assert (p999.name, p999.value, p999.attainable, p999.n) == ("p99_9", None, False, 1000)
    assert row.percentiles[1].value == 0.989


def test_percentile_in_the_overflow_is_over_its_limit() -> None:
    counts = replace(
        hist.from_samples("latency", hist.LINEAR_1US, [5_000] * 900),
        n=1000,
        overflow=100,
        limit=400_000,
        maximum=900_000,
    )
    made = replace(latencies([5_000]), raw=None, histogram=counts)
    p99 = report.results_table([made]).rows[0].percentiles[1]
    assert (p99.value, p99.over) == (None, 400.0)


def test_percentiles_of_several_runs_without_samples_are_not_made_up() -> None:
    values = [
        replace(latencies([5_000], run=run), metric=f"latency.{name}", raw=None, samples=10**6)
        for run in ("1", "2")
        for name in ("mean", "p99")
    ]
    table = report.results_table(values)
    assert [cell.value for cell in table.rows[0].percentiles] == [None, None, None]
    assert [note.code for note in table.notes if note.code != "no-spread"] == ["samples-missing"]


def test_percentile_that_a_single_run_reported_is_shown_where_n_reaches_it() -> None:
    made = replace(latencies([7_000]), raw=None, metric="latency.p99")
    reached = report.results_table([replace(made, samples=1000)]).rows[0].percentiles[1]
    missed = report.results_table([replace(made, samples=999)]).rows[0].percentiles[1]
    assert (reached.value, missed.value, missed.attainable) == (7.0, None, False)


def test_summary_only_latency_keeps_what_the_source_says_and_no_more() -> None:
    table = report.results_table(series.imported("latency-2004.flat.txt"))
    row = table.rows[0]
    assert (row.group, row.point) == ("preemption enabled", (("load", "loaded"),))
    assert (row.mean, row.minimum, row.maximum, row.samples) == (170.0, 49.0, 840.0, 10_000)
    assert (row.sd, row.ci95_low, row.boots) == (None, None, None)
    assert {cell.n for cell in row.percentiles} == {None}


def test_runs_left_out_are_counted_by_reason_and_keep_their_row() -> None:
    table = report.results_table([value()], [VOID, replace(VOID, run="r10")])
    assert [(one.kernel, one.outcome, one.runs) for one in table.excluded] == [
        ("6.13.0", Outcome.VOID, 2)
    ]
    assert (table.rows[1].kernel, table.rows[1].runs, table.rows[1].mean) == ("6.13.0", 0, None)


def test_job_without_a_number_still_gives_a_table_with_reasons() -> None:
    table = report.results_table([], [replace(VOID, kernel_id="", kernel="")])
    assert (table.metric, table.rows) == ("", ())
    assert table.excluded[0].reason == "the host was rebooted"


def test_headline_keeps_what_is_primary_and_what_gave_no_number() -> None:
    values = [value(primary=True), value(metric="elapsed", unit="s")]
    failed = replace(VOID, params=(("streams", "9"),))
    tables = report.headline(report.results_tables(values, [failed]))
    assert [table.metric for table in tables] == ["throughput", ""]


def test_headline_of_a_playbook_without_a_primary_metric_is_all_of_it() -> None:
    values = [value(metric="elapsed", unit="s"), value(playbook="other", primary=True)]
    tables = report.headline(report.results_tables(values))
    assert [table.metric for table in tables] == ["elapsed", "throughput"]


def test_tables_of_a_metric_bring_what_gave_no_number_of_its_playbooks_only() -> None:
    failed = replace(VOID, params=(("streams", "9"),))
    values = [value(), value(metric="elapsed", unit="s")]
    tables = report.results_tables(values, [failed, replace(failed, playbook="other")])
    assert [table.metric for table in report.of_metric(tables, "throughput")] == ["throughput", ""]


def test_note_of_several_rows_is_said_once_with_its_rows() -> None:
    noisy = (Note(code="noise", text="the host was busy"),)
    table = report.results_table(
        [value(run="1", notes=noisy), value(run="2", notes=noisy), value(run="3", host="marge")]
    )
    notes = [(note.text, note.rows) for note in table.notes if note.code == "noise"]
    assert notes == [("the host was busy", (0,))]


def load_note(load: str) -> tuple[Note, ...]:
    return (Note(code="noisy-load", text=f"load {load} before the run; quiet is below 0.4"),)


def test_notes_that_differ_in_numbers_only_are_one_with_their_range() -> None:
    runs = [value(run=f"r{n}", notes=load_note(load)) for n, load in enumerate(("2.5", "11", "3"))]
    texts = [note.text for note in report.results_table(runs).notes if note.code == "noisy-load"]
    assert texts == ["load 2.5 to 11 before the run; quiet is below 0.4"]


def test_numbers_within_names_are_no_range() -> None:
    runs = [
        value(run=f"r{n}", notes=(Note(code="x", text=f"host a-{n} of 6.12.{n} is odd"),))
        for n in range(2)
    ]
    texts = [note.text for note in report.results_table(runs).notes if note.code == "x"]
    assert texts == ["host a-0 of 6.12.0 is odd", "host a-1 of 6.12.1 is odd"]


def test_percentile_that_is_not_attainable_is_no_note_beside_its_cell() -> None:
    absent = (Note(code="absent", text="latency.p99.9 is absent: found no p99.9"),)
    table = report.results_table([latencies(range(1000, 101_000, 1000), notes=absent)])
    assert "absent" not in {note.code for note in table.notes}


def test_table_goes_to_json_and_comes_back() -> None:
    for table in report.results_tables(series.imported("iperf-2007.flat.txt"), [VOID]):
        assert report.ResultsTable.model_validate_json(table.model_dump_json()) == table
