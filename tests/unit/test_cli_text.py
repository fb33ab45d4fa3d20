"""Text from elsewhere does nothing to the terminal that it is shown on."""

from __future__ import annotations

from datetime import timedelta

import pytest

from orchestrator.cli import demo, text

HOSTILE = "\x1b]0;gotcha\x07\x1b[2Jname\r\n\x9b31m\u202egnp.exe\x7f"


def test_safe_hostile_text_holds_no_control_character() -> None:
    assert all(char.isprintable() for char in text.safe(HOSTILE))


def test_safe_hostile_text_still_says_what_was_there() -> None:
    assert text.safe("a\x1b[31mb") == r"a\x1b[31mb"


def test_safe_text_of_a_language_is_kept() -> None:
    assert text.safe("Köln 機 ±") == "Köln 機 ±"


def test_safe_ascii_only_writes_the_rest_as_escapes() -> None:
    assert text.safe("±2 µs", ascii_only=True) == r"\xb12 \xb5s"


def test_safe_lines_keeps_line_ends_and_tabs_only() -> None:
    assert text.safe_lines("one\n\ttwo\r\x1b") == "one\n\ttwo\\r\\x1b"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (61, "1 min 1 s"),
        (600, "10 min"),
        (3660, "1 h 1 min"),
        (90_000, "1 d 1 h"),
        (-5, "0 s"),
    ],
)
def test_duration_shows_two_units_at_most(seconds: int, shown: str) -> None:
    assert text.duration(timedelta(seconds=seconds)) == shown


@pytest.mark.parametrize(
    ("size", "said"), [(64 * 2**20, "64 MiB"), (2**30, "1 GiB"), (503 * 2**30, "503 GiB")]
)
def test_memory_is_said_roughly(size: int, said: str) -> None:
    assert text.memory(size) == said


def test_range_of_one_value_is_that_value() -> None:
    assert [text.span(limits) for limits in (None, (0, 0), (0.5, 1e9))] == ["", "0", "0.5 to 1e+09"]


def test_demo_says_how_many_runs_did_not_finish() -> None:
    jobs = [
        {"total": 6, "outcomes": {"finished": 5, "void": 1}},
        {"total": 6, "outcomes": {"finished": 6}},
    ]
    assert demo.unfinished(jobs) == "1 of 12 runs did not finish (see left out above)"
