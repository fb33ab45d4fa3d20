"""Tables as text: every figure of the founding mails, ASCII, at most 76 columns."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator import report
from orchestrator.contract.domain import Note, Outcome
from orchestrator.export import mail as mail_export
from orchestrator.report import layout
from orchestrator.stats.series import ExcludedRun
from tests.unit import series
from tests.unit.series import latencies, value

THROUGHPUT = report.results_tables(series.imported("iperf-2007.flat.txt"))
LATENCY = report.results_tables(series.imported("latency-2004.flat.txt"))


def squeezed(text: str) -> list[str]:
    """The lines of a text, with single blanks."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_throughput_mail_has_every_run_mean_and_sd() -> None:
    lines = squeezed(report.mail(THROUGHPUT[0]))
    for expected in (
        "2.6.23-smp 4.39 4.23 4.36 4.3267 0.0850 [4.1154, 4.5379]",
        "2.6.23-smp-d 4.96 4.96 4.93 4.9500 0.0173 [4.9070, 4.9930]",
        "2.6.23-smp-d-hrt 5.19 5.22 5.22 5.2100 0.0173 [5.1670, 5.2530]",
        "2.6.23-smp-d 4.97 4.95 4.96 4.9600 0.0100 [4.9352, 4.9848]",
    ):
        assert expected in lines


def test_throughput_mail_keeps_the_two_groups_apart() -> None:
    lines = squeezed(report.mail(THROUGHPUT[0]))
    first, second = (
        lines.index(group)
        for group in ("Previously reported numbers", "Numbers from fresh pull today")
    )
    assert lines[first + 2].startswith("2.6.23-smp-d 4.96")
    assert lines[second + 2].startswith("2.6.23-smp-d 4.97")


def test_latency_mail_has_average_minimum_and_maximum_of_each_setting() -> None:
    lines = squeezed(report.mail(*LATENCY))
    enabled, disabled = lines.index("preemption enabled"), lines.index("preemption disabled")
    assert "kernel load average minimum maximum samples" in lines
    assert lines[enabled + 1 : enabled + 3] == [
        "2.6.1 loaded 170 49 840 10000",
        "2.6.1 unloaded 50 46 233 10000",
    ]
    assert lines[disabled + 1 : disabled + 3] == [
        "2.6.1 loaded 232 43 1063 10000",
        "2.6.1 unloaded 44 41 215 10000",
    ]


def test_every_figure_of_the_mail_is_in_the_export() -> None:
    text = mail_export.results(THROUGHPUT)
    source = series.mail("iperf-2007.wrapped.txt").decode()
    rows = re.findall(r"\[SUM\] 0\.0-(\S+) sec (\S+) GBytes (\S+) Gbits/sec", source)
    assert len(rows) == 12
    for figure in {figure for row in rows for figure in row}:
        assert re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d.])", text)


def test_plain_table_counts_boots_and_runs_and_names_the_interval() -> None:
    lines = squeezed(report.plain(THROUGHPUT[0]))
    assert "host kernel boots runs mean sd min max" in lines
    assert "imported 2.6.23-smp ? 3 4.3267 0.0850 4.23 4.39" in lines
    assert "95% CI of mean: boots unknown" in lines


def test_intervals_of_different_scope_are_named_row_by_row() -> None:
    values = [
        value(run=f"{host}{n}", host=host, boot=f"b{n}" if host == "marge" else "b1", value=4e9 + n)
        for host in ("homer", "marge")
        for n in range(3)
    ]
    text = report.plain(report.results_table(values))
    assert re.search(r"homer .* within this boot", text)
    assert re.search(r"marge .* between boots", text)


def test_two_runs_make_no_interval_and_the_table_says_how_many_do() -> None:
    values = [value(run=str(n), value=4e9 + n) for n in range(2)]
    text = report.plain(report.results_table(values))
    assert "[" not in text
    assert "an interval needs 3 runs" in text.splitlines()


def test_interval_that_goes_below_zero_is_explained() -> None:
    values = [value(run=str(n), value=size) for n, size in enumerate((1e9, 9e9, 2e9))]
    text = report.plain(report.results_table(values))
    assert "[-" in text
    said = "an interval that reaches below 0 is of too few or too different runs"
    assert said in " ".join(text.split())


def test_table_of_samples_says_what_is_over_runs_and_what_over_samples() -> None:
    said = "mean and sd are over runs; min, percentiles and max over samples"
    runs = [latencies(range(1000, 90_000, 1000), run=str(n), order=n) for n in range(2)]
    assert said in report.plain(report.results_table(runs)).splitlines()
    assert said not in report.plain(report.results_table(runs[:1]))


def test_runs_without_a_number_are_a_title_and_their_reasons() -> None:
    missing = ExcludedRun(
        run="r9",
        host="homer",
        playbook="loopback-throughput",
        params=(("load", "busy"), ("streams", "1")),
        outcome=Outcome.INFRA_FAILED,
        reason="no contact for 1 h",
    )
    assert report.plain(report.results_table([], [missing])).splitlines() == [
        "loopback-throughput: no run gave a number",
        "streams=1",
        "",
        "",
        "left out, homer load=busy: 1 run infra-failed: no contact for 1 h",
    ]


def test_unit_one_is_not_printed() -> None:
    text = report.plain(report.results_table([value(unit="1")]))
    assert text.startswith("loopback-throughput: throughput, higher is better\n")


def test_latency_table_shows_percentiles_or_says_that_n_does_not_reach_them() -> None:
    text = report.plain(report.results_table([latencies(range(1000, 1_001_000, 1000))]))
    assert re.search(r"p50 +p99 +p99\.9", text)
    assert re.search(r"500 +990 +not attainable \(1000\)$", text, re.MULTILINE)


def test_unmeasured_cells_are_dashes_and_never_zero() -> None:
    missing = ExcludedRun(
        run="r9",
        host="homer",
        kernel_id="k9",
        kernel="6.13.0",
        playbook="loopback-throughput",
        outcome=Outcome.VOID,
        reason="the host was rebooted",
    )
    text = report.plain(report.results_table([value()], [missing]))
    assert "homer 6.13.0 0 0 - - - -" in squeezed(text)
    assert "left out, homer 6.13.0: 1 run void: the host was rebooted" in text


def test_kernels_of_one_label_are_told_apart_by_their_identity() -> None:
    table = report.results_table(
        [value(run="1", kernel_id="aaaabbbbcccc"), value(run="2", kernel_id="ddddeeeeffff")]
    )
    text = report.plain(table)
    assert "6.12.0 [aaaabbbb]" in text
    assert "6.12.0 [ddddeeee]" in text


@pytest.mark.parametrize("render", [report.plain, report.mail])
@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.text(min_size=1, max_size=40),
            st.text(max_size=120),
            st.floats(1e-3, 1e12),
            st.sampled_from([None, "b1", "b2"]),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_text_is_ascii_and_fits_a_mail_whatever_the_names(render, rows) -> None:  # type: ignore[no-untyped-def]
    values = [
        value(
            run=str(n),
            host=name,
            kernel=name,
            group=text,
            boot=boot,
            value=measured,
            order=n,
            notes=(Note(code="n", text=text),),
        )
        for n, (name, text, measured, boot) in enumerate(rows)
    ]
    for table in report.results_tables(values):
        text = render(table)
        assert all(len(line) <= layout.WIDTH for line in text.splitlines())
        assert all(char == "\n" or " " <= char <= "~" for char in text)


@pytest.mark.parametrize(
    ("values", "digits"),
    [
        ([4.39, 4.2], 2),
        ([170.0, 232.0], 0),
        ([4.391234567], 3),
        ([43912.34567], 0),
        ([0.000123456], 7),
        ([0.0], 0),
        ([], 0),
    ],
)
def test_decimals_are_those_of_the_values_or_four_digits(values: list[float], digits: int) -> None:
    assert layout.decimals(values) == digits


def test_mail_with_more_runs_than_fit_goes_on_below() -> None:
    values = [value(run=f"{n:02}", value=4e9 + n * 1e7, order=n) for n in range(20)]
    text = report.mail(report.results_table(values))
    assert all(f"run{n + 1}" in text for n in range(20))
    assert "4.19" in text


def test_long_kernel_label_is_broken_and_not_cut() -> None:
    label = "-".join(["6.12.0-rc4-generic-amd64"] * 4)
    kernel, runs = layout.Column("kernel", (label,)), layout.Column("runs", ("3",))
    first, *rest = layout.blocks([kernel], [runs], [""])[1:]
    assert first.endswith(" 3")
    assert "".join([first[:-1].strip(), *rest]) == label
