"""``benchrack demo`` as a newcomer has it: whole, interrupted, and with its processes killed."""

from __future__ import annotations

import csv
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.services import wait_for

pytestmark = pytest.mark.timeout(300)

BENCHRACK = Path(sys.executable).with_name("benchrack")
#: seconds
PATIENCE = 240.0
RUNS = 6


@contextmanager
def demo(state: Path, shown: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A demo with what it says in a file; nothing of it is running afterwards."""
    with (
        shown.open("wb") as output,
        subprocess.Popen(
            (BENCHRACK, "demo", "--state", state), stdout=output, stderr=subprocess.STDOUT
        ) as running,
    ):
        try:
            yield running
        finally:
            running.kill()
    wait_for(lambda: processes_of(state) == {}, "nothing of the demo is left running")


def await_words(running: subprocess.Popen[bytes], shown: Path, words: str) -> None:
    def there() -> bool:
        return words in shown.read_text() or running.poll() is not None

    wait_for(there, words, within_s=PATIENCE)
    assert running.poll() is None, shown.read_text()


def processes_of(state: Path) -> dict[int, str]:
    """Commands, by process id, of what carries a state folder in its environment or arguments."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environ = (folder / "environ").read_bytes()
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if os.fsencode(state) in environ + command and int(folder.name) != os.getpid():
            found[int(folder.name)] = command.replace(b"\0", b" ").decode()
    return found


def process_of(state: Path, module: str) -> int:
    found = [pid for pid, command in processes_of(state).items() if f"-m {module}" in command]
    assert len(found) == 1, found
    return found[0]


def query(state: Path, sql: str) -> list[tuple[str, ...]]:
    with sqlite3.connect(f"file:{state / 'benchrack.db'}?mode=ro", uri=True) as db:
        rows = db.execute(sql).fetchall()
    db.close()
    return rows


def left_on_host(state: Path) -> list[str]:
    """What there still is of this lab's runs: folders, locks, processes."""
    left = []
    runs = {run for (run,) in query(state, "SELECT id FROM run")}
    for (base,) in query(state, "SELECT DISTINCT base FROM host WHERE base != ''"):
        left += [path.name for path in Path(base, "r").iterdir() if path.name[:32] in runs]
        lock = Path(base, "active")
        owner = os.readlink(lock) if lock.is_symlink() else ""
        left += [owner] if owner.split(".")[0] == lab_of(state) else []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            marked = re.search(rb"BENCHRACK_RUN=([0-9a-f]{32})", environ.read_bytes())
        except OSError:
            continue
        left += [str(environ)] if marked and marked[1].decode() in runs else []
    return left


def lab_of(state: Path) -> str:
    return query(state, "SELECT id FROM lab")[0][0]


def outcomes(state: Path) -> dict[str, int]:
    """Runs of the demo's own jobs by outcome."""
    sql = "SELECT outcome, count(*) FROM run WHERE host LIKE 'this-machine-%' GROUP BY outcome"
    return {str(outcome): int(number) for outcome, number in query(state, sql)}


def test_demo_shows_the_tables_twice_in_a_row_and_leaves_nothing(tmp_path: Path) -> None:
    state, shown = tmp_path / "state", tmp_path / "shown"
    for round_ in (1, 2):
        with demo(state, shown) as running:
            assert running.wait(PATIENCE) == 0, shown.read_text()

        text = shown.read_text()
        for title in ("sched-latency-idle: ", "loopback-throughput: ", "sched-latency: "):
            assert re.search(f"^{title}", text, re.MULTILINE), text
        # of the mails, to the digit
        assert "2.6.23-smp-d-hrt      ?     3  5.2100  0.0173  5.19  5.22" in text
        assert outcomes(state) == {"finished": 2 * RUNS * round_}
        assert left_on_host(state) == []

    with (state / "results.csv").open(newline="") as source:
        runs = {row["run"] for row in csv.DictReader(source) if row["host"] != "imported"}
    assert len(runs) == 4 * RUNS


def test_demo_that_is_interrupted_cancels_its_runs_and_the_next_one_is_whole(
    tmp_path: Path,
) -> None:
    state, shown = tmp_path / "state", tmp_path / "shown"
    with demo(state, shown) as running:
        await_words(running, shown, "1 running")
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == 1
    assert "cancelled" in shown.read_text()
    assert query(state, "SELECT count(*) FROM run WHERE state != 'ended'") == [(0,)]
    assert left_on_host(state) == []

    with demo(state, shown) as running:
        assert running.wait(PATIENCE) == 0, shown.read_text()
    assert outcomes(state)["finished"] >= 2 * RUNS


def test_demo_whose_processes_are_killed_gives_the_same_table_without_help(tmp_path: Path) -> None:
    state, shown = tmp_path / "state", tmp_path / "shown"
    with demo(state, shown) as running:
        for number, module in enumerate(
            ("workers.app", "orchestrator.collector", "orchestrator.controller")
        ):
            await_words(running, shown, f"{number + 1} of 6 runs ended")
            os.kill(process_of(state, module), signal.SIGKILL)
        assert running.wait(PATIENCE) == 0, shown.read_text()

    assert outcomes(state) == {"finished": 2 * RUNS}
    assert left_on_host(state) == []
