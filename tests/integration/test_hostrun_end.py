"""How the host's side ends a run, and what is left of it: nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import services
from tests.integration import hosts

#: a child that leaves group, session and parent of the script, and writes its pid to a file
_DAEMON = f"""{sys.executable} -S -c '
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("daemon", "w").write(f"{{os.getpid()}}\\n")
        time.sleep(300)
'
"""
#: a process of the session of the script that does not carry the marker
_STRANGER = """(exec env -i sh -c 'echo $$ >stranger; exec sleep 300') &
until [ -s stranger ]; do sleep 1; done
"""


# ---- the end of a run


def test_runtime_over_its_limit_is_124_and_leaves_nothing(host: hosts.Host) -> None:
    answer = host.start(f"{_DAEMON}while :; do sleep 1; done", max_s=1)
    assert (answer.status, answer.rc) == ("done", "124")
    assert not hosts.is_living(hosts.pid_in(host.folder / "work/daemon"))
    assert host.living() == []
    assert host.log[-1][-1] == "124"


def test_end_of_a_script_ends_what_it_started(usual: hosts.Host) -> None:
    answer = usual.start(f"{_DAEMON}until [ -s daemon ]; do sleep 1; done\nsleep 300 &")
    assert (answer.status, answer.rc) == ("done", "0")
    assert not hosts.is_living(hosts.pid_in(usual.folder / "work/daemon"))
    assert usual.living() == []


def test_starter_killed_while_attending_leaves_the_run_alone(usual: hosts.Host) -> None:
    usual.running("touch up\nuntil [ -e go ]; do sleep 1; done\necho through")
    assert usual.of("poll").status == "running"
    (usual.folder / "work/go").touch()
    services.wait_for(lambda: usual.of("poll").status == "done", "the end of the run")
    assert (usual.folder / "console").read_text() == "through\n"
    assert usual.executions() == 1


# ---- kill and reap


def test_kill_ends_what_ignores_term(host: hosts.Host) -> None:
    host.running(f"trap '' TERM\n{_DAEMON}touch up\nwhile :; do sleep 1; done")
    daemon = hosts.pid_in(host.folder / "work/daemon")
    assert host.of("kill").status == "died"
    assert host.living() == []
    assert not hosts.is_living(daemon)
    assert host.of("poll").status == "died"
    assert host.of("reap").status == "clean"
    assert host.log[-1] == ["end", host.lab, host.run, "1", "1", "-"]
    hosts.assert_forgotten(host)


def test_kill_of_a_finished_run_keeps_its_result(usual: hosts.Host) -> None:
    usual.start("exit 4")
    answer = usual.of("kill")
    assert (answer.status, answer.rc) == ("done", "4")
    assert "killed" not in os.listdir(usual.folder)


def test_kill_with_another_fence_kills_nothing(usual: hosts.Host) -> None:
    usual.running(hosts.UP)
    for verb in ("kill", "poll", "fetch"):
        assert usual.of(verb, fence=2).status == "absent"
    assert usual.of("reap", fence=2).status == "notowner"
    assert usual.of("poll").status == "running"


def test_kill_goes_the_way_the_script_becomes_root(usual: hosts.Host) -> None:
    sudo = Path(usual.environ["PATH"].split(os.pathsep)[0], "sudo")
    sudo.write_text('#!/bin/sh\necho "$2" >>"$HOME/sudo"\nshift\nexec "$@"\n')
    sudo.chmod(0o755)
    usual.running(f'echo "sudo -n" >"$BENCHRACK_DIR/root"\n{hosts.UP}')
    assert usual.of("kill").status == "died"
    assert usual.living() == []
    assert {"grep", "kill"} <= set(Path(usual.environ["HOME"], "sudo").read_text().split())


def test_kill_before_the_run_began_keeps_it_from_beginning(usual: hosts.Host) -> None:
    usual.start("exit 0")
    for name in ("pid", "rc"):
        (usual.folder / name).unlink()
    assert usual.of("kill").status == "died"
    assert usual.start("exit 0").status == "died"
    assert usual.executions() == 1


def test_reap_that_carries_the_marker_spares_itself(host: hosts.Host) -> None:
    host.start("exit 0")
    environ = {**host.environ, "BENCHRACK_RUN": host.run}
    marked = hosts.Host(base=host.base, environ=environ, lab=host.lab, run=host.run)
    assert marked.of("reap").status == "clean"
    hosts.assert_forgotten(host)


def test_reap_finds_a_daemon_of_a_run_that_was_killed(host: hosts.Host) -> None:
    host.running(f"{_DAEMON}until [ -s daemon ]; do sleep 1; done\n{hosts.UP}")
    daemon = hosts.pid_in(host.folder / "work/daemon")
    # the wrapper first: it would clean up once the script is gone
    wrapper = int(os.readlink(host.folder / "pid").split(".")[0])
    for pid in (wrapper, *(pid for pid in host.living() if pid not in (wrapper, daemon))):
        hosts.kill(pid)
    assert host.of("poll").status == "died"
    assert hosts.is_living(daemon)
    assert host.of("reap").status == "clean"
    assert not hosts.is_living(daemon)
    hosts.assert_forgotten(host)


@pytest.mark.parametrize("name", ["a b", "a) Z 1 1 1 (b", "a\n1 (b) R 1"])
def test_kill_finds_a_process_whatever_its_name(usual: hosts.Host, name: str) -> None:
    sleeper = usual.base.parent / name
    sleeper.write_bytes(Path(hosts.program("sleep")).read_bytes())
    sleeper.chmod(0o755)
    usual.running(f"env -i '{sleeper}' 300 &\necho $! >pid\ntouch up\nsleep 300\n")
    pid = hosts.pid_in(usual.folder / "work/pid")
    assert usual.of("kill").status == "died"
    assert not hosts.is_living(pid)


@pytest.mark.needs("setsid")
def test_kill_finds_a_process_of_the_session_without_the_marker(usual: hosts.Host) -> None:
    usual.running(_STRANGER + hosts.UP)
    stranger = hosts.pid_in(usual.folder / "work/stranger")
    assert stranger not in usual.living()
    assert usual.of("kill").status == "died"
    assert not hosts.is_living(stranger)


def test_pid_that_was_used_again_is_left_alone(host: hosts.Host) -> None:
    host.start("exit 0")
    with subprocess.Popen((hosts.program("sleep"), "300"), start_new_session=True) as bystander:
        (host.folder / "rc").unlink()
        (host.folder / "pid").unlink()
        (host.folder / "pid").symlink_to(f"{bystander.pid}.1.{hosts.BOOT}")
        assert host.of("poll").status == "died"
        assert host.of("kill").status == "died"
        assert host.of("reap").status == "clean"
        assert bystander.poll() is None
        bystander.kill()


def test_reboot_is_seen_and_reaped(host: hosts.Host) -> None:
    host.start(
        'echo "echo \\$BENCHRACK_REBOOTED >$HOME/undone" >"$BENCHRACK_DIR/undo.sh"; kill -9 $PPID'
    )
    owner = f"{host.lab}.{host.run}.1.1."
    for path, value in ((host.folder / "pid", f"{os.getpid()}.1."), (host.base / "active", owner)):
        path.unlink()
        path.symlink_to(value + hosts.OTHER_BOOT)
    assert host.of("poll").status == "rebooted"
    assert host.start("exit 0").status == "rebooted"
    assert host.of("reap").status == "clean"
    assert Path(host.environ["HOME"], "undone").read_text() == "1\n"
    hosts.assert_forgotten(host)


# ---- undo


def test_undo_is_executed_once_when_the_script_has_ended(host: hosts.Host) -> None:
    undone = Path(host.environ["HOME"], "undone")
    answer = host.start(f'echo "env >>{undone}" >"$BENCHRACK_DIR/undo.sh"')
    assert answer.status == "done"
    seen = undone.read_text().splitlines()
    assert sum(line.startswith("BENCHRACK_DIR=") for line in seen) == 1
    assert not any(line.startswith("BENCHRACK_RUN=") for line in seen)
    assert host.of("reap").status == "clean"
    assert undone.read_text().splitlines() == seen


def test_undo_is_executed_by_reap_when_the_script_was_killed(host: hosts.Host) -> None:
    undone = Path(host.environ["HOME"], "undone")
    host.running(f'echo "echo back >>{undone}" >"$BENCHRACK_DIR/undo.sh"\n{hosts.UP}')
    assert host.of("kill").status == "died"
    assert not undone.exists()
    assert host.of("reap").status == "clean"
    assert undone.read_text() == "back\n"
    hosts.assert_forgotten(host)


def test_undo_that_fails_is_unsure_until_it_succeeds(usual: hosts.Host) -> None:
    mended = Path(usual.environ["HOME"], "mended")
    answer = usual.start(f'echo "test -e {mended}" >"$BENCHRACK_DIR/undo.sh"')
    assert answer.status == "died"
    answer = usual.of("reap")
    assert (answer.status, answer.detail) == (
        "unsure",
        f"undo.sh did not end well; {usual.folder}/console says why",
    )
    assert answer.owner
    mended.touch()
    assert usual.of("reap").status == "clean"


def test_purge_sweeps_what_calls_left_but_not_what_one_is_writing(usual: hosts.Host) -> None:
    usual.start("exit 0")
    ended = subprocess.Popen(("true",))
    ended.wait()
    writing, left = (
        [usual.base / folder / f"{name}.0123456789abcdef.{pid}" for folder, name in places]
        for places in [(("r", ".facts"), ("r", ".in"), ("bin", ".new"))]
        for pid in (os.getpid(), ended.pid)
    )
    for path in (*writing, *left):
        path.parent.mkdir(exist_ok=True)
        path.write_text("half")
    assert usual.of("purge").status == "purged"
    assert [path.exists() for path in writing] == [True, True, True]
    assert [path.exists() for path in left] == [False, False, False]


def test_run_that_leaves_too_many_files_is_too_much_to_take_home(host: hosts.Host) -> None:
    many = 'n=0; while [ $n -lt 400 ]; do n=$((n + 1)); echo >"$BENCHRACK_OUT/f$n"; done'
    answer = host.start(many)
    assert (answer.status, answer.rc) == ("done", "125")
    assert [line.split()[0] for line in answer.values["stream"]] == ["console"]
    assert host.of("purge").status == "purged"
    hosts.assert_forgotten(host)


def test_reaped_attempt_can_never_be_started_again(host: hosts.Host) -> None:
    assert host.of("kill").status == "absent"
    assert host.of("reap").status == "clean"
    assert host.start("exit 0").status == "stale"
    assert host.executions() == 0
