"""Histograms and percentiles: golden sets, and agreement with the naive expansion."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.contract import errors
from orchestrator.contract.domain import Histogram
from orchestrator.stats import hist
from tests.unit.series import DATA

PERCENTILES = ("0.5", "0.9", "0.95", "0.99", "0.999", "0.9999", "0.99999")

samples = st.lists(st.integers(0, 10**10), min_size=1, max_size=50)
layouts = st.sampled_from(hist.LAYOUTS)


def expected(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((DATA / "statistics" / name / "expected.json").read_text())
    return read


def table(name: str, file: str) -> list[dict[str, str]]:
    with (DATA / "statistics" / name / file).open() as lines:
        return list(csv.DictReader(lines))


def by_run(rows: list[dict[str, str]], column: str) -> dict[str, list[int]]:
    values: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        values[row["run"]].append(int(row[column]))
    return values


def overflowing(name: str, limit_us: int) -> list[Histogram]:
    """The histograms of a set whose bins end at a limit."""
    bins = defaultdict(list)
    for row in table(name, "hist.csv"):
        bins[row["run"]].append((int(row["bin_us"]), int(row["count"])))
    return [
        Histogram(
            metric="latency",
            layout=hist.LINEAR_1US,
            counts=tuple(bins[meta["run"]]),
            n=int(meta["samples"]),
            minimum=int(meta["min_us"]) * 1000,
            maximum=int(meta["max_us"]) * 1000,
            total=int(meta["sum_us"]) * 1000,
            total_squares=0,
            overflow=int(meta["overflow"]),
            limit=limit_us * 1000,
        )
        for meta in table(name, "meta.csv")
    ]


def test_linear_histograms_merged_give_the_golden_percentiles() -> None:
    golden = expected("01_hist_merge_linear")
    runs = by_run(table("01_hist_merge_linear", "raw.csv"), "latency_us")
    merged = reduce(
        hist.merge,
        [
            hist.from_samples("latency", hist.LINEAR_1US, [us * 1000 for us in run])
            for run in runs.values()
        ],
    )
    whole = sorted(us for run in runs.values() for us in run)
    assert (merged.n, merged.total) == (golden["n"], golden["sum"] * 1000)
    for p, answer in golden["merged_percentiles"].items():
        found = hist.percentile(merged, p)
        assert (found.rank, found.value) == (answer["rank"], answer["value"] * 1000)
        assert hist.percentile_of(whole, p).value == answer["value"]
        assert list(hist.ci_ranks(merged.n, p)) == answer["ci95_ranks"]


def test_percentile_of_several_runs_is_not_the_average_of_theirs() -> None:
    wrong = expected("01_hist_merge_linear")["WRONG_average_of_run_percentiles"]["0.999"]
    runs = by_run(table("01_hist_merge_linear", "raw.csv"), "latency_us")
    whole = sorted(us for run in runs.values() for us in run)
    assert hist.percentile_of(whole, "0.999").value != wrong


def test_linear_bins_of_raw_samples_are_the_golden_bins() -> None:
    runs = by_run(table("01_hist_merge_linear", "raw.csv"), "latency_us")
    counted = Counter(
        (run, str(bucket), str(count))
        for run, values in runs.items()
        for bucket, count in hist.from_samples(
            "latency", hist.LINEAR_1US, [us * 1000 for us in values]
        ).counts
    )
    golden = table("01_hist_merge_linear", "hist.csv")
    assert counted == Counter((row["run"], row["bin_us"], row["count"]) for row in golden)


def test_rank_in_the_overflow_is_over_the_limit_and_never_the_last_bin() -> None:
    golden = expected("02_hist_overflow")
    merged = reduce(hist.merge, overflowing("02_hist_overflow", 400))
    assert (merged.n, merged.overflow) == (golden["n"], golden["overflow"])
    assert merged.total == round(golden["mean"] * golden["n"]) * 1000
    for p, answer in golden["merged_percentiles"].items():
        found = hist.percentile(merged, p)
        assert found.rank == answer["rank"]
        assert found.value == (None if answer["value"] is None else answer["value"] * 1000)
        over = answer["censored_at"]
        assert found.censored_at == (None if over is None else over * 1000)


def test_log_linear_histograms_merged_give_the_golden_percentiles() -> None:
    golden = expected("03_hist_hdr3")
    runs = by_run(table("03_hist_hdr3", "raw.csv"), "latency_ns")
    merged = reduce(
        hist.merge, [hist.from_samples("latency", hist.HDR3_NS, run) for run in runs.values()]
    )
    assert (merged.n, len(merged.counts)) == (golden["n"], golden["distinct_buckets"])
    for p, answer in golden["merged_percentiles"].items():
        assert hist.percentile(merged, p).value == answer["value"]


def test_log_linear_buckets_begin_at_the_golden_values() -> None:
    runs = by_run(table("03_hist_hdr3", "raw.csv"), "latency_ns")
    counted = Counter(
        (run, str(hist.bounds(hist.HDR3_NS, bucket)[0]), str(count))
        for run, values in runs.items()
        for bucket, count in hist.from_samples("latency", hist.HDR3_NS, values).counts
    )
    golden = table("03_hist_hdr3", "hist.csv")
    assert counted == Counter(
        (row["run"], row["lowest_equivalent_ns"], row["count"]) for row in golden
    )


@pytest.mark.parametrize("case", expected("04_percentile_rank_traps")["cases"])
def test_rank_is_exact_where_floats_are_not(case: dict[str, Any]) -> None:
    assert hist.rank(case["n"], case["p"]) == case["rank"]


@pytest.mark.parametrize("case", expected("05_order_stat_ci")["cases"])
def test_interval_ranks_are_the_golden_ones(case: dict[str, Any]) -> None:
    assert hist.ci_ranks(case["n"], case["p"]) == (case["l"], case["u"])


@pytest.mark.parametrize(
    ("n", "p", "reached"),
    [
        (999, "0.99", False),
        (1000, "0.99", True),
        (9999, "0.999", False),
        (10000, "0.999", True),
        (19, "0.5", False),
        (20, "0.5", True),
    ],
)
def test_percentile_needs_ten_samples_above_it(n: int, p: str, reached: bool) -> None:
    assert hist.attainable(n, p) is reached


def test_names_of_percentiles_are_words_of_a_metric() -> None:
    assert [hist.name(p) for p in hist.SHOWN] == ["p50", "p99", "p99_9"]


def test_two_layouts_are_not_merged() -> None:
    one = hist.from_samples("latency", hist.LINEAR_1US, [1000])
    other = hist.from_samples("latency", hist.HDR3_NS, [1000])
    with pytest.raises(errors.ParseError, match="do not merge"):
        hist.merge(one, other)


@pytest.mark.parametrize("taken", [[], [-1]])
def test_histogram_of_nothing_or_of_negative_samples_is_refused(taken: list[int]) -> None:
    with pytest.raises(errors.ParseError):
        hist.from_samples("latency", hist.HDR3_NS, taken)


def test_unknown_layout_is_refused() -> None:
    with pytest.raises(errors.ParseError, match="unknown histogram layout"):
        hist.bounds("log2", 1)


def test_counts_over_the_limit_of_the_other_are_overflow_after_merging() -> None:
    cut = overflowing("02_hist_overflow", 400)[1]
    wide = hist.from_samples("latency", hist.LINEAR_1US, [5_000, 900_000])
    merged = hist.merge(cut, wide)
    assert merged.overflow == cut.overflow + 1
    assert max(bucket for bucket, _ in merged.counts) < 400


@settings(deadline=None)
@given(layouts, st.integers(0, 2**62))
def test_bucket_holds_its_value_within_three_digits(layout: str, value: int) -> None:
    low, high = hist.bounds(layout, hist.index(layout, value))
    assert low <= value <= high
    assert high - low < 1000 if layout == hist.LINEAR_1US else (high - low) * 1000 <= max(low, 1000)


@settings(deadline=None)
@given(layouts, st.integers(0, 10**6))
def test_buckets_follow_each_other_without_a_gap(layout: str, bucket: int) -> None:
    assert hist.bounds(layout, bucket)[1] + 1 == hist.bounds(layout, bucket + 1)[0]


@settings(deadline=None)
@given(layouts, samples, st.sampled_from(PERCENTILES))
def test_percentile_lies_in_the_bucket_of_the_naive_one(
    layout: str, taken: list[int], p: str
) -> None:
    naive = hist.percentile_of(sorted(taken), p).value
    found = hist.percentile(hist.from_samples("latency", layout, taken), p).value
    assert naive is not None
    assert found is not None
    assert hist.index(layout, found) == hist.index(layout, naive)


@settings(deadline=None)
@given(layouts, samples, samples, samples)
def test_merging_is_counting_all_samples_in_any_grouping(
    layout: str, a: list[int], b: list[int], c: list[int]
) -> None:
    one, two, three = (hist.from_samples("latency", layout, taken) for taken in (a, b, c))
    whole = hist.from_samples("latency", layout, [*a, *b, *c])
    assert hist.merge(hist.merge(one, two), three) == whole
    assert hist.merge(three, hist.merge(two, one)) == whole
