"""Hosts without a connection, for the tests of the host's side; an API, for the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.cli.main import main
from tests.integration import apis, hosts


@pytest.fixture(
    params=[pytest.param(s, marks=pytest.mark.needs(p)) for s, p in hosts.SHELLS.items()]
)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[hosts.Host]:
    """A host in each shell."""
    with hosts.host(request.param, tmp_path) as met:
        yield met


@pytest.fixture
def usual(tmp_path: Path) -> Iterator[hosts.Host]:
    """A host for what does not depend on the shell."""
    with hosts.host("dash", tmp_path) as met:
        yield met


@pytest.fixture
def name_state(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """What makes the environment name a state folder, and no other setting."""

    def name(state: Path) -> None:
        for setting in [setting for setting in os.environ if setting.startswith("BENCHRACK_")]:
            monkeypatch.delenv(setting)
        monkeypatch.setenv("BENCHRACK_STATE", str(state))

    return name


@pytest.fixture
def api(tmp_path: Path, name_state: Callable[[Path], None]) -> Iterator[apis.Api]:
    """An API with a store of its own, and an environment that names its state folder."""
    name_state(tmp_path / "state")
    with apis.serving(tmp_path / "state") as running:
        yield running


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command that must end well prints."""

    def show(*words: str) -> str:
        code = main(words)
        captured = capsys.readouterr()
        assert code == 0, captured.err
        return captured.out

    return show
