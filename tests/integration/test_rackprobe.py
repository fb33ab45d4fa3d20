"""The probe itself: what it measures, how it fails, and that it never leaves anything behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.parsers import rackprobe
from orchestrator.parsers.base import Capture
from tests import services
from tests.integration import probes
from workers.payload.rackprobe import build

NONCE = ("--nonce", probes.NONCE)
#: instructions that a 486 does not have; cpuid is allowed to nobody here, so it is one of them
FORBIDDEN = re.compile(
    r"\t(f?cmov\w*|fu?comip?|rdtscp?|cpuid|cmpxchg8b|sysenter|syscall|nop[lw]|endbr(32|64)|fxsave"
    r"|[mls]fence|prefetch\w*)\b|%[xyz]?mm[0-7]"
)
#: an ordinary user without any right to real-time scheduling
ORDINARY = ("setpriv", "--reuid", "65534", "--clear-groups", "--no-new-privs")


@pytest.fixture
def public_copy() -> Iterator[Path]:
    """The binary where another user can execute it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "rackprobe")
        copy.write_bytes(probes.native().read_bytes())
        for path in (copy.parent, copy):
            path.chmod(0o755)
        yield copy


def processes_of(nonce: str) -> list[int]:
    """Processes that have a nonce among their arguments."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0") if folder.name.isdigit() else []
        except (FileNotFoundError, ProcessLookupError):
            continue
        if nonce.encode() in words:
            found.append(int(folder.name))
    return found


def begun(nonce: str, *arguments: str, processes: int) -> subprocess.Popen[bytes]:
    """A call of the probe that has started so many processes."""
    probe = subprocess.Popen(
        (str(probes.native()), *arguments, "--nonce", nonce),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    services.wait_for(lambda: len(processes_of(nonce)) == processes, f"{processes} processes")
    return probe


def test_selftest_on_this_machine_finds_nothing_wrong() -> None:
    ended = probes.execute("selftest", "--quick", *NONCE)

    assert ended.rc == 0, ended.err
    assert all(ended.document["checks"].values())


@pytest.mark.needs("qemu-i386-static")
def test_selftest_of_the_i486_binary_on_a_486_finds_nothing_wrong() -> None:
    program = build.binary(build.TARGETS["i486"], cache=probes.CACHE)
    emulator = ("qemu-i386-static", "-cpu", "486")

    ended = probes.execute("selftest", "--quick", *NONCE, before=emulator, program=program)

    assert ended.rc == 0, ended.err
    assert ended.document["build_target"] == "i486"
    assert all(ended.document["checks"].values())


@pytest.mark.needs("qemu-aarch64-static")
def test_selftest_of_the_aarch64_binary_finds_nothing_wrong() -> None:
    program = build.binary(build.TARGETS["aarch64"], cache=probes.CACHE)

    ended = probes.execute(
        "selftest", "--quick", *NONCE, before=("qemu-aarch64-static",), program=program
    )

    assert ended.rc == 0, ended.err


@pytest.mark.needs("objdump")
def test_i486_binary_holds_no_instruction_that_a_486_lacks() -> None:
    program = build.binary(build.TARGETS["i486"], cache=probes.CACHE)

    listing = services.run("objdump", "-d", str(program))

    assert listing.count("\n") > 5000
    assert [line for line in listing.splitlines() if FORBIDDEN.search(line)] == []


@pytest.mark.needs("objdump")
def test_instruction_gate_finds_what_it_looks_for() -> None:
    other = build.binary(build.TARGETS["x86_64"], cache=probes.CACHE)

    assert FORBIDDEN.search(services.run("objdump", "-d", str(other)))


@pytest.mark.parametrize("method", ["timer_abs", "pipe"])
def test_latency_measures_as_many_samples_as_asked(method: str) -> None:
    ended = probes.execute(
        "latency", "--method", method, "--policy", "other", "--samples", "200", *NONCE
    )
    reading = rackprobe.LATENCY.parse(Capture(out=ended.out, nonce=probes.NONCE))

    assert ended.rc == 0, ended.err
    assert reading.samples is not None
    assert len(reading.samples) + reading.values["negative"].value == 200
    assert reading.method["method"] == method
    assert reading.method["policy"] == "other"


def test_latency_for_a_duration_takes_one_sample_a_period() -> None:
    ended = probes.execute("latency", "--duration", "0.2", "--period", "2000", *NONCE)

    assert ended.document["latency"]["stats"]["samples"] == 100


def test_latency_drops_the_warm_up_and_reports_it() -> None:
    words = ("latency", "--samples", "20", "--warmup", "7", "--policy", "other", *NONCE)
    stats = probes.execute(*words).document["latency"]["stats"]

    assert (stats["warmup_samples"], stats["samples"]) == (7, 20)


@pytest.mark.needs("root", "setpriv")
def test_latency_of_a_user_without_real_time_right_measures_and_says_so(public_copy: Path) -> None:
    ended = probes.execute(
        "latency", "--samples", "100", *NONCE, before=ORDINARY, program=public_copy
    )

    assert ended.rc == 0, ended.err
    assert ended.document["sched"]["policy_effective"] == "other"
    assert "policy_other" in ended.document["flags"]


@pytest.mark.needs("root", "setpriv")
def test_latency_that_demands_fifo_in_vain_ends_with_permission_and_a_document(
    public_copy: Path,
) -> None:
    words = ("latency", "--policy", "fifo", "--samples", "20", *NONCE)

    ended = probes.execute(*words, before=ORDINARY, program=public_copy)

    assert ended.rc == 4
    assert ended.document["status"] == "failed"
    assert ended.document["error"]["code"] == "permission"


def test_latency_on_a_cpu_that_is_not_there_ends_with_permission() -> None:
    ended = probes.execute("latency", "--cpu", "1000", "--samples", "5", *NONCE)

    assert ended.rc == 4
    assert "CPU" in ended.document["error"]["text"]


@pytest.mark.parametrize("proto", ["tcp", "unix", "pipe"])
def test_stream_moves_bytes_in_every_stream(proto: str) -> None:
    ended = probes.execute("stream", "--proto", proto, "--streams", "2", "--duration", "1", *NONCE)
    reading = rackprobe.STREAM.parse(Capture(out=ended.out, nonce=probes.NONCE))
    rates = [p.value.value for p in reading.points if "stream" in p.scope]

    assert ended.rc == 0, ended.err
    assert len(rates) == 2
    assert min(rates) > 1e6
    assert reading.values["duration"].value == 1.0


def test_stream_of_hours_needs_no_word_about_its_intervals() -> None:
    nonce = os.urandom(8).hex()
    probe = begun(nonce, "stream", "--duration", "86400", processes=3)

    probe.send_signal(signal.SIGTERM)
    out, _ = probe.communicate(timeout=20)

    assert probe.returncode == 7
    assert b"interrupted" in out
    assert not processes_of(nonce)


def test_stream_on_a_cpu_that_is_not_there_ends_with_permission() -> None:
    ended = probes.execute("stream", "--cpu-rx", "1000", "--duration", "0.5", *NONCE)

    assert ended.rc == 4
    assert ended.document["error"]["code"] == "permission"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "the first word is one of: info latency stream selftest"),
        (("latency", "--sample", "5"), "unknown option '--sample' of latency"),
        (("latency", "--streams", "5"), "unknown option '--streams' of latency"),
        (("latency", "--samples"), "--samples needs a value"),
        (("latency", "--samples", "1e3"), "--samples takes a number from 1 to 1000000"),
        (("latency", "--samples", "1000001"), "--samples takes a number from 1 to 1000000"),
        (("latency", "--method", "rtc"), "unknown word 'rtc' for --method; known are: timer_abs"),
        (("latency", "--samples", "5", "--duration", "1"), "exclude each other"),
        (("latency", "--cpu2", "0"), "--cpu2 goes with --method pipe only"),
        (("latency", "--nonce", "xyz"), "--nonce takes 1 to 64 hexadecimal digits, not 'xyz'"),
        (("stream", "--duration", "0.00001"), "--duration takes a number from 1 to"),
        (("stream", "--duration", "7200", "--interval", "1000"), "more than 3600 times"),
    ],
)
def test_wrong_command_line_ends_with_usage_and_one_sentence(
    arguments: tuple[str, ...], sentence: str
) -> None:
    ended = probes.execute(*arguments)

    assert (ended.rc, ended.out) == (2, b"")
    assert sentence in ended.err
    assert ended.err.count("\n") == 1


def test_document_has_short_ascii_lines_only() -> None:
    ended = probes.execute(
        "latency", "--samples", "500", "--policy", "other", "--label", 'ü"\\\n' * 20, *NONCE
    )

    assert ended.document["status"] == "ok"
    assert ended.out.isascii()
    assert max(map(len, ended.out.splitlines())) <= 200


@pytest.mark.parametrize(
    ("arguments", "processes"),
    [
        (("latency", "--method", "timer_abs", "--samples", "60000"), 2),
        (("latency", "--method", "pipe", "--samples", "60000"), 3),
        (("stream", "--streams", "3", "--duration", "60"), 7),
    ],
)
def test_killed_parent_leaves_no_process(arguments: tuple[str, ...], processes: int) -> None:
    nonce = os.urandom(8).hex()
    probe = begun(nonce, *arguments, "--timeout", "90", processes=processes)

    probe.kill()
    probe.communicate()

    services.wait_for(lambda: not processes_of(nonce), "no process is left")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_interrupted_latency_prints_what_it_has(number: signal.Signals) -> None:
    nonce = os.urandom(8).hex()
    probe = begun(nonce, "latency", "--policy", "other", "--samples", "60000", processes=2)

    services.wait_for(lambda: switches(processes_of(nonce)) > 500, "samples have been taken")
    probe.send_signal(number)
    out, _ = probe.communicate(timeout=20)

    assert probe.returncode == 7
    assert rackprobe.LATENCY.parse(Capture(out=out, nonce=nonce)).partial
    assert not processes_of(nonce)


def switches(pids: list[int]) -> int:
    """Voluntary context switches of these processes: the measuring one makes one a sample."""
    total = 0
    for pid in pids:
        status = Path(f"/proc/{pid}/status").read_text()
        total += int(re.findall(r"^voluntary_ctxt_switches:\t(\d+)", status, re.M)[0])
    return total


def test_overdue_measurement_ends_with_the_watchdog_and_no_document() -> None:
    nonce = os.urandom(8).hex()

    ended = probes.execute("latency", "--samples", "60000", "--timeout", "1", "--nonce", nonce)

    assert (ended.rc, ended.out) == (8, b"")
    assert "--timeout" in ended.err
    assert not processes_of(nonce)


def test_info_describes_clock_and_host() -> None:
    document = probes.execute("info", *NONCE).document

    assert document["host"]["release"] == os.uname().release
    assert document["host"]["cpus_online"] == os.cpu_count()
    assert document["clock"]["step_ns"] > 0
    assert document["timer"]["class"] in ("highres", "tick")


def test_closed_output_ends_with_an_internal_error() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            (str(probes.native()), "info"), stdout=full, stderr=subprocess.PIPE, check=False
        )

    assert done.returncode == 70
    assert b"could not be written" in done.stderr
