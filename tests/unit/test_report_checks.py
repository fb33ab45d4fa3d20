"""Health checks as text: each number beside the range that it has to be in."""

from __future__ import annotations

import pytest

from orchestrator.contract.domain import Outcome
from orchestrator.report import CheckLine, CheckList, checks

LINES = (
    CheckLine(metric="load1", unit="1", value=3.25, valid=(0, 1)),
    CheckLine(metric="mem-free", unit="MiB", value=64, valid=(2, 1000)),
    CheckLine(metric="oopses", unit="1", valid=(0, 0), needed=False),
)
FAILED = CheckList(
    playbook="health-check",
    host="elan1",
    kernel="6.12.0",
    run="ab" * 16,
    outcome=Outcome.FAILED,
    reason="load1 = 3.25 is outside 0..1",
    lines=LINES,
)


def test_failed_check_shows_value_range_and_verdict_of_each_number() -> None:
    assert [" ".join(line.split()) for line in checks.plain(FAILED).splitlines()] == [
        "health-check: host elan1, kernel 6.12.0: failed (run abababab)",
        "load1 = 3.25 is outside 0..1",
        "",
        "check value unit allowed verdict",
        "load1 3.25 0 to 1 failed",
        "mem-free 64 MiB 2 to 1000 ok",
        "oopses - 0 not known",
    ]


def test_check_that_read_nothing_gives_its_reason() -> None:
    text = checks.plain(FAILED.model_copy(update={"lines": (), "kernel": ""}))
    assert text.splitlines()[1:] == ["load1 = 3.25 is outside 0..1"]


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"value": 1.0}, "ok"),
        ({"value": 1.1}, "failed"),
        ({"value": 9.0, "valid": None}, "ok"),
        ({"value": None}, "failed"),
        ({"value": None, "needed": False}, "not known"),
    ],
)
def test_verdict_is_of_the_range_and_of_what_is_needed(
    changes: dict[str, object], verdict: str
) -> None:
    assert LINES[0].model_copy(update=changes).verdict == verdict


def test_check_fits_a_mail() -> None:
    long = FAILED.model_copy(update={"reason": "it is so " * 40})
    assert max(map(len, checks.plain(long).splitlines())) <= 76
