"""A whole lab on this machine: starts, refuses, heals, and leaves nothing."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from orchestrator.contract import errors
from orchestrator.local.lab import Lab
from orchestrator.settings import Settings
from tests.services import wait_for

#: seconds
PATIENCE = 30.0

UP = """
import os, sys, pathlib
from orchestrator.local.up import up
from orchestrator.settings import Settings
settings = Settings.read(os.environ, state=pathlib.Path(sys.argv[1]))
sys.exit(up(settings, environ=os.environ, ready=lambda lab: print(lab.api_url, flush=True)))
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    settings = settings_in(tmp_path_factory.mktemp("lab") / "state")
    with Lab(settings, environ=os.environ) as lab:
        yield lab


def settings_in(state: Path, **environ: str) -> Settings:
    return Settings.read(environ, state=state)


def ask(lab: Lab, token: str | None = None) -> int:
    try:
        return httpx.get(
            f"{lab.api_url}/api/v1/status",
            headers={"Authorization": f"Bearer {token or lab.token}"},
            trust_env=False,
        ).status_code
    except httpx.HTTPError:
        return 0


def of_state(state: Path) -> list[str]:
    """Commands of the processes that have this state folder in their environment or arguments."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environ = (folder / "environ").read_bytes()
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if os.fsencode(state) in environ + command:
            found.append(command.replace(b"\0", b" ").decode())
    return found


@pytest.fixture
def runtime() -> Iterator[Path]:
    """A folder for sockets, whose path is short."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def started(tmp_path: Path, runtime: Path) -> Iterator[subprocess.Popen[str]]:
    """``up`` in a process of its own, on ``tmp_path / state``."""
    with subprocess.Popen(
        (sys.executable, "-c", UP, str(tmp_path / "state")),
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)},
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline().startswith("http://127.0.0.1:")
        yield running
        running.kill()
    wait_for(lambda: of_state(tmp_path / "state") == [], "nothing is left running")


def test_lab_answers_those_who_know_the_token(lab: Lab) -> None:
    assert ask(lab) == 200
    assert ask(lab, token="wrong") == 401


def test_secrets_are_for_the_user_only(lab: Lab) -> None:
    settings = lab.settings
    for path in (settings.lab_key, settings.site_key, settings.token_file):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (settings.state, settings.keys, settings.ssh_keys, settings.logs):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_each_process_has_a_session_of_its_own(lab: Lab) -> None:
    for pid in lab.pids.values():
        assert os.getsid(pid) == pid


@pytest.mark.parametrize("name", ["broker", "collector", "controller", "worker", "api"])
def test_a_killed_process_is_started_again(lab: Lab, name: str) -> None:
    before = lab.pids[name]

    os.kill(before, signal.SIGKILL)

    wait_for(lambda: lab.pids[name] != before, f"another {name}", within_s=PATIENCE)
    wait_for(lambda: ask(lab) == 200, "the API answers", within_s=PATIENCE)


def test_a_second_lab_on_the_same_state_is_refused_by_the_first_ones_pid(lab: Lab) -> None:
    with (
        pytest.raises(errors.LabRunning, match=f"process {os.getpid()}") as refusal,
        Lab(lab.settings, environ=os.environ),
    ):
        pass

    assert refusal.value.exit_code == 2
    assert ask(lab) == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_lab_and_nothing_is_left(
    started: subprocess.Popen[str], tmp_path: Path, runtime: Path, number: signal.Signals
) -> None:
    started.send_signal(number)

    assert started.wait(PATIENCE) == 0
    assert of_state(tmp_path / "state") == []
    assert not (tmp_path / "state" / "api.json").exists()
    assert list(runtime.iterdir()) == []


def test_nothing_outlives_a_killed_lab_and_the_next_one_starts(
    started: subprocess.Popen[str], tmp_path: Path
) -> None:
    started.kill()

    wait_for(lambda: of_state(tmp_path / "state") == [], "all processes are gone")
    with Lab(settings_in(tmp_path / "state"), environ=os.environ) as lab:
        assert ask(lab) == 200


def refusal_of(settings: Settings) -> errors.LabError:
    with pytest.raises(errors.LabError) as refusal, Lab(settings, environ=os.environ):
        pass
    assert of_state(settings.state) == []
    return refusal.value


@pytest.mark.parametrize("place", ["file", "/sys", "/proc"])
def test_a_state_folder_that_cannot_be_made_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")

    refused = refusal_of(settings_in(tmp_path / place / "state"))

    assert isinstance(refused, errors.StoreReadOnly)
    assert refused.exit_code == 2
    assert str(tmp_path / place / "state") in refused.message


def test_a_state_folder_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with sqlite3.connect(tmp_path / "benchrack.db") as db:
        db.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        db.execute("INSERT INTO alembic_version VALUES ('9999')")
    db.close()

    refused = refusal_of(settings)

    assert isinstance(refused, errors.StoreTooNew)
    assert refused.exit_code == 2


def test_a_broker_that_does_not_answer_is_the_labs_fault(tmp_path: Path) -> None:
    refused = refusal_of(settings_in(tmp_path, BENCHRACK_BROKER_URL="redis://127.0.0.1:1/0"))

    assert isinstance(refused, errors.BrokerError)
    assert refused.exit_code == 4


def test_a_process_that_cannot_start_is_told_with_its_last_words(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    settings.keys.mkdir()
    settings.token_file.write_text("")

    refused = refusal_of(settings)

    assert "the api ends at its start" in refused.message
    assert "holds no token" in refused.message
