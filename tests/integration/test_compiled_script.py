"""Compiled scripts under the shells of real hosts: stages, limits, background steps, cleanup."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import scripts, services
from tests.scripts import MAIN, SHELLS, Shell, compiled, execute, run_stage

pytestmark = pytest.mark.parametrize("shell", SHELLS)


@pytest.fixture
def port() -> int:
    return services.free_port()


def test_step_that_says_its_numbers_are_void_makes_the_run_void(
    shell: Shell, tmp_path: Path
) -> None:
    text = run_stage("{id: main, script: 'echo disturbed >&2; exit 6', void_exit: [6]}")
    done = execute(shell, compiled(text), tmp_path)
    sentence = "run.main says that what it measured is void (status 6): disturbed"
    assert done.end == ("void", sentence)


@pytest.fixture
def listener() -> Iterator[int]:
    """A port on which a foreign server listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_script_that_succeeds_leaves_all_streams_and_no_work(shell: Shell, tmp_path: Path) -> None:
    text = "monitors: [{name: stat, read: [/proc/stat, /proc/uptime]}]\n" + MAIN
    done = execute(shell, compiled(text), tmp_path)
    assert (done.rc, done.said, done.end) == (0, "", ("finished", ""))
    assert done.streams["run.main.out"] == b"1\n"
    assert done.streams["facts.before"].endswith(b"@@FACTS end ok\n")
    assert done.streams["facts.after"].endswith(b"@@FACTS end ok\n")
    assert done.streams["monitor.stat.before"].startswith(b"cpu ")
    assert done.streams["monitor.stat.before"] != done.streams["monitor.stat.after"]
    assert list(done.record.stages) == ["check", "prepare", "run", "collect", "cleanup"]
    assert done.record.steps["run.main"].rc == 0
    assert not (tmp_path / "work").exists()


def test_script_by_hand_makes_a_folder_and_says_where(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_bytes(compiled(MAIN))
    done = subprocess.run(
        [*shell, path],
        env={"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=60,
    )
    (folder,) = tmp_path.glob("benchrack-*")
    assert done.stdout.decode() == f"finished; results are in {folder}/out\n"
    assert (folder / "out" / "run.main.out").read_bytes() == b"1\n"
    assert done.stderr == b""


def test_step_that_fails_ends_the_run_with_its_last_words(shell: Shell, tmp_path: Path) -> None:
    text = run_stage(
        "{id: main, script: 'echo first >&2; printf \"no\\033[31m route\\n\" >&2; exit 3'}",
        "{id: never, run: [echo, no]}",
        more="  collect: {steps: [{id: log, run: [echo, kept]}]}\n",
    )
    done = execute(shell, compiled(text), tmp_path)
    assert done.rc == 1
    assert done.end == ("failed", "run.main ended with status 3: no[31m route")
    assert "run.never" not in done.record.steps
    assert done.streams["collect.log.out"] == b"kept\n"


def test_step_with_an_exit_status_that_is_fine_goes_on(shell: Shell, tmp_path: Path) -> None:
    text = run_stage("{id: main, script: 'exit 7', ok_exit: [0, 7]}")
    done = execute(shell, compiled(text), tmp_path)
    assert done.end == ("finished", "")
    assert done.record.steps["run.main"].rc == 7


def test_step_whose_program_is_missing_fails_with_its_name(shell: Shell, tmp_path: Path) -> None:
    done = execute(shell, compiled(run_stage("{id: main, run: [no-such-program]}")), tmp_path)
    outcome, reason = done.end
    assert outcome == "failed"
    assert reason.startswith("run.main ended with status 127: ")
    assert "no-such-program" in reason


def test_step_over_its_timeout_is_stopped_with_its_children(shell: Shell, tmp_path: Path) -> None:
    text = run_stage("{id: main, script: 'sleep 300 & sleep 300; wait', timeout: 1s}")
    done = execute(shell, compiled(text), tmp_path)
    assert done.end == ("timed-out", "run.main did not end within 1 s; it was stopped")
    assert done.record.steps["run.main"].flags == ("timeout",)
    assert done.record.steps["run.main"].elapsed_s < 3


def test_step_that_obeys_no_term_is_killed(shell: Shell, tmp_path: Path) -> None:
    script = "trap : TERM; while :; do sleep 300; done"
    text = run_stage(f"{{id: main, script: '{script}', timeout: 1s}}")
    done = execute(shell, compiled(text), tmp_path)
    assert done.record.steps["run.main"].rc == 128 + signal.SIGKILL
    assert done.record.steps["run.main"].elapsed_s < 8


def test_stage_timeout_is_for_all_its_steps(shell: Shell, tmp_path: Path) -> None:
    text = run_stage("{id: main, run: [sleep, '300']}", more="    timeout: 1s\n")
    done = execute(shell, compiled(text), tmp_path)
    assert done.end == ("timed-out", "run.main did not end within 1 s; it was stopped")


def test_output_over_its_limit_voids_and_keeps_first_and_last_part(
    shell: Shell, tmp_path: Path
) -> None:
    script = 'trap "echo at the end; exit 9" TERM; echo first; while :; do echo filling; done'
    text = run_stage(f"{{id: main, script: '{script}', max_output: 2KiB}}")
    done = execute(shell, compiled(text), tmp_path)
    assert done.end == ("void", "run.main wrote more than its max_output; it was stopped")
    assert done.record.steps["run.main"].flags == ("over-output",)
    assert len(done.streams["run.main.out"]) == 2048
    assert done.streams["run.main.out"].startswith(b"first\nfilling\n")
    assert done.streams["run.main.out-last"].endswith(b"at the end\n")


def test_output_limit_does_not_limit_files_that_a_step_writes(shell: Shell, tmp_path: Path) -> None:
    script = "dd if=/dev/zero of=big bs=1024 count=64 2>/dev/null; wc -c <big"
    text = run_stage(f"{{id: main, script: '{script}', max_output: 512B}}")
    done = execute(shell, compiled(text), tmp_path)
    assert done.end == ("finished", "")
    assert done.streams["run.main.out"].strip() == b"65536"


def test_saved_files_are_brought_back(shell: Shell, tmp_path: Path) -> None:
    text = run_stage("{id: main, script: 'printf \"a\\000b\" >x.bin', save: [x.bin, gone.txt]}")
    done = execute(shell, compiled(text), tmp_path)
    assert done.streams["file.x.bin"] == b"a\0b"
    assert [note.code for note in done.record.notes] == ["not-saved"]


def test_background_server_is_ready_before_and_stopped_after(
    shell: Shell, tmp_path: Path, port: int
) -> None:
    server = f"busybox nc -l -p {port} -e echo hello"
    text = run_stage(
        f"{{id: server, script: 'sleep 1; exec {server}', background: true, "
        f"ready: {{tcp_port: {port}}}, ok_exit: [0]}}",
        "{id: main, script: 'echo; sleep 1'}",
    )
    done = execute(shell, compiled(text), tmp_path)
    assert done.end == ("finished", "")
    server_step, main = done.record.steps["run.server"], done.record.steps["run.main"]
    assert server_step.flags == ("stopped",)
    assert main.begin - server_step.begin >= 1


def test_background_step_is_ready_by_its_output(shell: Shell, tmp_path: Path) -> None:
    text = run_stage(
        "{id: server, script: 'sleep 1; echo \"is [ready] *\"; sleep 300', background: true, "
        "ready: {output_has: 'is [ready] *'}}",
        "{id: main, run: [echo, x]}",
    )
    done = execute(shell, compiled(text), tmp_path)
    assert done.end == ("finished", "")
    assert done.record.steps["run.main"].begin - done.record.steps["run.server"].begin >= 1


def test_background_step_that_is_not_ready_in_time_fails(shell: Shell, tmp_path: Path) -> None:
    text = run_stage(
        "{id: server, run: [sleep, '300'], background: true, ready: {output_has: x, within: 1s}}",
        "{id: main, run: [echo, x]}",
    )
    done = execute(shell, compiled(text), tmp_path)
    assert done.end == ("failed", "run.server was not ready within 1 s")
    assert "run.main" not in done.record.steps


def test_background_step_that_dies_first_is_the_reason(shell: Shell, tmp_path: Path) -> None:
    text = run_stage(
        "{id: server, script: 'echo no licence >&2; exit 4', background: true, "
        "ready: {output_has: x}}",
        "{id: main, run: [echo, x]}",
    )
    done = execute(shell, compiled(text), tmp_path)
    assert done.end == ("failed", "run.server ended with status 4 before it was ready: no licence")


def test_background_step_that_dies_in_the_run_fails_it(shell: Shell, tmp_path: Path) -> None:
    text = run_stage(
        "{id: server, script: 'exit 4', background: true}", "{id: main, run: [sleep, '1']}"
    )
    done = execute(shell, compiled(text), tmp_path)
    assert done.end == ("failed", "run.server ended with status 4")


def test_port_in_use_before_the_start_fails_and_names_who_listens(
    shell: Shell, tmp_path: Path, listener: int
) -> None:
    text = run_stage(
        f"{{id: server, run: [sleep, '9'], background: true, ready: {{tcp_port: {listener}}}}}",
        "{id: main, run: [echo, x]}",
    )
    done = execute(shell, compiled(text), tmp_path)
    reason = f"port {listener} is in use by pid {os.getpid()}, before run.server was started"
    assert done.end == ("failed", reason)


@pytest.mark.parametrize("how", ["exit 0", "exit 5", "kill -KILL $$", "sleep 300"])
def test_cleanup_is_executed_whatever_happened(shell: Shell, tmp_path: Path, how: str) -> None:
    text = run_stage(
        f"{{id: main, script: '{how}', timeout: 1s}}",
        more="  cleanup: {steps: [{id: a, script: 'exit 1'}, {id: b, run: [echo, done]}]}\n",
    )
    done = execute(shell, compiled(text), tmp_path)
    assert done.streams["cleanup.b.out"] == b"done\n"
    assert [(note.code, note.text) for note in done.record.notes] == [
        ("cleanup-failed", "cleanup.a ended with status 1")
    ]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_script_stopped_by_a_signal_cleans_up(
    shell: Shell, tmp_path: Path, number: signal.Signals
) -> None:
    text = run_stage(
        "{id: main, script: 'echo >../begun; sleep 300'}",
        more="  cleanup: {steps: [{id: last, run: [echo, done]}]}\n",
    )
    process = scripts.start(shell, compiled(text), tmp_path)
    services.wait_for((tmp_path / "begun").exists, "the step has begun")
    process.send_signal(number)
    done = scripts.finish(process, tmp_path)
    assert done.end == ("void", "the script was stopped by a signal in stage run")
    assert done.streams["cleanup.last.out"] == b"done\n"
    assert done.rc == 1


def test_stage_before_run_is_tried_again_and_says_so(shell: Shell, tmp_path: Path) -> None:
    text = (
        "stages:\n  prepare:\n    retries: 2\n    steps:\n"
        "      - {id: flaky, script: '[ -e was ] || { : >was; exit 1; }'}\n"
        "  run: {steps: [{id: main, run: [echo, x]}]}\n"
    )
    done = execute(shell, compiled(text), tmp_path)
    assert done.end == ("finished", "")
    assert [(note.code, note.text) for note in done.record.notes] == [
        ("retried", "stage prepare is tried again: prepare.flaky ended with status 1")
    ]


def test_stage_that_keeps_failing_ends_after_its_retries(shell: Shell, tmp_path: Path) -> None:
    text = (
        "stages:\n  check: {retries: 1, steps: [{id: bad, script: 'echo x >>../n; exit 1'}]}\n"
        "  run: {steps: [{id: main, run: [echo, x]}]}\n"
    )
    done = execute(shell, compiled(text), tmp_path)
    assert done.end == ("failed", "check.bad ended with status 1")
    assert (tmp_path / "n").read_text() == "x\nx\n"


def test_step_without_its_tool_is_left_out(shell: Shell, tmp_path: Path) -> None:
    text = run_stage("{id: main, run: [echo, x]}", "{id: more, run: [x], if_tool: no-such-tool}")
    done = execute(shell, compiled(text), tmp_path)
    assert done.end == ("finished", "")
    assert done.record.skipped == {"run.more"}


def test_step_sees_a_plain_environment_and_no_input(shell: Shell, tmp_path: Path) -> None:
    script = 'cat; echo "$LC_ALL $TZ $TERM $BENCHRACK_RUN $P_host $P_kernel $P_repeat"; umask; pwd'
    text = run_stage(f"{{id: main, script: '{script}'}}")
    done = execute(shell, compiled(text, run_id="cd" * 16), tmp_path)
    lines = done.streams["run.main.out"].decode().splitlines()
    assert lines[0] == f"C UTC dumb {'cd' * 16} elan 2.6.1 2"
    assert int(lines[1], 8) == 0o077
    assert lines[2] == str(tmp_path / "work")
