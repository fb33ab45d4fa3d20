"""Views go to JSON and come back as they were, and refuse what is not theirs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from orchestrator import report
from orchestrator.contract.domain import Better, Exclusive, HostState, Outcome, RunState

NOW = datetime(2026, 1, 2, tzinfo=UTC)

HOST = report.HostView(
    name="homer",
    address="192.0.2.1",
    port=22,
    user="lab",
    site="main",
    fingerprint="SHA256:abc",
    state=HostState.READY,
    exclusive=Exclusive.MACHINE,
    tags=("arch=x86_64",),
)
RUN = report.RunView(
    id="a" * 32,
    short_id="aaaaaaaa",
    job="b" * 32,
    playbook="loopback-throughput",
    host="homer",
    kernel=None,
    state=RunState.ENDED,
    outcome=Outcome.VOID,
    reason="the host was rebooted",
    attempt=1,
    repeat=2,
    since=NOW,
    measurements=(
        report.MeasurementView(
            name="throughput", value=4.39, unit="Gbit/s", better=Better.HIGHER, primary=True
        ),
    ),
    notes=(report.NoteView(code="noise", text="the host was busy"),),
)
JOB = report.JobView(
    id="b" * 32,
    short_id="bbbbbbbb",
    playbook="loopback-throughput",
    params={"streams": "10"},
    hosts=("homer",),
    repeats=3,
    state="ended",
    states={RunState.ENDED: 3},
    outcomes={Outcome.FINISHED: 2, Outcome.VOID: 1},
    created=NOW,
    done=3,
    total=3,
)
STATUS = report.StatusView(
    hosts=(HOST,),
    queued=1,
    running=(RUN,),
    waiting=(report.WaitingView(run="c" * 32, host="homer", playbook="p", why="homer is busy"),),
    sites=(report.SiteView(name="main", echo_age_s=1.5),),
    counts={"hosts": 1},
)


@pytest.mark.parametrize("view", [HOST, RUN, JOB, STATUS], ids=lambda view: type(view).__name__)
def test_view_goes_to_json_and_comes_back(view: report.HostView) -> None:
    assert type(view).model_validate_json(view.model_dump_json()) == view


def test_view_refuses_a_field_it_does_not_know() -> None:
    with pytest.raises(ValidationError, match="extra_forbidden"):
        report.SiteView.model_validate({"name": "main", "echo_age_s": None, "colour": "red"})


def test_view_refuses_a_number_that_is_none() -> None:
    with pytest.raises(ValidationError, match="finite"):
        report.SiteView(name="main", echo_age_s=float("nan"))
