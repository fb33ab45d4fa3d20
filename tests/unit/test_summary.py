"""Summaries: what the founding mail's numbers come to, and that the boot is the unit."""

from __future__ import annotations

import json
import math
import statistics
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.contract import errors
from orchestrator.stats import summary
from tests.unit import series

SEEDS = json.loads((series.DATA / "statistics" / "seeds.json").read_text())["series"]

reals = st.floats(-1e9, 1e9)
several = st.lists(reals, min_size=1, max_size=20)


@pytest.mark.parametrize("name", SEEDS)
def test_summary_of_founding_mail_is_as_computed_elsewhere(name: str) -> None:
    expected: dict[str, Any] = SEEDS[name]["gbit_stats"]
    made = summary.summarise([(value, None) for value in SEEDS[name]["gbit"]])
    assert made.ci95 is not None
    assert made.mean == expected["mean"]
    assert made.sd == pytest.approx(expected["sd"], rel=1e-14)
    assert made.ci95 == pytest.approx(expected["ci95_mean_t"], rel=1e-14)
    assert (made.minimum, made.maximum) == (expected["min"], expected["max"])
    assert made.median == expected["median"]


def test_summary_of_unknown_boots_says_so() -> None:
    made = summary.summarise([(1.0, None), (2.0, None)])
    assert made.n_boots is None
    assert made.ci_scope == "boots unknown"


def test_summary_of_one_boot_is_labelled_within_this_boot() -> None:
    made = summary.summarise([(1.0, "b"), (2.0, "b"), (4.0, "b")])
    assert (made.n_runs, made.n_boots, made.ci_scope) == (3, 1, "within this boot")


def test_summary_of_one_run_has_no_spread_and_no_interval() -> None:
    made = summary.summarise([(5.0, "b")])
    assert (made.mean, made.sd, made.ci95) == (5.0, None, None)


def test_summary_of_two_boots_counts_each_boot_once() -> None:
    made = summary.summarise([(1.0, "a"), (1.0, "a"), (1.0, "a"), (3.0, "b")])
    assert made.mean == 2.0
    assert made.sd == pytest.approx(math.sqrt(2))
    assert made.ci_scope == "between boots"
    assert summary.BOOT_IS_UNIT in made.notes


def test_summary_with_some_boots_unknown_counts_runs_and_notes_it() -> None:
    made = summary.summarise([(1.0, "a"), (2.0, None), (3.0, "b")])
    assert (made.n_boots, made.mean) == (None, 2.0)
    assert summary.SOME_BOOTS_UNKNOWN in made.notes


def test_summary_of_equal_values_notes_that_spread_is_below_the_tool() -> None:
    made = summary.summarise([(2.0, "a"), (2.0, "a")])
    assert made.sd == 0
    assert summary.NO_SPREAD in made.notes


@pytest.mark.parametrize("values", [[], [math.nan], [math.inf, 1.0]])
def test_moments_of_nothing_measured_are_refused(values: list[float]) -> None:
    with pytest.raises(errors.ParseError):
        summary.Moments.of(values)


@settings(deadline=None)
@given(several, st.randoms())
def test_moments_do_not_depend_on_the_order(values: list[float], random: Any) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    assert summary.Moments.of(shuffled) == summary.Moments.of(values)


@settings(deadline=None)
@given(several, several)
def test_moments_merged_are_those_of_all_values(one: list[float], other: list[float]) -> None:
    merged = summary.Moments.of(one).merge(summary.Moments.of(other))
    whole = summary.Moments.of([*one, *other])
    assert (merged.n, merged.minimum, merged.maximum) == (whole.n, whole.minimum, whole.maximum)
    assert merged.mean == pytest.approx(whole.mean, rel=1e-9, abs=1e-6)
    assert merged.m2 == pytest.approx(whole.m2, rel=1e-9, abs=1e-3)


@settings(deadline=None)
@given(st.lists(reals, min_size=2, max_size=20))
def test_summary_agrees_with_the_standard_library(values: list[float]) -> None:
    made = summary.summarise([(value, "b") for value in values])
    assert made.mean == pytest.approx(statistics.fmean(values), rel=1e-12, abs=1e-9)
    assert made.sd == pytest.approx(statistics.stdev(values), rel=1e-9, abs=1e-6)
    assert made.median == pytest.approx(statistics.median(values), rel=1e-12, abs=1e-9)


@settings(deadline=None)
@given(st.lists(st.tuples(reals, st.sampled_from("abc")), min_size=1, max_size=12))
def test_repeating_every_run_in_its_boot_changes_nothing_between_boots(
    runs: list[tuple[float, str | None]],
) -> None:
    once, twice = summary.summarise(runs), summary.summarise([*runs, *runs])
    if once.ci_scope == summary.CiScope.BETWEEN:
        assert (twice.ci95 or ()) == pytest.approx(once.ci95 or (), rel=1e-9, abs=1e-3)
