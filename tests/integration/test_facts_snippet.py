"""The facts snippet under every shell that a host may have."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator import facts

SNIPPET = Path(__file__).parents[2] / "orchestrator" / "contract" / "facts.sh"
SHELLS = {
    "dash": ("dash",),
    "busybox": ("busybox", "ash"),
    "bash": ("bash", "--posix"),
    "mksh": ("mksh",),
    "ksh": ("ksh",),
}
NORMAL_OUTPUT = 64 * 1024


def execute(*words: str, path: str | None = None, strict: bool = False) -> bytes:
    """What the snippet prints under a shell; ``strict``: as part of a careful script."""
    command = (*words, *(("-eu",) if strict else ()), str(SNIPPET))
    env = {"PATH": path if path is not None else os.environ["PATH"]}
    done = subprocess.run((*command, "full"), check=True, capture_output=True, env=env)
    assert done.stderr == b""
    return done.stdout


def steady(found: facts.Facts) -> facts.Facts:
    """Facts without what moves from moment to moment, or depends on what a shell is itself."""
    return replace(
        found,
        tools={name: version for name, version in found.tools.items() if version},
        commands=None,
        load1=None,
        psi_some_avg10=None,
        uptime_s=None,
        epoch_s=None,
        memory_free_kib=None,
        workdir_free_kib=None,
    )


@pytest.fixture
def applets(tmp_path: Path) -> str:
    """A PATH on which there is nothing but the applets of busybox."""
    busybox = shutil.which("busybox")
    assert busybox is not None
    listed = subprocess.run((busybox, "--list"), check=True, capture_output=True, text=True)
    for name in listed.stdout.split():
        (tmp_path / name).symlink_to(busybox)
    return str(tmp_path)


@pytest.mark.parametrize(
    "shell",
    [pytest.param(name, marks=pytest.mark.needs(words[0])) for name, words in SHELLS.items()],
)
def test_facts_under_any_shell_are_those_under_sh(shell: str) -> None:
    found = facts.interpret(execute(*SHELLS[shell]))
    assert found.complete
    assert steady(found) == steady(facts.interpret(execute("sh")))


@pytest.mark.needs("busybox")
def test_facts_with_busybox_alone_name_the_same_kernel(applets: str) -> None:
    alone = facts.interpret(execute("/bin/sh", path=applets))
    usual = facts.interpret(execute("sh"))
    assert facts.kernel_identity(alone) == facts.kernel_identity(usual)
    assert facts.environment(alone).hard == facts.environment(usual).hard


def test_facts_of_this_machine_are_what_python_knows() -> None:
    found = facts.interpret(execute("sh"))
    uname = os.uname()
    assert (found.release, found.version, found.machine) == (
        uname.release,
        uname.version,
        uname.machine,
    )
    assert found.cpus_online == os.cpu_count()
    assert found.uid == os.getuid()
    assert found.epoch_s == pytest.approx(time.time(), abs=5)
    assert found.workdir == str(Path.cwd())
    assert found.commands is None or "sh" in found.commands


def test_output_stays_small_and_quick() -> None:
    begin = time.monotonic()
    output = execute("sh")
    assert len(output) < NORMAL_OUTPUT
    assert time.monotonic() - begin < 5


def test_strict_shell_does_not_end_it_early() -> None:
    assert facts.interpret(execute("sh", strict=True)).complete


def test_path_without_any_command_still_gives_a_whole_sheet(tmp_path: Path) -> None:
    found = facts.interpret(execute("/bin/sh", path=str(tmp_path)))
    assert found.complete
    assert found.release is None


def test_short_list_has_the_same_kernel_and_what_may_change() -> None:
    words = ("sh", str(SNIPPET), "short")
    short = facts.interpret(subprocess.run(words, check=True, capture_output=True).stdout)
    full = facts.interpret(execute("sh"))
    assert facts.kernel_identity(short) == facts.kernel_identity(full)
    assert facts.differences(full, short) == ()
    assert (short.boot_id, short.clocksource) == (full.boot_id, full.clocksource)
    assert short.machine_id is None
