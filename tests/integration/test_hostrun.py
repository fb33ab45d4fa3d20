"""The host's side of the protocol, in each shell that a host may have."""

from __future__ import annotations

import os
import random
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.contract import checksum, domain
from tests import services
from tests.integration import hosts
from workers import hostcall, ssh

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
#: the same, and without the marker
_STRANGER = """(exec env -i sh -c 'echo $$ >stranger; exec sleep 300') &
until [ -s stranger ]; do sleep 1; done
"""
_UP = "touch up\nsleep 300\n"


@pytest.fixture(
    params=[pytest.param(s, marks=pytest.mark.needs(p)) for s, p in hosts.SHELLS.items()]
)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[hosts.Host]:
    """A host in each shell."""
    with hosts.host(request.param, tmp_path) as met:
        yield met


@pytest.fixture
def usual(tmp_path: Path) -> Iterator[hosts.Host]:
    """A host for what does not depend on the shell."""
    with hosts.host("dash", tmp_path) as met:
        yield met


def assert_forgotten(host: hosts.Host) -> None:
    """Nothing of the run is left, and what is left is what the protocol says."""
    left = {name for name in host.tree() if not name.startswith("guard/")}
    assert left == {
        "bin", "bin/hostrun.sh", "guard", "instance", "log", "r", f"fence.{host.lab}"
    }  # fmt: skip
    assert len(list((host.base / "guard").iterdir())) == 1
    assert host.living() == []


# ---- start


def test_start_attended_answers_with_the_end_and_its_streams(host: hosts.Host) -> None:
    script = 'echo said; pwd >"$BENCHRACK_OUT/where"; env >"$BENCHRACK_OUT/env"; exit 3'
    answer = host.start(script)
    assert (answer.status, answer.rc, answer.fence) == ("done", "3", "1")
    assert answer.owner == f"{host.lab}.{host.run}.1.1.{hosts.BOOT}"
    assert (host.folder / "out/where").read_text() == f"{host.folder}/work\n"
    seen = dict(line.split("=", 1) for line in (host.folder / "out/env").read_text().splitlines())
    assert seen["BENCHRACK_RUN"] == host.run
    assert seen["BENCHRACK_DIR"] == str(host.folder)
    assert seen["BENCHRACK_OUT"] == str(host.folder / "out")
    assert seen["BENCHRACK_BIN"] == str(host.base / "bin")
    assert (seen["LC_ALL"], seen["TZ"], seen["TERM"]) == ("C", "UTC", "dumb")
    assert [line.split()[0] for line in answer.values["stream"]] == ["console", "env", "where"]
    for line in answer.values["stream"]:
        name, size, algorithm, digest = line.split()
        path = host.folder / name if name == "console" else host.folder / "out" / name
        assert int(size) == path.stat().st_size
        assert digest == checksum.digest(checksum.Algorithm(algorithm), path.read_bytes())
    assert host.log == [
        ["begin", host.lab, host.run, "1", "1"],
        ["end", host.lab, host.run, "1", "1", "3"],
    ]


def test_start_unattended_begins_after_the_call_has_ended(usual: hosts.Host) -> None:
    assert usual.start("exit 0", attend=False).status == "running"
    answered = float(Path("/proc/uptime").read_text().split()[0])
    services.wait_for(lambda: usual.of("poll").status == "done", "the end of the run")
    begin = float((usual.base / "log").read_text().split()[0])
    assert begin > answered + 0.5


def test_start_twenty_times_at_once_executes_once(host: hosts.Host) -> None:
    script = b"sleep 1"
    words = ("start", host.run, "1", "1", hosts.BOOT, "1", "60", "0", str(len(script)))
    nonces = [secrets.token_hex(8) for _ in range(20)]
    calls = [host.popen(*words, stdin=script, nonce=nonce) for nonce in nonces]
    answers = []
    for call, nonce in zip(calls, nonces, strict=True):
        with call:
            answers.append(hosts.read(call.communicate(timeout=40)[0], nonce).status)
    assert set(answers) <= {"running", "done"}
    services.wait_for(lambda: host.of("poll").status == "done", "the end of the run")
    assert host.executions() == 1


def test_start_killed_anywhere_and_repeated_executes_once(host: hosts.Host) -> None:
    dice = random.Random(42)
    for fence in range(1, 11):
        words = ("start", host.run, "1", str(fence), hosts.BOOT, "1", "60", "0", "1")
        with host.popen(*words, stdin=b":", nonce=secrets.token_hex(8)) as call:
            time.sleep(dice.uniform(0, 0.08))
            call.kill()
        services.wait_for(lambda: host.start(":", fence=fence).status == "done", "an end")  # noqa: B023
        assert host.executions() == fence
        assert host.of("purge", fence=fence).status == "purged"
    assert_forgotten(host)


def test_calls_at_random_never_overlap_and_never_repeat(usual: hosts.Host) -> None:
    dice = random.Random(7)
    owners = [(dice.choice("12") * 32, secrets.token_hex(16), str(n)) for n in range(1, 7)]
    start = (hosts.BOOT, "1", "60", "0", "9")
    calls: list[subprocess.Popen[bytes]] = []
    for _ in range(120):
        lab, run, fence = dice.choice(owners)
        verb = dice.choice(["start", "start", "start", "poll", "kill", "reap", "purge"])
        host = hosts.Host(base=usual.base, environ=usual.environ, lab=lab, run=run)
        words = (verb, run, "1", fence, *(start if verb == "start" else ()))
        calls.append(host.popen(*words, stdin=b"sleep 0.1", nonce=secrets.token_hex(8)))
        if dice.random() < 0.3:
            time.sleep(dice.uniform(0, 0.05))
            calls[-1].kill()
        if len(calls) >= 6:
            calls.pop(0).communicate(timeout=30)
    for call in calls:
        call.communicate(timeout=30)
    for lab, run, fence in owners:
        hosts.Host(base=usual.base, environ=usual.environ, lab=lab, run=run).of("reap", fence=fence)
    begun = [line[1:] for line in usual.log if line[0] == "begin"]
    assert begun
    assert len(begun) == len({tuple(owner) for owner in begun})
    # each begin is followed by its own end, whatever ended it
    assert [line[0] for line in usual.log] == ["begin", "end"] * len(begun)
    assert [line[1:5] for line in usual.log if line[0] == "end"] == begun


def test_answer_is_found_among_the_noise_of_a_login(usual: hosts.Host) -> None:
    noise = b"Welcome!\n@@0 status=done\nno newline"
    nonce = secrets.token_hex(8)
    with usual.popen("poll", usual.run, "1", "1", nonce=nonce) as call:
        output = noise + b"\n" + call.communicate(timeout=20)[0] + noise
    answer = hostcall.read(ssh.Output(data=output, err=b"", over=False), nonce, "poll")
    assert (answer.status, answer.one("boot")) == (domain.Status.ABSENT, hosts.BOOT)


def test_start_of_a_prepared_run_executes_it(usual: hosts.Host) -> None:
    usual.start("exit 0")
    for name in ("pid", "rc"):
        (usual.folder / name).unlink()
    assert usual.of("poll").status == "prepared"
    assert usual.start("never executed: the script is there").rc == "0"
    assert usual.executions() == 2


def test_start_again_answers_where_the_run_stands(usual: hosts.Host) -> None:
    usual.running(_UP)
    assert usual.start("exit 0").status == "running"
    hosts.kill(int(os.readlink(usual.folder / "pid").split(".")[0]))
    assert usual.start("exit 0").status == "died"
    assert usual.executions() == 1


def test_start_of_a_stale_fence_executes_nothing(host: hosts.Host) -> None:
    host.start("exit 0", fence=5)
    assert host.of("purge", fence=5).status == "purged"
    for fence in (5, 4):
        answer = host.start("exit 0", fence=fence)
        assert (answer.status, answer.fence) == ("stale", "5")
    assert host.of("poll", fence=4).status == "stale"
    assert host.executions() == 1
    assert_forgotten(host)


def test_start_after_a_purge_cut_short_is_stale(usual: hosts.Host) -> None:
    usual.start("exit 0")
    (usual.folder).rename(usual.base / "r/.gone.0123456789abcdef")
    assert usual.start("exit 0").status == "stale"
    assert usual.of("purge").status == "purged"
    assert_forgotten(usual)


def test_start_while_another_run_holds_the_lock_is_busy(usual: hosts.Host) -> None:
    usual.start("exit 0")
    other = hosts.Host(base=usual.base, environ=usual.environ, lab="2" * 32)
    answer = other.start("exit 0")
    assert (answer.status, answer.fence) == ("busy", "0")
    assert answer.owner == f"{usual.lab}.{usual.run}.1.1.{hosts.BOOT}"
    assert other.call("probe").status == "busy"
    assert other.executions() == 0


def test_start_under_another_boot_does_nothing(usual: hosts.Host) -> None:
    before = usual.tree()
    answer = usual.start("exit 0", boot=hosts.OTHER_BOOT)
    assert (answer.status, answer.boot) == ("otherboot", hosts.BOOT)
    assert usual.tree() == before


def test_start_without_the_space_it_needs_does_nothing(usual: hosts.Host) -> None:
    before = usual.tree()
    answer = usual.start("exit 0", need_kib=10**14)
    assert answer.status == "proto"
    assert f"the run needs {10**14}" in answer.detail
    assert usual.tree() == before


def test_start_with_a_script_cut_short_does_nothing(usual: hosts.Host) -> None:
    before = usual.tree()
    answer = usual.of("start", hosts.BOOT, "1", "60", "0", "100", stdin=b"exit 0")
    assert (answer.status, answer.detail) == ("proto", "the script broke off on its way")
    assert usual.tree() == before


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
    assert_forgotten(host)


def test_kill_of_a_finished_run_keeps_its_result(usual: hosts.Host) -> None:
    usual.start("exit 4")
    answer = usual.of("kill")
    assert (answer.status, answer.rc) == ("done", "4")
    assert "killed" not in os.listdir(usual.folder)


def test_kill_with_another_fence_kills_nothing(usual: hosts.Host) -> None:
    usual.running(_UP)
    for verb in ("kill", "poll", "fetch"):
        assert usual.of(verb, fence=2).status == "absent"
    assert usual.of("reap", fence=2).status == "notowner"
    assert usual.of("poll").status == "running"


def test_kill_goes_the_way_the_script_becomes_root(usual: hosts.Host) -> None:
    sudo = Path(usual.environ["PATH"].split(os.pathsep)[0], "sudo")
    sudo.write_text('#!/bin/sh\necho "$2" >>"$HOME/sudo"\nshift\nexec "$@"\n')
    sudo.chmod(0o755)
    usual.running(f'echo "sudo -n" >"$BENCHRACK_DIR/root"\n{_UP}')
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
    assert_forgotten(host)


def test_reap_finds_a_daemon_of_a_run_that_was_killed(host: hosts.Host) -> None:
    host.running(f"{_DAEMON}until [ -s daemon ]; do sleep 1; done\n{_UP}")
    daemon = hosts.pid_in(host.folder / "work/daemon")
    for pid in {*host.living(), int(os.readlink(host.folder / "pid").split(".")[0])} - {daemon}:
        hosts.kill(pid)
    assert host.of("poll").status == "died"
    assert hosts.is_living(daemon)
    assert host.of("reap").status == "clean"
    assert not hosts.is_living(daemon)
    assert_forgotten(host)


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
    usual.running(_STRANGER + _UP)
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
    assert_forgotten(host)


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
    host.running(f'echo "echo back >>{undone}" >"$BENCHRACK_DIR/undo.sh"\n{_UP}')
    assert host.of("kill").status == "died"
    assert not undone.exists()
    assert host.of("reap").status == "clean"
    assert undone.read_text() == "back\n"
    assert_forgotten(host)


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


# ---- fetch


def test_fetch_sends_any_bytes_with_their_checksums(host: hosts.Host) -> None:
    data = bytes(range(256)) * 50 + b"@@" + b"\0\r\n\xff\xfe no newline at the end"
    (host.base.parent / "data").write_bytes(data)
    host.start(f'cat {host.base.parent}/data >"$BENCHRACK_OUT/raw"; echo said')
    ranges = (("raw", 0, 20000), ("raw", 1, 7), ("raw", 12801, 3), ("console", 0, 9), ("no", 5, 9))
    answer = host.of("fetch", stdin="".join(f"{s} {o} {n}\n" for s, o, n in ranges).encode())
    assert answer.status == "done"
    sources = {"raw": data, "console": b"said\n", "no": b""}
    assert answer.chunks == {(s, o): sources[s][o : o + n] for s, o, n in ranges}
    for line in answer.values["chunk"]:
        name, offset, length, algorithm, digest = line.split()
        chunk = answer.chunks[name, int(offset)]
        assert (int(length), digest) == (
            len(chunk),
            checksum.digest(checksum.Algorithm(algorithm), chunk),
        )


def test_fetch_of_an_unfinished_or_unknown_run_sends_nothing(usual: hosts.Host) -> None:
    assert usual.of("fetch", stdin=b"console 0 9\n").status == "absent"
    usual.running(_UP)
    answer = usual.of("fetch", stdin=b"console 0 9\n")
    assert (answer.status, answer.chunks) == ("running", {})


@pytest.mark.parametrize(
    "line", ["../script 0 9", "/etc/passwd 0 9", ".x 0 9", "console -1 9", "console 0"]
)
def test_fetch_of_a_malformed_range_is_refused(usual: hosts.Host, line: str) -> None:
    usual.start("exit 0")
    answer = usual.of("fetch", stdin=f"{line}\n".encode())
    assert (answer.status, answer.chunks) == ("proto", {})


# ---- purge


def test_purge_forgets_exactly_its_own_run(host: hosts.Host) -> None:
    host.start("echo >a; mkdir -p d/e; chmod 0 d", fence=2)
    for fence in (1, 3):
        answer = host.of("purge", fence=fence)
        assert (answer.status, answer.owner) == (
            "notowner",
            f"{host.lab}.{host.run}.1.2.{hosts.BOOT}",
        )
        assert host.of("reap", fence=fence).status == "notowner"
    assert host.of("poll", fence=2).status == "done"
    for _ in range(2):
        assert host.of("purge", fence=2).status == "purged"
    assert_forgotten(host)


def test_purge_of_a_living_run_is_refused(usual: hosts.Host) -> None:
    usual.running(_UP)
    assert usual.of("purge").status == "running"
    assert usual.of("poll").status == "running"


def test_guard_of_a_dead_call_is_taken_over(usual: hosts.Host) -> None:
    (usual.base / "guard/7").symlink_to(f"{os.getpid()}.1.{hosts.BOOT}")
    (usual.base / "guard/12").symlink_to(f"1.1.{hosts.OTHER_BOOT}")
    assert usual.start("exit 0").status == "done"
    assert [path.name for path in (usual.base / "guard").iterdir()] == ["14"]


def test_log_is_kept_short(usual: hosts.Host) -> None:
    line = f"1.00 end {usual.lab} {'3' * 32} 1 1 0\n"
    (usual.base / "log").write_text(line * 800)
    assert usual.start("exit 0").status == "done"
    assert (usual.base / "log").stat().st_size < 60_000
    assert usual.executions() == 1


# ---- words that are refused


@pytest.mark.parametrize(
    "words",
    [
        ("poll", "x" * 32, "1", "1"),
        ("poll", "a" * 31, "1", "1"),
        ("poll", "../../" + "a" * 26, "1", "1"),
        ("poll", "a" * 32, "-1", "1"),
        ("poll", "a" * 32, "1", "01"),
        ("poll", "a" * 32, "1", "9" * 17),
        ("poll", "a" * 32, "1"),
        ("start", "a" * 32, "1", "1", "boot;id", "1", "60", "0", "4"),
        ("start", "a" * 32, "1", "1", hosts.BOOT, "2", "60", "0", "4"),
        ("start", "a" * 32, "1", "1", hosts.BOOT, "1", "1e3", "0", "4"),
        ("start", "a" * 32, "1", "1", hosts.BOOT, "1", "60", "0"),
        ("facts", "../instance"),
        ("facts", "absent"),
        ("shelve", "../r/x", "cksum", "0"),
        ("shelve", ".x", "cksum", "0"),
        ("shelve", "x", "cat", "0"),
        ("$(id)",),
        ("main",),
        ("",),
    ],
)
def test_junk_is_refused(usual: hosts.Host, words: tuple[str, ...]) -> None:
    before = usual.tree()
    answer = usual.call(*words, stdin=b"junk")
    assert answer.status == "proto"
    assert answer.detail
    assert usual.tree() == before


def test_junk_for_a_nonce_gets_no_answer(usual: hosts.Host) -> None:
    with usual.popen("probe", nonce="0123456789abcde;") as call:
        assert call.communicate(timeout=20)[0] == b""
    assert call.returncode == 64


# ---- shelf, probe, facts


def test_shelve_puts_a_whole_file_and_refuses_a_damaged_one(host: hosts.Host) -> None:
    data = b"#!/bin/sh\n\0\xff" * 1000
    algorithm = host.call("probe").checksum
    digest = checksum.digest(checksum.Algorithm(algorithm), data)
    answer = host.call("shelve", "tool", algorithm, digest, stdin=data[:-1])
    assert (answer.status, answer.detail) == ("proto", "tool was damaged on its way")
    assert set(os.listdir(host.base / "bin")) == {"hostrun.sh"}
    assert host.call("shelve", "tool", algorithm, digest, stdin=data).status == "done"
    shelved = host.base / "bin/tool"
    assert (shelved.read_bytes(), shelved.stat().st_mode & 0o777) == (data, 0o755)


def test_probe_tells_machine_and_lock(usual: hosts.Host) -> None:
    answer = usual.call("probe")
    assert (answer.status, answer.boot, answer.fence) == ("clean", hosts.BOOT, "0")
    assert answer.instance == (usual.base / "instance").read_text().strip()
    assert len(answer.instance) == 32
    assert (answer.base, answer.uid) == (str(usual.base), str(os.getuid()))


def test_facts_come_as_one_chunk(usual: hosts.Host) -> None:
    (usual.base / "bin/facts.sh").write_text('printf "%s\\0 no newline" "$1"')
    answer = usual.call("facts", "facts.sh", "full")
    assert (answer.status, answer.chunks) == ("done", {("facts", 0): b"full\0 no newline"})
    assert not any(name.startswith("r/") for name in usual.tree())
