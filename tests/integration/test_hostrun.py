"""The host's side of the protocol, in each shell that a host may have."""

from __future__ import annotations

import os
import random
import secrets
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.contract import checksum, domain
from tests import services
from tests.integration import hosts
from workers import hostcall, payload, ssh


@pytest.mark.needs("shellcheck")
@pytest.mark.parametrize("script", [payload.meet_script, payload.hostrun_script])
def test_script_is_clean_for_a_posix_shell(script: Callable[[], bytes]) -> None:
    command = ("shellcheck", "--shell=sh", "--norc", "-")
    checked = subprocess.run(command, input=script(), capture_output=True, check=False)
    assert checked.stdout.decode() == ""


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
    hosts.assert_forgotten(host)


def test_calls_at_random_never_overlap_and_never_repeat(usual: hosts.Host) -> None:
    dice = random.Random(7)
    owners = {
        fence: hosts.Host(base=usual.base, environ=usual.environ, lab=dice.choice("12") * 32)
        for fence in range(1, 7)
    }
    calls: list[subprocess.Popen[bytes]] = []
    for _ in range(120):
        fence, host = dice.choice(list(owners.items()))
        verb = dice.choice(["start", "start", "start", "poll", "kill", "reap", "purge"])
        order = (hosts.BOOT, "1", "60", "0", "9") if verb == "start" else ()
        words = (verb, host.run, "1", str(fence), *order)
        calls.append(host.popen(*words, stdin=b"sleep 0.1", nonce=secrets.token_hex(8)))
        if dice.random() < 0.3:
            time.sleep(dice.uniform(0, 0.05))
            calls[-1].kill()
        if len(calls) >= 6:
            calls.pop(0).communicate(timeout=30)
    for call in calls:
        call.communicate(timeout=30)
    for fence, host in owners.items():
        host.of("reap", fence=fence)
    assert_told_apart(usual.log)


def assert_told_apart(log: list[list[str]]) -> None:
    """No two executions overlapped, and none was repeated."""
    begun = [line[1:] for line in log[::2]]
    assert begun
    assert [line[0] for line in log] == ["begin", "end"] * len(begun)
    assert [line[1:5] for line in log[1::2]] == begun
    assert len(begun) == len({tuple(owner) for owner in begun})


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
    usual.running(hosts.UP)
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
    hosts.assert_forgotten(host)


def test_start_after_a_purge_cut_short_is_stale(usual: hosts.Host) -> None:
    usual.start("exit 0")
    (usual.folder).rename(usual.base / "r/.gone.0123456789abcdef")
    assert usual.start("exit 0").status == "stale"
    assert usual.of("purge").status == "purged"
    hosts.assert_forgotten(usual)


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
    usual.running(hosts.UP)
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
    hosts.assert_forgotten(host)


def test_purge_of_a_living_run_is_refused(usual: hosts.Host) -> None:
    usual.running(hosts.UP)
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
