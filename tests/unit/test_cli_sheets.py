"""What commands print: plain text against golden files, styled text with nothing interpreted.

To accept a change: BENCHRACK_UPDATE_GOLDEN=1 pytest tests/unit/test_cli_sheets.py, and read the
diff.
"""

from __future__ import annotations

import io
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from orchestrator.cli import host, job, plain, playbook, run, status, styled
from orchestrator.cli.sheet import Cell, Column, Sheet, Tone

GOLDEN = Path(__file__).parent.parent / "golden" / "cli"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

ELAN: dict[str, Any] = {
    "name": "elan1",
    "address": "192.0.2.7",
    "port": 22,
    "user": "bench",
    "site": "main",
    "fingerprint": "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
    "state": "ready",
    "unreachable": False,
    "sentence": "",
    "kernel": "6.12.0-rt",
    "arch": "i486",
    "cpus": 1,
    "memory_bytes": 64 * 2**20,
    "boot": "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
    "exclusive": "machine",
    "machine": "c0ffee",
    "tags": ["board=elan", "slow"],
    "tools": ["iperf", "busybox"],
}
HOMER: dict[str, Any] = {
    **ELAN,
    "name": "homer",
    "address": "2001:db8::7",
    "state": "quarantined",
    "unreachable": True,
    "sentence": "the host shows another key than the one it was enrolled with",
    "kernel": None,
    "cpus": None,
    "memory_bytes": None,
    "tags": [],
}
LISA: dict[str, Any] = {
    **ELAN,
    "name": "lisa-of-row-2",
    "kernel": "6.12.0-rc4-generic-amd64-preempt-full",
    "cpus": 128,
    "memory_bytes": 503 * 2**30,
    "tags": ["board=epyc", "numa=2", "cooled", "rack=7"],
}
RUN: dict[str, Any] = {
    "id": "ab" * 16,
    "short_id": "abababab",
    "job": "cd" * 16,
    "playbook": "loopback-throughput",
    "host": "elan1",
    "kernel": "6.12.0-rt",
    "state": "ended",
    "outcome": "finished",
    "reason": "",
    "attempt": 1,
    "fence": 3,
    "repeat": 2,
    "warmup": False,
    "expected_s": 12.0,
    "since": "2026-03-01T11:59:00Z",
    "measurements": [
        {
            "name": "throughput",
            "value": 4.9601234,
            "unit": "Gbit/s",
            "better": "higher",
            "primary": True,
            "samples": None,
        },
        {
            "name": "switches",
            "value": 120034.0,
            "unit": "1/s",
            "better": "neither",
            "primary": False,
            "samples": 3,
        },
    ],
    "notes": [{"code": "noise", "text": "another process used 12 % of a CPU"}],
}
VOID = {
    **RUN,
    "short_id": "efefefef",
    "outcome": "void",
    "reason": "the host was rebooted",
    "measurements": [],
    "notes": [],
}
WARM_UP = {**RUN, "short_id": "23232323", "repeat": 1, "warmup": True}
QUEUED = {**VOID, "short_id": "01010101", "state": "queued", "outcome": None, "reason": ""}
JOB: dict[str, Any] = {
    "id": "cd" * 16,
    "short_id": "cdcdcdcd",
    "playbook": "loopback-throughput",
    "params": {"tool": "iperf2", "streams": "10"},
    "hosts": ["elan1", "homer"],
    "repeats": 3,
    "state": "running",
    "states": {"ended": 2, "leased": 1, "queued": 2, "reaping": 1},
    "outcomes": {"finished": 1, "void": 1},
    "created": "2026-03-01T11:58:00Z",
    "reasons": ["homer: the host is unreachable: connection refused"],
    "done": 2,
    "total": 6,
}
PLAYBOOK: dict[str, Any] = {
    "name": "loopback-throughput",
    "title": "TCP throughput over the loopback interface",
    "kind": "benchmark",
    "notes": "",
    "tags": ["network"],
    "params": [
        {"name": "streams", "type": "int", "default": "10", "range": "1..64", "unit": ""},
        {"name": "time", "type": "duration", "default": "10", "range": "1..3600", "unit": "s"},
    ],
    "metrics": [
        {
            "name": "throughput",
            "unit": "Gbit/s",
            "better": "higher",
            "primary": True,
            "valid": [0.001, 100],
        },
        {"name": "switches", "unit": "1", "better": "neither", "primary": False, "valid": None},
    ],
    "repeats": 5,
    "warmups": 1,
    "pause_s": 2.5,
    "source_path": "playbooks/loopback-throughput.yaml",
}
LAB: dict[str, Any] = {
    "hosts": [ELAN, HOMER],
    "queued": 3,
    "running": [{**RUN, "state": "running", "outcome": None, "measurements": []}],
    "waiting": [
        {
            "run": "01" * 16,
            "host": "homer",
            "playbook": "loopback-throughput",
            "why": "the host is unreachable",
            "runs": 2,
        },
    ],
    "sites": [{"name": "main", "echo_age_s": 2.2}, {"name": "attic", "echo_age_s": None}],
    "counts": {"hosts": 1, "runs": 6, "ended": 1, "results": 0, "refused messages": 2},
}

SHEETS: dict[str, tuple[Sheet, ...]] = {
    "host-list": (host.hosts_sheet([ELAN, HOMER]),),
    "host-list-wide": (host.hosts_sheet([ELAN, LISA]),),
    "host-list-empty": (host.hosts_sheet([]),),
    "host-show": (host.host_sheet(HOMER),),
    "job-list": (job.jobs_sheet([JOB], NOW),),
    "job-list-empty": (job.jobs_sheet([], NOW),),
    "job-show": (job.job_sheet(JOB), job.runs_sheet([WARM_UP, RUN, VOID, QUEUED])),
    "run-show": run.run_sheets(RUN),
    "run-show-void": run.run_sheets(VOID),
    "playbook-list": (playbook.playbooks_sheet([PLAYBOOK]),),
    "playbook-show": playbook.playbook_sheets(PLAYBOOK),
    "status": status.status_sheets(LAB),
}


def _plain(name: str) -> str:
    return plain.document(SHEETS[name])


@pytest.mark.parametrize("name", SHEETS)
def test_plain_sheet_is_the_golden_one(name: str) -> None:
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("BENCHRACK_UPDATE_GOLDEN"):
        golden.write_text(_plain(name) + "\n")
    assert _plain(name) + "\n" == golden.read_text()


@pytest.mark.parametrize("name", SHEETS)
def test_plain_sheet_is_ascii_of_76_columns(name: str) -> None:
    text = _plain(name)
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= plain.WIDTH


@pytest.mark.parametrize("width", [20, 76, 200])
@pytest.mark.parametrize("name", SHEETS)
def test_styled_sheet_fits_the_terminal(name: str, width: int) -> None:
    lines = [line for sheet in SHEETS[name] for line in _styled(sheet, width).splitlines()]
    assert max(map(len, lines)) <= width


def test_plain_sheet_too_wide_for_rows_becomes_blocks_and_loses_nothing() -> None:
    cells = tuple(Cell(letter * 60) for letter in "ab")
    text = plain.render(Sheet(columns=(Column("ONE", cells), Column("TWO", cells))))
    assert text.count("a" * 60) == text.count("b" * 60) == 2


def test_plain_last_cell_that_is_too_long_is_wrapped_beside_the_others() -> None:
    why = Column("WHY", (Cell("it waits " * 20),))
    text = plain.render(Sheet(columns=(Column("RUN", (Cell("ab" * 4),)), why)))
    assert text.count("waits") == 20
    assert all(line.startswith(" " * 10) for line in text.splitlines()[2:])


def test_styled_sheet_takes_no_markup_from_a_host() -> None:
    assert "[bold red]x[/]" in _styled(Sheet(sentences=(Cell("[bold red]x[/]"),)), 76)


@pytest.mark.parametrize("place", ["title", "pair", "cell", "sentence"])
def test_sheet_with_control_characters_shows_escapes(place: str) -> None:
    evil = "\x1b]0;owned\x07"
    cell = Cell(evil)
    sheet = {
        "title": Sheet(title=evil),
        "pair": Sheet(pairs=(("name", cell),)),
        "cell": Sheet(columns=(Column("NAME", (cell,)),)),
        "sentence": Sheet(sentences=(cell,)),
    }[place]
    for shown in (plain.render(sheet), _styled(sheet, 76)):
        assert "\x1b" not in shown
        assert r"\x1b]0;owned\x07" in shown


def test_styled_sheet_on_a_colour_terminal_has_colours_but_under_no_color() -> None:
    sheet = Sheet(sentences=(Cell("bad", Tone.BAD),))
    assert "\x1b[31m" in _coloured(sheet, no_color=False)
    assert "\x1b[31m" not in _coloured(sheet, no_color=True)


def _styled(sheet: Sheet, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, markup=False)
    with console.capture() as capture:
        console.print(styled.render(sheet))
    return capture.get()


def _coloured(sheet: Sheet, *, no_color: bool) -> str:
    console = Console(
        file=io.StringIO(), force_terminal=True, color_system="standard", no_color=no_color
    )
    with console.capture() as capture:
        console.print(styled.render(sheet))
    return capture.get()
