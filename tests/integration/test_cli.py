"""The command line against a running API: output, files, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.cli.main import main
from tests.integration import apis, terminals
from tests.integration.apis import Api

MAILS = Path(__file__).parent.parent / "data" / "mails"
SUBMIT = ["submit", "sched-latency-idle", "--host", "elan1", "--repeat", "2", "--warmup", "0"]
BENCHRACK = (
    sys.executable,
    "-c",
    "from orchestrator.cli.main import main; raise SystemExit(main())",
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """An API with a host and imported results, in which nothing is queued."""
    with apis.serving(tmp_path_factory.mktemp("shared") / "state") as running:
        running.add_host("elan1")
        for mail in MAILS.glob("*.txt"):
            options = {"params": {"name": mail.stem, "host": mail.stem.replace(".", "-")}}
            headers = {"Content-Type": "text/plain"}
            running.ask(
                "POST", "imports/mail", content=mail.read_bytes(), headers=headers, **options
            )
        yield running


@pytest.fixture
def lab(shared: Api, name_state: Callable[[Path], None]) -> Api:
    """The shared API, and an environment that names its state folder."""
    name_state(shared.settings.state)
    return shared


def test_empty_lab_says_what_to_do_next(api: Api, shown: Callable[..., str]) -> None:
    assert "benchrack host add" in shown("status")
    assert "benchrack host add" in shown("host", "list")
    assert "benchrack submit" in shown("job", "list")
    assert "benchrack submit" in shown("results")


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["status"], "status"),
        (["host", "list"], "hosts"),
        (["host", "show", "elan1"], "hosts/elan1"),
        (["job", "list"], "jobs"),
        (["playbook", "list"], "playbooks"),
        (["playbook", "show", "health-check"], "playbooks/health-check"),
        (["results"], "results"),
    ],
)
def test_json_is_what_the_api_answers(
    lab: Api, shown: Callable[..., str], words: list[str], path: str
) -> None:
    wanted = lab.ask("GET", path).json()
    given = json.loads(shown(*words, "--json"))
    for answer in (wanted, given):
        _without_ages(answer)
    assert given == wanted


def _without_ages(answer: object) -> None:
    if isinstance(answer, dict):
        for site in answer.get("sites", ()):
            site.pop("echo_age_s")


@pytest.mark.parametrize("mail", sorted(MAILS.glob("*.txt")), ids=lambda path: path.stem)
def test_imported_mail_is_shown_and_exported_alike(
    lab: Api, shown: Callable[..., str], mail: Path, tmp_path: Path
) -> None:
    host = mail.stem.replace(".", "-")
    text = shown("results", "--host", host, "--format", "mail")
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 76
    assert "written" in shown("export", "--host", host, "--format", "mail", str(tmp_path / "out"))
    assert (tmp_path / "out").read_text() == text
    assert shown("export", "--host", host, "--format", "mail", "-") == text


def test_mail_is_imported_once(
    api: Api, shown: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    mail = str(MAILS / "latency-2004.flat.txt")
    assert "benchrack results" in shown("import", "mail", mail, "--host", "elan1")
    assert main(["import", "mail", mail, "--host", "elan1"]) == 2
    assert "imported for host elan1 already" in capsys.readouterr().err


def test_results_show_the_primary_metric_unless_all_are_asked_for(
    lab: Api, shown: Callable[..., str]
) -> None:
    words = ("results", "--host", "iperf-2007-flat")
    primary, every = shown(*words), shown(*words, "--all")
    assert "throughput" in primary
    assert "transferred" not in primary
    assert "transferred" in every
    assert "transferred" in shown(*words, "--metric", "transferred")


def test_export_into_a_folder_that_is_not_there_is_refused(
    lab: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "--format", "csv", str(tmp_path / "no" / "out.csv")]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["submit", "sched-latency-idel", "--host", "elan1"], "did you mean"),
        (["submit", "sched-latency-idle", "--host", "elan2"], "did you mean 'elan1'"),
        (["submit", "sched-latency-idle", "--host", "elan1", "--set", "sampels=1"], "samples"),
        (["submit", "sched-latency-idle", "--host", "elan1", "--set", "samples=7"], "100"),
        (["submit", "sched-latency-idle"], "--host"),
        (["host", "show", "elan2"], "did you mean 'elan1'"),
        (["run", "show", "xy"], "unknown run"),
        (["job", "cancel", "xy"], "unknown job"),
    ],
)
def test_bad_input_is_refused_and_nothing_queued(
    lab: Api, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("benchrack: ")
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert lab.ask("GET", "status").json()["queued"] == 0


def test_playbook_file_is_submitted_with_its_own_text(
    api: Api, shown: Callable[..., str], tmp_path: Path
) -> None:
    api.add_host("elan1")
    source = api.ask("GET", "playbooks/sched-latency-idle/source").text
    file = tmp_path / "mine.yaml"
    file.write_text(source.replace("name: sched-latency-idle", "name: mine"))
    assert "mine" in shown("submit", str(file), "--host", "elan1")


def test_broken_playbook_file_names_its_line(
    lab: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.yaml").write_text("playbook: 1\nname: [")
    assert main(["submit", str(tmp_path / "mine.yaml"), "--host", "elan1"]) == 2
    assert capsys.readouterr().err.startswith(f"benchrack: {tmp_path / 'mine.yaml'}:2:")


def test_wrong_token_is_refused(
    lab: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCHRACK_TOKEN", "wrong")
    assert main(["status"]) == 2
    assert "token" in capsys.readouterr().err


def test_lab_may_be_named_by_url_and_token_alone(
    lab: Api, monkeypatch: pytest.MonkeyPatch, shown: Callable[..., str], tmp_path: Path
) -> None:
    monkeypatch.setenv("BENCHRACK_STATE", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("BENCHRACK_URL", lab.url + "/")
    monkeypatch.setenv("BENCHRACK_TOKEN", lab.token)
    assert "elan1" in shown("host", "list")


@pytest.mark.needs("ssh-keygen")
def test_refused_host_leaves_no_key(
    lab: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-f", tmp_path / "id"], check=True)
    words = ["--address", "192.0.2.1", "--user", "u", "--key", str(tmp_path / "id")]
    assert main(["host", "add", "Elan", *words, "--fingerprint", "SHA256:" + "A" * 43]) == 2
    assert "name 'Elan'" in capsys.readouterr().err
    assert list(lab.settings.ssh_keys.iterdir()) == []


def test_sentence_of_a_hostile_host_does_nothing_to_the_terminal(
    api: Api, shown: Callable[..., str]
) -> None:
    api.add_host("elan1", unreachable=True, sentence="\x1b]0;owned\x07[bold]no route")
    for words in (["host", "list"], ["host", "show", "elan1"], ["status"]):
        text = shown(*words)
        assert "\x1b" not in text
        assert r"\x1b]0;owned\x07[bold]no route" in text


def test_table_on_a_terminal_has_colours_unless_they_are_not_wanted(lab: Api) -> None:
    assert "\x1b[32mready" in _on_terminal()
    assert "\x1b[32m" not in _on_terminal(NO_COLOR="1")
    assert "\x1b" not in _on_terminal("--plain")


def _on_terminal(*words: str, **environ: str) -> str:
    """What ``host list`` shows on a terminal."""
    seen = []
    with terminals.opened() as (terminal, screen):
        listing = subprocess.Popen(
            (*BENCHRACK, "host", "list", *words),
            stdout=terminal,
            stdin=terminal,
            stderr=terminal,
            env={**os.environ, "TERM": "xterm", **environ},
        )
        while listing.poll() is None:
            seen.append(terminals.read(screen))
        seen.append(terminals.read(screen))
    assert listing.returncode == 0
    return "".join(seen)
