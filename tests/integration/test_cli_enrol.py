"""Enrolling hosts from the command line: a whole lab, and an SSH server that is this machine."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.cli.main import main
from orchestrator.local import demo_host
from orchestrator.local.demo_host import DemoHost
from orchestrator.local.lab import Lab
from orchestrator.settings import Settings
from tests import services

pytestmark = pytest.mark.needs("ssh-keygen")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A running lab, a server that it does not know, and a folder with the operator's keys."""

    settings: Settings
    server: DemoHost
    keys: Path

    def add(self, name: str, *words: str, key: str = "good", port: int | None = None) -> int:
        """The exit code of ``host add``."""
        where = f"{self.server.address}:{port or self.server.port}"
        login = ("--user", self.server.user, "--key", str(self.keys / key))
        return main(("host", "add", name, "--address", where, *login, *words))

    @property
    def kept(self) -> set[str]:
        """Names of the keys that the site has."""
        return {path.name for path in self.settings.ssh_keys.iterdir()}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("enrol")
    for name in ("good", "stranger"):
        command = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name)
        subprocess.run(command, check=True)
    settings = Settings.read({}, state=folder / "state")
    environ = {name: text for name, text in os.environ.items() if "BENCHRACK" not in name}
    authorized = folder / "good.pub"
    with (
        Lab(settings, environ=environ),
        demo_host.running(folder / "server", authorized=authorized, environ=environ) as server,
    ):
        yield Place(settings=settings, server=server, keys=folder)


@pytest.fixture
def place(running: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name in [name for name in os.environ if name.startswith("BENCHRACK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("BENCHRACK_STATE", str(running.settings.state))
    return running


def test_unknown_host_key_is_shown_and_the_command_to_repeat(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert place.add("elan1") == 2
    said = capsys.readouterr().err
    shown, _, repeat = said.partition("benchrack: ")
    assert place.server.fingerprint in shown
    assert repeat.endswith(f"--fingerprint {place.server.fingerprint}\n")
    assert "elan1" not in place.kept


def test_another_host_key_is_refused_and_no_key_kept(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert place.add("elan1", "--fingerprint", "SHA256:" + "A" * 43) == 2
    assert "no command was sent" in capsys.readouterr().err
    assert "elan1" not in place.kept


def test_key_that_the_host_refuses_is_not_kept(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    trusted = ("--fingerprint", place.server.fingerprint)
    assert place.add("elan1", *trusted, key="stranger") == 2
    said = capsys.readouterr().err
    assert f"refuses the key {place.keys / 'stranger'} for user {place.server.user}" in said
    assert "authorized_keys" in said
    assert "elan1" not in place.kept


def test_closed_port_is_said(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.add("elan1", port=services.free_port()) == 2
    assert "cannot be reached" in capsys.readouterr().err


def test_host_is_enrolled_checked_and_not_enrolled_twice(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    trusted = ("--fingerprint", place.server.fingerprint)
    assert place.add("elan2", *trusted, "--tag", "board=elan") == 0
    assert stat.S_IMODE((place.settings.ssh_keys / "elan2").stat().st_mode) == 0o600
    assert main(("host", "check", "elan2")) == 0
    assert "board=elan" in capsys.readouterr().out
    assert place.add("elan2", *trusted) == 2
    assert "already" in capsys.readouterr().err
    assert "elan2" in place.kept


def test_health_check_is_a_list_of_numbers_with_what_is_allowed(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert place.add("elan3", "--fingerprint", place.server.fingerprint) == 0
    capsys.readouterr()
    # a machine in use is not fit to measure on
    ended = main(("submit", "health-check", "--host", "elan3", "--wait"))
    shown = capsys.readouterr().out
    assert ended == (0 if ": ok (run" in shown else 1)
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "check value unit allowed verdict" in lines
    assert any(re.fullmatch(r"load1 [\d.]+ 0 to 1 (ok|failed)", line) for line in lines), lines
    assert any(re.fullmatch(r"mem-free [\d.]+ MiB 2 to 1e\+09 ok", line) for line in lines), lines
    assert main(("results", "health-check")) == 0
    assert capsys.readouterr().out == shown
