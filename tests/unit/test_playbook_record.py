"""The record that a script leaves: whole, cut off, and nonsense."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contract.domain import Note, Outcome
from orchestrator.playbook.record import read_record

WHOLE = """\
benchrack 1
note not-root measured without the rights of root
stage check begin 10.00
stage check end 10.50
stage run begin 11.00
step run.server 143 11.00 14.00 stopped
step run.client 0 11.25 13.75
step run.more - 13.80 13.80 skipped
stage run end 14.00
outcome finished
end
"""


def test_read_record_of_a_whole_one_gives_all() -> None:
    record = read_record(WHOLE.encode())
    assert (record.complete, record.outcome, record.reason) == (True, Outcome.FINISHED, "")
    assert record.notes == (Note(code="not-root", text="measured without the rights of root"),)
    assert record.stage_s("run") == 3.0
    assert record.steps["run.client"].elapsed_s == 2.5
    assert record.steps["run.server"].flags == ("stopped",)
    assert record.skipped == {"run.more"}


@pytest.mark.parametrize(
    ("raw", "trouble"),
    [
        (b"", "the host left no result"),
        (b"benchrack 2\nend\n", "the host left no result"),
        (b"benchrack 1\n", "the script was cut off in stage facts"),
        (WHOLE[:100].encode(), "the script was cut off in stage check"),
        (
            b"benchrack 1\noutcome great\nend\n",
            "line 2 of the result is no record: 'outcome great'",
        ),
        (b"benchrack 1\nend\n", "the script was cut off in stage facts"),
        (b"benchrack 1\n\xff\x1b[2J\nend\n", "line 2 of the result is no record: '\ufffd[2J'"),
        (b"benchrack 1\noutcome cancelled\nend\n", "line 2 of the result is no record"),
    ],
)
def test_read_record_that_is_not_whole_says_why(raw: bytes, trouble: str) -> None:
    record = read_record(raw)
    assert not record.complete
    assert record.trouble.startswith(trouble)


@given(st.binary(max_size=300))
def test_read_record_of_anything_never_raises(raw: bytes) -> None:
    record = read_record(b"benchrack 1\n" + raw)
    assert record.trouble or record.complete


@given(st.integers(min_value=0, max_value=len(WHOLE) - 1))
def test_read_record_cut_anywhere_is_never_complete(length: int) -> None:
    assert not read_record(WHOLE[:length].encode()).complete
