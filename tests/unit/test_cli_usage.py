"""What the command line says without a lab: help, version, and one sentence for each mistake."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from orchestrator import __version__
from orchestrator.cli.main import app, main


def _commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if not hasattr(command, "commands"):
        yield words
    for name, child in getattr(command, "commands", {}).items():
        yield from _commands(child, (*words, name))


COMMANDS = sorted(_commands(typer.main.get_command(app)))


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder on which no lab runs."""
    for name in [name for name in os.environ if name.startswith("BENCHRACK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("BENCHRACK_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def test_commands_are_those_of_the_guide() -> None:
    assert {" ".join(words) for words in COMMANDS} >= {
        *("up", "status", "submit", "results", "export", "import mail"),
        *("host add", "host list", "host show", "host check"),
        *("playbook list", "playbook show", "playbook check", "playbook schema"),
        *("job list", "job show", "job cancel", "run show", "run raw", "run script"),
    }


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_of_a_command_names_the_common_options(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(option in shown for option in ("--json", "--plain", "--state"))


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help_without_a_command_lists_them(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    assert "submit" in capsys.readouterr().out


def test_version_is_printed_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"benchrack {__version__}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("hsot list", "did you mean 'host'"),
        ("host lits", "did you mean 'list'"),
        ("host", "add, check, list, show"),
        ("host list --jsno", "--json"),
        ("host show", "NAME"),
        ("host add h --address a --user u", "--key"),
        ("submit p --repeat 0", "--repeat"),
        ("submit p --noise loud", "refuse"),
        ("submit p --set streams", "NAME=VALUE"),
        ("submit p --set a=1 --set a=2", "given twice"),
        ("submit ./none.yaml", "none.yaml: cannot be read"),
        ("import mail none.txt", "none.txt: cannot be read"),
        ("host add h --address a:0 --user u --key k", "not a port"),
        ("host add h --address a: --user u --key k", "not a port"),
        ("host add h --address [::1]:x --user u --key k", "not a port"),
        ("host add h --address a:1 --port 2 --user u --key k", "two ports"),
        ("results --format xml", "table"),
        ("export out", "--format csv, csv-summary, mail"),
        ("export out.xml", "--format"),
        ("export -", "--format"),
        ("host add h --address a --user u --key k --fingerprint x", "SHA256: and 43 characters"),
        ("playbook check none.yaml", "none.yaml: cannot be read"),
    ],
)
def test_mistake_is_one_sentence_and_exit_code_two(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("benchrack: ")
    assert said.lower() in captured.err.lower()
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    "words", ["status", "host list", "job show ab", "submit p --host h", "results", "run raw ab"]
)
def test_no_lab_is_said_with_the_mend(
    words: str, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 4
    said = (
        f"benchrack: no lab is running on {state}; start one with: benchrack up --state {state}\n"
    )
    assert capsys.readouterr().err == said


def test_lab_that_died_is_no_lab(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (state / "keys").mkdir(parents=True)
    (state / "keys" / "token").write_text("secret")
    (state / "api.json").write_text('{"url": "http://127.0.0.1:9", "pid": 1}')
    assert main(["status"]) == 4
    assert "benchrack up" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["--state {} status", "status --state {}"])
def test_state_may_be_given_before_or_after_the_command(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.format(tmp_path / "other").split()) == 4
    assert str(tmp_path / "other") in capsys.readouterr().err


def test_broken_setting_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCHRACK_API_PORT", "many")
    assert main(["status"]) == 2
    assert "BENCHRACK_API_PORT" in capsys.readouterr().err


def test_control_characters_of_an_argument_are_shown_as_escapes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["host\x1b[2J"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_version_loads_nothing_heavy() -> None:
    code = (
        "import sys; from orchestrator.cli.main import main; main(['--version']);"
        "print(sorted({'httpx', 'rich', 'pydantic', 'sqlalchemy', 'numpy', 'celery', 'fastapi'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_reader_that_goes_away_is_no_fault() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from orchestrator.cli.main import main; raise SystemExit(main([]))",
        ],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")
