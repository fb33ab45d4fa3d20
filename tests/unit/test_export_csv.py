"""CSV: one row a fact, and every number reads back as it was."""

from __future__ import annotations

import csv as standard
import io
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator import report
from orchestrator.contract.domain import Note, Outcome
from orchestrator.export import csv
from orchestrator.stats.series import ExcludedRun
from tests.unit import series
from tests.unit.series import latencies, value


def rows(text: str) -> list[dict[str, str]]:
    return list(standard.DictReader(io.StringIO(text)))


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_measurement_reads_back_exact(measured: float) -> None:
    row = rows(csv.measurements([value(value=measured)]))[0]
    assert float(row["value_si"]) == measured
    assert row["unit_si"] == "bit/s"


def test_measurements_have_a_row_for_each_metric_of_each_run() -> None:
    read = rows(csv.measurements(series.imported("iperf-2007.flat.txt")))
    assert len(read) == 12 * 3
    first = read[0]
    assert (first["value"], first["unit"], first["value_si"]) == ("4.39", "Gbit/s", "4390000000.0")
    assert first["params"] == "seconds=300 streams=10 tool=iperf2"
    assert first["boot"] == ""


def test_text_with_commas_quotes_and_lines_reads_back() -> None:
    text = 'a "loaded", \n old host'
    read = rows(csv.measurements([value(group=text, notes=(Note(code="n", text=text),))]))
    assert (read[0]["group"], read[0]["notes"]) == (text, text)


def test_summaries_have_a_row_for_each_host_and_kernel_and_read_back_exact() -> None:
    tables = report.results_tables(series.imported("iperf-2007.flat.txt"))
    read = rows(csv.summaries(tables))
    assert len(read) == 12
    for row, made in zip(read, [row for table in tables for row in table.rows], strict=True):
        assert float(row["mean"]) == made.mean
        assert float(row["ci95_low"]) == made.ci95_low
        assert (row["boots"], row["ci_scope"]) == ("unknown", "boots unknown")


def test_summary_of_what_was_not_measured_is_empty_and_never_zero() -> None:
    row = rows(csv.summaries([report.results_table([value()])]))[0]
    assert (row["sd"], row["ci95_low"], row["p50"], row["samples"]) == ("", "", "", "")


def test_summary_counts_runs_left_out_beside_those_that_count() -> None:
    void = ExcludedRun(
        run="r9",
        host="homer",
        kernel_id="k1",
        kernel="6.12.0",
        playbook="loopback-throughput",
        outcome=Outcome.VOID,
        reason="the host was rebooted",
    )
    unknown = replace(void, kernel_id="", kernel="", outcome=Outcome.INFRA_FAILED, reason="no disk")
    read = rows(csv.summaries([report.results_table([value()], [void, unknown, unknown])]))
    assert [(row["runs"], row["left_out"], row["left_out_reason"]) for row in read] == [
        ("1", "1", "void: the host was rebooted"),
        ("0", "2", "infra-failed: no disk"),
    ]
    assert read[1]["mean"] == ""


def test_percentile_that_n_does_not_reach_says_so() -> None:
    row = rows(csv.summaries([report.results_table([latencies(range(1000))])]))[0]
    assert (row["p99"], row["p99_9"]) == ("0.989", "not attainable (1000)")


def test_notes_stand_in_the_rows_they_are_about() -> None:
    noisy = replace(value(), notes=(Note(code="noise", text="the host was busy"),))
    read = rows(csv.summaries([report.results_table([noisy, value(run="2", host="marge")])]))
    assert [row["notes"] for row in read] == ["the host was busy", ""]
