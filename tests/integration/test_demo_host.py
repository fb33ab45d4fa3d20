"""The demo host, met with paramiko as a worker meets it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import paramiko
import pytest

from orchestrator.local import demo_host


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "id"
    subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path), check=True)
    return path


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory, key: Path) -> Iterator[demo_host.DemoHost]:
    folder = tmp_path_factory.mktemp("host")
    with demo_host.running(folder, authorized=key.with_suffix(".pub"), environ=os.environ) as host:
        yield host


def connect(host: demo_host.DemoHost, key: Path, host_key: str | None = None) -> paramiko.SSHClient:
    client = paramiko.SSHClient()
    kind, data = (host_key or host.host_key).split()
    name = f"[{host.address}]:{host.port}"
    entry = paramiko.hostkeys.HostKeyEntry.from_line(f"{name} {kind} {data}")
    assert entry is not None
    client.get_host_keys().add(name, kind, entry.key)
    client.set_missing_host_key_policy(paramiko.RejectPolicy())
    try:
        client.connect(
            host.address,
            host.port,
            host.user,
            pkey=paramiko.Ed25519Key.from_private_key_file(str(key)),
            allow_agent=False,
            look_for_keys=False,
            sock=socket.create_connection((host.address, host.port), timeout=10),
        )
    except paramiko.SSHException:
        client.close()
        raise
    return client


@pytest.fixture
def client(host: demo_host.DemoHost, key: Path) -> Iterator[paramiko.SSHClient]:
    with connect(host, key) as client:
        yield client


def execute(
    client: paramiko.SSHClient, command: str, data: bytes = b""
) -> tuple[int, bytes, bytes]:
    transport = client.get_transport()
    assert transport is not None
    with transport.open_session(timeout=10) as channel:
        channel.settimeout(20)
        channel.exec_command(command)
        # a command may end without reading all of it
        with contextlib.suppress(OSError):
            channel.sendall(data)
            channel.shutdown_write()
        out = channel.makefile("rb").read()
        err = channel.makefile_stderr("rb").read()
        status = channel.recv_exit_status()
        # sshd says so before it closes
        assert channel.eof_received
        return status, out, err


def until(condition: Callable[[], object], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_command_output_and_status_come_back_apart(client: paramiko.SSHClient) -> None:
    assert execute(client, "echo out; echo err >&2; exit 7") == (7, b"out\n", b"err\n")


def test_output_on_stderr_after_the_end_of_stdout_arrives(client: paramiko.SSHClient) -> None:
    assert execute(client, "exec >&-; sleep 0.1; echo late >&2") == (0, b"", b"late\n")


def test_every_byte_passes_both_ways_and_input_ends(client: paramiko.SSHClient) -> None:
    data = bytes(range(256)) * 4096

    assert execute(client, "cat", data) == (0, data, b"")


def test_input_that_nobody_reads_does_no_harm(client: paramiko.SSHClient) -> None:
    assert execute(client, "exec <&-; echo done", b"x" * 100_000)[:2] == (0, b"done\n")


def test_command_ended_by_a_signal_has_the_status_of_a_shell(client: paramiko.SSHClient) -> None:
    assert execute(client, "kill -9 $$")[0] == 128 + signal.SIGKILL


def test_command_has_no_terminal_and_a_login_environment_only(client: paramiko.SSHClient) -> None:
    status, out, _ = execute(client, "tty; env | cut -d= -f1 | sort")

    assert status == 0
    names = set(out.decode().split("\n")[1:]) - {"", "_", "OLDPWD", "PWD", "SHLVL"}
    assert names == {"HOME", "LOGNAME", "PATH", "SHELL", "USER"}


def test_interrupt_is_not_ignored_by_commands(client: paramiko.SSHClient) -> None:
    # bit 1 of SigIgn would be SIGINT
    _, out, _ = execute(client, "grep SigIgn /proc/self/status")

    assert int(out.split()[1], 16) & 0b110 == 0


def test_command_lives_on_when_its_channel_closes(
    client: paramiko.SSHClient, tmp_path: Path
) -> None:
    transport = client.get_transport()
    assert transport is not None
    channel = transport.open_session(timeout=10)
    channel.exec_command(f"echo $$; read line; sleep 0.3; echo alive > {tmp_path}/mark")
    assert channel.recv(100).strip().isdigit()

    channel.close()

    assert until((tmp_path / "mark").exists)


def test_command_that_writes_after_its_channel_closed_does_not_harm_the_host(
    client: paramiko.SSHClient,
) -> None:
    transport = client.get_transport()
    assert transport is not None
    channel = transport.open_session(timeout=10)
    channel.exec_command("yes")
    assert channel.recv(100)

    channel.close()

    assert execute(client, "echo still") == (0, b"still\n", b"")


def test_commands_of_one_connection_execute_side_by_side(client: paramiko.SSHClient) -> None:
    transport = client.get_transport()
    assert transport is not None
    waiting = transport.open_session(timeout=10)
    waiting.exec_command("read line; echo got $line")

    assert execute(client, "echo quick")[1] == b"quick\n"

    waiting.sendall(b"it\n")
    assert waiting.recv(100) == b"got it\n"


def test_a_command_takes_a_few_milliseconds(client: paramiko.SSHClient) -> None:
    transport = client.get_transport()
    assert transport is not None
    transport.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    took = []
    for _ in range(20):
        begin = time.perf_counter()
        execute(client, "true")
        took.append(time.perf_counter() - begin)

    # Nagle's algorithm against delayed acknowledgements would cost 0.04 s each
    assert min(took) < 0.03


def test_another_host_key_than_the_pinned_one_is_refused(
    host: demo_host.DemoHost, key: Path
) -> None:
    other = paramiko.Ed25519Key.from_private_key_file(str(key))

    with pytest.raises(paramiko.BadHostKeyException):
        connect(host, key, f"ssh-ed25519 {other.get_base64()}")


def test_a_key_that_is_not_authorised_is_refused(host: demo_host.DemoHost, tmp_path: Path) -> None:
    stranger = tmp_path / "id"
    subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", stranger), check=True)

    with pytest.raises(paramiko.AuthenticationException):
        connect(host, stranger)


def test_host_key_and_port_are_kept_over_restarts(tmp_path: Path, key: Path) -> None:
    shown = []
    for _ in range(2):
        with demo_host.running(
            tmp_path, authorized=key.with_suffix(".pub"), environ=os.environ
        ) as host:
            shown.append((host.host_key, host.port))

    assert shown[0] == shown[1]


def test_host_dies_with_the_process_that_started_it(tmp_path: Path, key: Path) -> None:
    program = (
        "import os, sys, time, pathlib\n"
        "from orchestrator.local import demo_host\n"
        "with demo_host.running(pathlib.Path(sys.argv[1]), authorized=pathlib.Path(sys.argv[2]),"
        " environ=os.environ) as host:\n"
        "    print(host.port, flush=True)\n"
        "    time.sleep(60)\n"
    )
    argv = (sys.executable, "-c", program, str(tmp_path), str(key.with_suffix(".pub")))
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        port = int(parent.stdout.readline())
        parent.kill()

    assert until(lambda: not answers(port))


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
