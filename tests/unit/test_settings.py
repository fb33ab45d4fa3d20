"""Settings: defaults, precedence, and refusals that name the variable."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from orchestrator.contract import errors, keys
from orchestrator.settings import Settings

HOME = {"HOME": "/home/someone"}


def test_state_is_under_the_home_folder_by_default() -> None:
    assert Settings.read(HOME).state == Path("/home/someone/.local/state/benchrack")


def test_state_follows_xdg_then_the_variable_then_the_argument() -> None:
    environ = HOME | {"XDG_STATE_HOME": "/xdg"}
    assert Settings.read(environ).state == Path("/xdg/benchrack")

    environ |= {"BENCHRACK_STATE": "/named"}
    assert Settings.read(environ).state == Path("/named")
    assert Settings.read(environ, state=Path("/given")).state == Path("/given")


def test_relative_state_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert Settings.read({"BENCHRACK_STATE": "here"}).state == tmp_path / "here"


def test_an_empty_variable_is_one_that_is_not_set() -> None:
    environ = HOME | {
        "BENCHRACK_STATE": "",
        "BENCHRACK_BROKER_URL": "",
        "BENCHRACK_DATABASE_URL": "",
        "BENCHRACK_SITE": "",
        "BENCHRACK_API_PORT": "",
    }

    assert Settings.read(environ) == Settings.read(HOME)


def test_database_is_in_the_state_folder_by_default() -> None:
    settings = Settings.read({"BENCHRACK_STATE": "/state"})

    assert settings.database_url == "sqlite:////state/benchrack.db"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BENCHRACK_BROKER_URL", "http://host"),
        ("BENCHRACK_BROKER_URL", "redis://"),
        ("BENCHRACK_BROKER_URL", "redis://host:port"),
        ("BENCHRACK_SITE", "Main"),
        ("BENCHRACK_SITE", "../main"),
        ("BENCHRACK_API_HOST", "0.0.0.0"),
        ("BENCHRACK_API_HOST", "lab.example"),
        ("BENCHRACK_API_PORT", "-1"),
        ("BENCHRACK_API_PORT", "65536"),
        ("BENCHRACK_API_PORT", "http"),
    ],
)
def test_a_bad_value_is_refused_by_the_name_of_its_variable(name: str, value: str) -> None:
    with pytest.raises(errors.SettingsError, match=f"^{name}: ") as refusal:
        Settings.read(HOME | {name: value})

    assert refusal.value.exit_code == 2


def test_without_any_home_the_variable_to_set_is_named() -> None:
    with pytest.raises(errors.SettingsError, match="BENCHRACK_STATE"):
        Settings.read({})


@pytest.mark.parametrize(
    "url", ["redis://h", "rediss://u:p@h:6380/1", "redis+socket:///run/x.sock"]
)
def test_urls_of_brokers_are_taken_as_they_are(url: str) -> None:
    assert Settings.read(HOME | {"BENCHRACK_BROKER_URL": url}).broker_url == url


def test_a_key_pair_signs_and_verifies_and_is_kept(tmp_path: Path) -> None:
    private, public = tmp_path / "lab.key", tmp_path / "lab.pub"
    keys.make_pair(private, public)
    before = private.read_bytes()

    keys.make_pair(private, public)

    assert private.read_bytes() == before
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    keys.read_public(public).verify(keys.read_private(private).sign(b"body"), b"body")


@pytest.mark.parametrize("content", [b"", b"nonsense", b"-----BEGIN PRIVATE KEY-----\n"])
def test_a_file_that_is_no_key_is_refused_by_its_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "lab.key"
    path.write_bytes(content)

    for read in (keys.read_private, keys.read_public):
        with pytest.raises(errors.SettingsError, match=r"lab\.key"):
            read(path)


def test_a_key_that_is_missing_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(errors.SettingsError, match=r"lab\.key: cannot be read"):
        keys.read_private(tmp_path / "lab.key")
