"""Results and exports on the command line, and what runs without a number say there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.cli.main import main
from orchestrator.contract.domain import Outcome
from tests.integration.apis import Api

MAIL = Path(__file__).parent.parent / "data" / "mails" / "iperf-2007.flat.txt"
SUBMIT = ["submit", "sched-latency-idle", "--host", "elan1", "--repeat", "1", "--warmup", "0"]


@pytest.fixture
def imported(api: Api, shown: Callable[..., str]) -> None:
    """A lab with the numbers of a mail."""
    shown("import", "mail", str(MAIL))


@pytest.mark.usefixtures("imported")
def test_export_takes_its_format_from_the_name_and_replaces_nothing_unasked(
    api: Api, shown: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown("export", str(tmp_path / "a.csv"))
    shown("export", str(tmp_path / "a.txt"), "--metric", "throughput")
    assert (tmp_path / "a.csv").read_text().startswith("run,host,")
    text = (tmp_path / "a.txt").read_text()
    assert text.startswith("loopback-throughput: throughput")
    assert main(["export", str(tmp_path / "a.txt")]) == 2
    assert "--force" in capsys.readouterr().err
    assert (tmp_path / "a.txt").read_text() == text
    shown("export", str(tmp_path / "a.txt"), "--force")
    assert (tmp_path / "a.txt").read_text() != text


def test_results_of_a_file_whose_runs_all_failed_show_why(
    api: Api, shown: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api.add_host("elan1")
    source = api.ask("GET", "playbooks/sched-latency-idle/source").text
    file = tmp_path / "mine.yaml"
    file.write_text(source.replace("name: sched-latency-idle", "name: mine"))
    shown("submit", str(file), "--host", "elan1", "--repeat", "1")
    api.end_runs(api.ask("GET", "jobs").json()[0]["id"], Outcome.FAILED, "it broke")
    for words in (("results",), ("results", "mine"), ("results", "mine", "--all")):
        assert main(words) == 0
        captured = capsys.readouterr()
        assert "left out, elan1: 1 run failed: it broke" in captured.out
        assert captured.err == ""


def test_file_that_is_no_playbook_by_its_name_is_told_what_to_give(
    api: Api,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("# mine")
    assert main(["submit", "README.md", "--host", "elan1"]) == 2
    assert "ends in .yaml; give ./README.md" in capsys.readouterr().err


@pytest.mark.usefixtures("imported")
def test_what_is_said_into_a_pipe_fits_76_columns(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["results"]) == 0
    captured = capsys.readouterr()
    assert "also measured" in captured.err
    assert max(map(len, (captured.out + captured.err).splitlines())) <= 76


def test_unknown_stream_names_the_stream_and_the_run(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    api.add_host("elan1")
    assert main(SUBMIT) == 0
    job = api.ask("GET", "jobs").json()[0]["id"]
    run = api.ask("GET", f"jobs/{job}/runs").json()[0]["id"]
    capsys.readouterr()
    assert main(["run", "raw", run, "nope"]) == 2
    said = capsys.readouterr().err
    assert f"unknown stream 'nope' of run {run[:8]}" in said
