"""Strict connections and byte-exact commands, against real servers."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from orchestrator.contract import errors, messages
from tests import services
from workers import ssh
from workers.deadline import Deadline


def connect(ref: messages.HostRef, keys: services.Keys, *, within_s: float = 20) -> ssh.Session:
    return ssh.connect(ref, keys.folder, deadline=Deadline.after(within_s))


@pytest.fixture
def session(server: services.Server, keys: services.Keys) -> Iterator[ssh.Session]:
    session = connect(server.ref(), keys)
    yield session
    session.close()


@contextmanager
def silent_port() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def ref_of(port: int) -> messages.HostRef:
    line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKmwsRCYJcaLmXRXVTvMhScxWdHfmLhRZ4GFJwmyyYz1"
    return messages.HostRef(
        name="host", address="127.0.0.1", port=port, user="bench", host_keys=(line,), key="id"
    )


def ask(session: ssh.Session, command: str, stdin: bytes = b"", **options: int) -> ssh.Output:
    return session.execute(command, stdin, deadline=Deadline.after(20), **options)


def test_execute_any_bytes_come_back_unchanged(session: ssh.Session) -> None:
    data = bytes(range(256)) * 4096
    assert ask(session, "exec cat", data).data == data


def test_execute_streams_are_kept_apart(session: ssh.Session) -> None:
    output = ask(session, "exec sh -c 'echo out; echo err >&2'")
    assert (output.data, output.err) == (b"out\n", b"err\n")


def test_execute_many_commands_use_one_connection(
    session: ssh.Session, server: services.Server
) -> None:
    for turn in range(50):
        assert ask(session, f"echo {turn}").data == b"%d\n" % turn
    log = server.log.read_text()
    assert log.count("Accepted publickey") + log.count("Pubkey auth succeeded") == 1


def test_execute_output_over_the_cap_is_drained_and_flagged(session: ssh.Session) -> None:
    output = ask(session, "exec head -c 300000 /dev/zero", cap=1000)
    assert (len(output.data), output.over) == (1000, True)
    assert ask(session, "echo on").data == b"on\n"


def test_execute_output_of_exactly_the_cap_is_not_over(session: ssh.Session) -> None:
    output = ask(session, "exec head -c 1000 /dev/zero", cap=1000)
    assert (len(output.data), output.over) == (1000, False)


def test_execute_much_on_standard_error_does_not_stop_it(session: ssh.Session) -> None:
    output = ask(session, "exec sh -c 'head -c 5000000 /dev/zero >&2; echo done'")
    assert output.data == b"done\n"


def test_execute_command_that_reads_no_input_still_answers(session: ssh.Session) -> None:
    assert ask(session, "echo early", b"x" * 1_000_000).data == b"early\n"


def test_execute_long_command_is_refused_unsent(session: ssh.Session) -> None:
    with pytest.raises(errors.ProtocolError, match="over the limit"):
        ask(session, "echo " + "x" * 900)
    assert ask(session, "echo on").data == b"on\n"


def test_execute_silent_command_ends_at_the_deadline(session: ssh.Session) -> None:
    begun = time.monotonic()
    with pytest.raises(errors.DeadlineExceeded, match="did not answer"):
        session.execute("sleep 30", deadline=Deadline.after(0.5))
    assert time.monotonic() - begun < 3
    assert not session.alive


@pytest.mark.parametrize("while_", ["between", "during"])
def test_execute_frozen_server_ends_at_the_deadline(
    session: ssh.Session, server: services.Server, while_: str
) -> None:
    ask(session, "true")
    threads = threading.active_count()
    freeze = threading.Timer(0.5 if while_ == "during" else 0, _stop, args=(server,))
    freeze.start()
    if while_ == "between":
        freeze.join()
    with pytest.raises(errors.DeadlineExceeded):
        session.execute("sleep 30", deadline=Deadline.after(1.5))
    services.wait_for(lambda: threading.active_count() <= threads, "no thread is left waiting")


def _stop(server: services.Server) -> None:
    for pid in server.sessions():
        os.kill(pid, signal.SIGSTOP)


def test_execute_connection_killed_is_lost(session: ssh.Session, server: services.Server) -> None:
    ask(session, "true")
    killer = threading.Timer(0.5, _kill, args=(server,))
    killer.start()
    with pytest.raises(errors.ConnectionLost, match="was cut"):
        ask(session, "sleep 30")
    killer.join()


def _kill(server: services.Server) -> None:
    for pid in server.sessions():
        os.kill(pid, signal.SIGKILL)


def test_interrupt_ends_a_command_of_another_thread(session: ssh.Session) -> None:
    timer = threading.Timer(0.5, session.interrupt)
    timer.start()
    with pytest.raises(errors.Interrupted):
        ask(session, "sleep 30")
    timer.join()


def test_connect_changed_host_key_sends_no_command(
    server: services.Server, keys: services.Keys
) -> None:
    other = ref_of(server.port).host_keys
    with pytest.raises(errors.HostKeyChanged, match=rf"127.0.0.1:{server.port} .*SHA256:"):
        connect(server.ref(host_keys=other), keys)
    services.wait_for(lambda: not server.sessions(), "the server's session ends")
    log = server.log.read_text().lower()
    assert "accepted" not in log
    assert "auth succeeded" not in log


def test_connect_host_key_of_another_kind_is_a_changed_one(
    server: services.Server, keys: services.Keys
) -> None:
    point = ec.generate_private_key(ec.SECP256R1()).public_key()
    nist = point.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    with pytest.raises(errors.HostKeyChanged):
        connect(server.ref(host_keys=(nist,)), keys)


@pytest.mark.parametrize(
    ("host_keys", "why"),
    [((), "without a host key"), (("ssh-ed25519 nonsense",), "cannot be read")],
)
def test_connect_unusable_pins_are_refused_unconnected(
    keys: services.Keys, host_keys: tuple[str, ...], why: str
) -> None:
    ref = ref_of(services.free_port()).model_copy(update={"host_keys": host_keys})
    with pytest.raises(errors.HostKeyChanged, match=why):
        connect(ref, keys)


def test_connect_second_enrolled_key_is_asked_for(tmp_path: Path, keys: services.Keys) -> None:
    """A server with more kinds of key than were enrolled shows the enrolled one."""
    with services.sshd(tmp_path / "sshd", keys, "ecdsa", "rsa") as server:
        for line in server.host_keys:
            session = connect(server.ref(host_keys=(line,)), keys)
            assert ask(session, "echo on").data == b"on\n"
            session.close()


def test_connect_wrong_key_is_refused(server: services.Server, keys: services.Keys) -> None:
    with pytest.raises(errors.AuthRefused, match=r"127\.0\.0\.1:\d+ refuses the key 'other'"):
        connect(server.ref(key="other"), keys)


def test_connect_closed_port_is_unreachable(keys: services.Keys) -> None:
    port = services.free_port()
    with pytest.raises(errors.Unreachable, match=rf"127\.0\.0\.1:{port} .*refused"):
        connect(ref_of(port), keys)


def test_connect_unknown_name_is_unreachable(keys: services.Keys) -> None:
    ref = ref_of(22).model_copy(update={"address": "no-such-host.invalid"})
    with pytest.raises(errors.Unreachable, match=r"no-such-host\.invalid"):
        connect(ref, keys)


def test_connect_silent_port_ends_within_the_deadline(keys: services.Keys) -> None:
    begun = time.monotonic()
    with silent_port() as port, pytest.raises(errors.Unreachable, match=rf"127\.0\.0\.1:{port}"):
        connect(ref_of(port), keys, within_s=1)
    assert time.monotonic() - begun < 3


def test_connect_frozen_server_ends_within_the_deadline(
    server: services.Server, keys: services.Keys
) -> None:
    os.kill(server.process.pid, signal.SIGSTOP)
    begun = time.monotonic()
    with pytest.raises(errors.Unreachable):
        connect(server.ref(), keys, within_s=1)
    assert time.monotonic() - begun < 3


def test_load_key_missing_is_refused_by_name(keys: services.Keys) -> None:
    with pytest.raises(errors.AuthRefused, match="key 'gone' cannot be read: No such file"):
        ssh.load_key(keys.folder / "gone")


def test_load_key_public_half_is_refused_by_name(keys: services.Keys) -> None:
    with pytest.raises(errors.AuthRefused, match=r"key 'id\.pub' is no private key"):
        ssh.load_key(keys.folder / "id.pub")


@pytest.mark.needs("ssh-keygen")
@pytest.mark.parametrize("form", [(), ("-m", "PEM", "-t", "rsa")])
def test_load_key_with_a_passphrase_is_refused_by_name(
    tmp_path: Path, form: tuple[str, ...]
) -> None:
    path = tmp_path / "locked"
    services.run("ssh-keygen", "-q", "-N", "secret", *(form or ("-t", "ed25519")), "-f", str(path))
    with pytest.raises(errors.AuthRefused, match="key 'locked' is protected by a passphrase"):
        ssh.load_key(path)


def test_scan_finds_every_kind_as_openssh_names_it(tmp_path: Path, keys: services.Keys) -> None:
    with services.sshd(tmp_path / "sshd", keys, "ecdsa", "rsa") as server:
        found = ssh.scan(server.address, server.port, deadline=Deadline.after(20))
    assert sorted(key.line for key in found) == sorted(server.host_keys)
    for key in found:
        (tmp_path / "key.pub").write_text(key.line)
        told = services.run("ssh-keygen", "-l", "-f", str(tmp_path / "key.pub"))
        assert told.split()[1] == key.fingerprint


def test_scan_never_authenticates(server: services.Server) -> None:
    found = ssh.scan(server.address, server.port, deadline=Deadline.after(20))
    assert tuple(key.line for key in found) == server.host_keys
    services.wait_for(lambda: not server.sessions(), "the server's sessions end")
    assert "publickey" not in server.log.read_text()


def test_scan_closed_port_is_unreachable() -> None:
    with pytest.raises(errors.Unreachable, match="refused"):
        ssh.scan("127.0.0.1", services.free_port(), deadline=Deadline.after(5))
