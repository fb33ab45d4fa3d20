"""Compiled scripts and what a host must be: requirements, noise, root, a kernel that complains."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator.contract.domain import NoisePolicy
from tests import services
from tests.scripts import MAIN, SHELLS, Shell, compiled, execute, run_stage

#: busybox executes its own applets before any program of the PATH
PATH_SHELLS = [shell for shell in SHELLS if shell.id != "ash"]


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> Shell:
    """Each shell in turn."""
    words: Shell = request.param
    return words


@pytest.fixture(params=PATH_SHELLS)
def path_shell(request: pytest.FixtureRequest) -> Shell:
    """Each shell that takes programs from the PATH."""
    words: Shell = request.param
    return words


@pytest.mark.parametrize(
    ("requires", "reason"),
    [
        ("memory_free: 900000GiB", r"memory_free: \d+ KiB of 999999999 KiB"),
        ("workdir_free: 900000GiB", r"workdir_free: \d+ KiB of 999999999 KiB in /.*"),
        ("tools: [no-such-tool]", r"no-such-tool is not on this host; install it"),
        ("arch: [z80, 6502]", r"this host is \S+; needed is one of: z80 6502"),
        ("cpus_online: 9999", r"cpus_online: \d+ of 9999"),
        ("kernel_min: '99.1'", r"the kernel is \S+; at least 99.1 is needed"),
        ("tools: [{name: sed, min_version: 99.0}]", r"sed is version \S+; at least 99.0 is needed"),
    ],
)
def test_requirement_that_is_not_met_skips_with_the_sentence(
    shell: Shell, tmp_path: Path, requires: str, reason: str
) -> None:
    done = execute(shell, compiled(f"requires: {{{requires}}}\n{MAIN}"), tmp_path)
    assert done.record.outcome == "skipped"
    assert re.fullmatch(reason, done.record.reason)
    assert list(done.record.stages) == ["cleanup"]


def test_requirements_that_are_met_do_not_hinder(shell: Shell, tmp_path: Path) -> None:
    requires = (
        "memory_free: 1MiB, workdir_free: 1MiB, workdir_exec: true, cpus_online: 1, root: better, "
        "kernel_min: '2.6.1', tools: [{name: sed, min_version: 0.1}, sh]"
    )
    done = execute(shell, compiled(f"requires: {{{requires}}}\n{MAIN}"), tmp_path)
    assert done.end == ("finished", "")
    assert [line.split()[0] for line in done.streams["tools"].decode().splitlines()] == [
        "sed",
        "sh",
    ]


def test_missing_requirement_can_be_a_failure(shell: Shell, tmp_path: Path) -> None:
    text = f"requires: {{tools: [no-such-tool], on_missing: fail}}\n{MAIN}"
    done = execute(shell, compiled(text), tmp_path)
    assert done.end == ("failed", "no-such-tool is not on this host; install it")


def test_noisy_host_is_refused_or_noted(shell: Shell, tmp_path: Path) -> None:
    # a load of less than nothing is never reached
    text = f"quiet: {{max_load1: 0}}\n{MAIN}"
    limit, never = b"br_need_quiet 0 0", b"br_need_quiet -1 0"
    refused = execute(shell, compiled(text).replace(limit, never), tmp_path / "refuse")
    assert refused.record.outcome == "skipped"
    assert "did not fall to 0 within 0 s" in refused.record.reason
    noted = compiled(text, noise=NoisePolicy.NOTE)
    done = execute(shell, noted.replace(limit, never), tmp_path / "note")
    assert done.end == ("finished", "")
    assert [note.code for note in done.record.notes] == ["noisy"]


def test_tool_of_the_shelf_is_found_and_its_checksum_recorded(shell: Shell, tmp_path: Path) -> None:
    shelf = tmp_path / "bin"
    shelf.mkdir()
    program = shelf / "rackprobe"
    program.write_text("#!/bin/sh\necho $1\n")
    program.chmod(0o755)
    text = "requires: {tools: [{name: rackprobe, shelf: true}]}\n" + run_stage(
        "{id: main, run: [rackprobe, '{run}']}"
    )
    done = execute(shell, compiled(text, run_id="ab" * 16), tmp_path)
    assert done.streams["run.main.out"] == b"ab" * 16 + b"\n"
    assert done.streams["tools"].decode().endswith(f" {program}\n")


def put(folder: Path, **programs: str) -> None:
    """Put programs on the shelf, which goes before what the host has."""
    (folder / "bin").mkdir()
    for name, text in programs.items():
        path = folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)


SUDO = '[ "$1" = -n ] || exit 1\nshift\necho "$*" >>"$BENCHRACK_DIR/sudo"\nexec "$@"'


def test_root_step_goes_by_sudo_with_all_that_a_step_sees(
    path_shell: Shell, tmp_path: Path
) -> None:
    put(tmp_path, id="echo 1000", sudo=SUDO)
    text = "params: {a: {type: text, default: it's}}\n" + run_stage(
        "{id: main, root: true, script: 'echo \"$P_a $P_host $P_workdir $BENCHRACK_RUN\"'}"
    )
    done = execute(path_shell, compiled(text, run_id="ab" * 16), tmp_path)
    assert done.end == ("finished", "")
    assert done.streams["run.main.out"].decode() == f"it's elan {tmp_path}/work {'ab' * 16}\n"
    assert (tmp_path / "root").read_text() == "sudo -n\n"
    assert f"env BENCHRACK_DIR={tmp_path} BENCHRACK_RUN=" in (tmp_path / "sudo").read_text()


def test_root_step_over_its_timeout_is_stopped_as_root(path_shell: Shell, tmp_path: Path) -> None:
    put(tmp_path, id="echo 1000", sudo=SUDO)
    text = run_stage("{id: main, root: true, run: [sleep, '300'], timeout: 1s}")
    done = execute(path_shell, compiled(text), tmp_path)
    assert done.record.outcome == "timed-out"
    assert "\nkill -s TERM " in (tmp_path / "sudo").read_text()


@pytest.mark.parametrize(
    ("root", "end", "codes"),
    [
        ("needed", ("skipped", "root is needed: log in as root, or allow sudo -n or doas -n"), []),
        ("better", ("finished", ""), ["not-root"]),
    ],
)
def test_host_without_a_way_to_root_skips_or_notes(
    path_shell: Shell, tmp_path: Path, root: str, end: tuple[str, str], codes: list[str]
) -> None:
    put(tmp_path, id="echo 1000", sudo="exit 1", doas="exit 1")
    done = execute(path_shell, compiled(f"requires: {{root: {root}}}\n{MAIN}"), tmp_path)
    assert done.end == end
    assert [note.code for note in done.record.notes] == codes


@pytest.mark.parametrize(
    ("gzip", "option", "end", "codes"),
    [
        ("echo CONFIG_HZ=100", "HZ=100", ("finished", ""), []),
        ("echo CONFIG_HZ=1000", "HZ=100", ("skipped", "the kernel is built without HZ=100"), []),
        ("exit 1", "HZ=100", ("finished", ""), ["config-unknown"]),
    ],
)
def test_kernel_option_is_there_missing_or_unknown(
    path_shell: Shell,
    tmp_path: Path,
    gzip: str,
    option: str,
    end: tuple[str, str],
    codes: list[str],
) -> None:
    put(tmp_path, gzip=gzip, uname="echo 0.0-none")
    done = execute(
        path_shell, compiled(f"requires: {{kernel_config: [{option}]}}\n{MAIN}"), tmp_path
    )
    assert done.end == end
    assert [note.code for note in done.record.notes] == codes


@pytest.mark.parametrize(
    ("release", "least", "fits"),
    [
        ("6.12+", "6.12", True),
        ("6.1-rc3", "6.1", True),
        ("2.6.23-smp-d-hrt", "2.6.9", True),
        ("6.2", "6.10", False),
        ("5.12", "5.12.1", False),
        ("10.0", "9.9.9", True),
    ],
)
def test_kernel_release_is_compared_by_numbers(
    path_shell: Shell, tmp_path: Path, release: str, least: str, fits: bool
) -> None:
    put(tmp_path, uname=f"echo {release}")
    done = execute(path_shell, compiled(f"requires: {{kernel_min: '{least}'}}\n{MAIN}"), tmp_path)
    assert done.record.outcome == ("finished" if fits else "skipped")


LATER = "{id: main, script: ': >../later'}"


def later(first: str, then: str) -> str:
    """A program that does something else once the step ``LATER`` was executed."""
    return f'if [ -e "$BENCHRACK_DIR/later" ]; then {then}; else {first}; fi'


def test_clock_that_jumps_voids_the_run(path_shell: Shell, tmp_path: Path) -> None:
    put(tmp_path, date=later("echo 1000000", "echo 1003600"))
    done = execute(path_shell, compiled(f"abort_on: [clock-jump]\n{run_stage(LATER)}"), tmp_path)
    assert done.end == ("void", "clock-jump: the wall clock moved by 3600 s against the uptime")


@pytest.mark.parametrize(
    ("guard", "line"),
    [
        ("kernel-oops", "[ 12.5] BUG: unable to handle page fault"),
        ("oom-kill", "[ 12.5] Out of memory: Killed process 1 (x)"),
    ],
)
def test_kernel_that_complains_voids_the_run(
    path_shell: Shell, tmp_path: Path, guard: str, line: str
) -> None:
    seen = "echo '[ 1.0] BUG: old'; echo '[ 2.0] Out of memory: old'"
    put(tmp_path, dmesg=later(seen, f"{seen}; echo '{line}'"))
    done = execute(path_shell, compiled(f"abort_on: [{guard}]\n{run_stage(LATER)}"), tmp_path)
    assert done.end == ("void", f"{guard}: {line}")


def test_kernel_that_complained_before_is_no_reason(path_shell: Shell, tmp_path: Path) -> None:
    put(tmp_path, dmesg="echo '[ 1.0] BUG: of long ago'")
    done = execute(path_shell, compiled(f"abort_on: [kernel-oops, oom-kill]\n{MAIN}"), tmp_path)
    assert done.end == ("finished", "")


def test_kernel_log_that_may_not_be_read_is_noted(path_shell: Shell, tmp_path: Path) -> None:
    put(tmp_path, dmesg="echo not permitted >&2; exit 1")
    done = execute(path_shell, compiled(f"abort_on: [kernel-oops]\n{MAIN}"), tmp_path)
    assert done.end == ("finished", "")
    assert [note.code for note in done.record.notes] == ["log-unreadable"]


#: what the script and the facts may call: applets that any busybox has
APPLETS = frozenset(
    (
        *("cat", "chmod", "cksum", "cp", "cut", "date", "df", "dmesg", "env", "expr", "grep"),
        *("head", "id", "kill", "ln", "ls", "mkdir", "mv", "printf", "rm", "sed", "sh", "sleep"),
        *("sort", "tail", "tr", "uname", "uniq", "wc"),
    )
)


@pytest.mark.needs("busybox")
def test_script_needs_no_more_than_a_small_busybox(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "applets"
    folder.mkdir()
    for applet in APPLETS:
        (folder / applet).symlink_to(str(services.find("busybox")))
    monkeypatch.setenv("PATH", str(folder))
    text = (
        "requires: {memory_free: 1MiB, workdir_free: 1MiB, workdir_exec: true, tools: [sh]}\n"
        "abort_on: [kernel-oops, clock-jump]\n"
        + run_stage(
            "{id: server, script: 'echo up; sleep 300', background: true, ready: {output_has: up}}",
            "{id: main, script: 'echo x >f; exit 3', save: [f], ok_exit: [3]}",
        )
    )
    done = execute(shell, compiled(text), tmp_path)
    assert (done.end, done.said) == (("finished", ""), "")
    assert done.streams["tools"].startswith(b"sh - ")
    assert done.streams["file.f"] == b"x\n"
    assert done.streams["facts.before"].endswith(b"@@FACTS end ok\n")
