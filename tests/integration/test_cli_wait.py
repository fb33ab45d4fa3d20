"""Waiting for a job on the command line: progress, and how it ended as an exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable

import pytest

from orchestrator.cli.main import main
from orchestrator.contract.domain import HostState, Outcome
from tests import services
from tests.integration import terminals
from tests.integration.apis import Api

SUBMIT = ["submit", "sched-latency-idle", "--host", "elan1", "--repeat", "2", "--warmup", "0"]
BENCHRACK = (
    sys.executable,
    "-c",
    "from orchestrator.cli.main import main; raise SystemExit(main())",
)


def test_wait_ends_well_when_all_runs_finished(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    api.add_host("elan1")
    ending = _when_queued(api, lambda job: api.end_runs(job, Outcome.FINISHED))
    assert main([*SUBMIT, "--wait"]) == 0
    ending.join()
    assert "2 of 2 runs ended" in capsys.readouterr().err


def test_wait_says_why_not_all_runs_finished(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.add_host("elan1")
    ending = _when_queued(api, lambda job: api.end_runs(job, Outcome.VOID, "it was rebooted"))
    assert main([*SUBMIT, "--wait", "--json"]) == 1
    ending.join()
    captured = capsys.readouterr()
    assert json.loads(captured.out)["outcomes"] == {"void": 2}
    assert "it was rebooted" in captured.err


@pytest.mark.parametrize(
    "known",
    [
        {"unreachable": True, "sentence": "no route to it"},
        {"state": HostState.QUARANTINED, "sentence": "it shows another key"},
    ],
    ids=["unreachable", "quarantined"],
)
def test_wait_for_a_host_that_cannot_be_used_ends_with_the_sentence(
    api: Api, known: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    api.add_host("elan1", **known)
    assert main([*SUBMIT, "--wait"]) == 4
    assert str(known["sentence"]) in capsys.readouterr().err
    assert api.ask("GET", "jobs").json()[0]["states"] == {"queued": 2}


def test_interrupted_wait_leaves_the_job_queued(api: Api) -> None:
    api.add_host("elan1")
    waiting = subprocess.Popen(
        (*BENCHRACK, *SUBMIT, "--wait"), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert waiting.stderr is not None
    said = ""
    while "queued" not in said:
        said = waiting.stderr.readline()
    waiting.send_signal(signal.SIGINT)
    _, rest = waiting.communicate(timeout=20)
    assert waiting.returncode == 1
    assert "goes on without you" in rest
    assert "Traceback" not in rest
    assert api.ask("GET", "jobs").json()[0]["states"] == {"queued": 2}


def test_progress_on_a_terminal_survives_a_resize(api: Api) -> None:
    api.add_host("elan1")
    seen = []
    with terminals.opened() as (terminal, screen):
        waiting = subprocess.Popen(
            (*BENCHRACK, *SUBMIT, "--wait"),
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env={**os.environ, "TERM": "xterm"},
        )
        while "2 queued" not in "".join(seen):
            seen.append(terminals.read(screen))
        termios.tcsetwinsize(terminal, (5, 20))
        waiting.send_signal(signal.SIGWINCH)
        api.end_runs(api.ask("GET", "jobs").json()[0]["id"], Outcome.FINISHED)
        while waiting.poll() is None:
            seen.append(terminals.read(screen))
    assert waiting.returncode == 0
    assert "Traceback" not in "".join(seen)


def test_wait_for_a_job_that_was_cancelled_says_that_no_run_counted(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    api.add_host("elan1")

    def cancel(job: str) -> None:
        api.ask("POST", f"jobs/{job}/cancel")
        api.end_runs(job, Outcome.CANCELLED, "cancelled by the operator")

    ending = _when_queued(api, cancel)
    assert main([*SUBMIT, "--wait"]) == 1
    ending.join()
    captured = capsys.readouterr()
    assert "was cancelled; no run counted" in captured.err
    assert captured.out == ""


def _when_queued(api: Api, act: Callable[[str], None]) -> threading.Thread:
    """A thread that does something with the first job as soon as there is one."""

    def watch() -> None:
        services.wait_for(lambda: bool(api.ask("GET", "jobs").json()), "a job is queued")
        act(api.ask("GET", "jobs").json()[0]["id"])

    thread = threading.Thread(target=watch)
    thread.start()
    return thread
