"""Strict connections and byte-exact commands; the only importer of fabric and paramiko.

What Fabric and paramiko leave open is closed here: host keys come from the message and from
nowhere else, no configuration file is read, no agent is asked, commands go through a raw channel,
and a watchdog ends whatever a timeout of theirs does not cover by shutting the socket down.
"""

from __future__ import annotations

import base64
import binascii
import functools
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from socket import SHUT_RDWR, socket
from typing import Any, NoReturn

import fabric
import paramiko
from cryptography.exceptions import UnsupportedAlgorithm
from paramiko.pkey import UnknownKeyType

from orchestrator.contract import errors, messages
from workers import dial
from workers.deadline import Deadline

#: bytes; old dropbear ends the connection on a command that is longer than its limit
COMMAND_LIMIT = 900
#: bytes of output that are kept unless more was asked for
OUTPUT_CAP = 1 << 20
#: bytes of standard error that are kept: enough for a sentence
_ERR_CAP = 4096
_PIECE = 1 << 16
#: seconds for the banner of a server; a weak board may need long, a silent port is no server
_BANNER_S = 45.0

#: signature algorithms of one kind of host key, kinds in the order that we prefer
_KINDS = (
    ("ssh-ed25519",),
    ("ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"),
    ("rsa-sha2-512", "rsa-sha2-256"),
)


@dataclass(frozen=True, slots=True)
class Output:
    """What a command wrote. ``over``: standard output went on past the cap and was dropped."""

    data: bytes
    err: bytes
    over: bool


class StrictConnection(fabric.Connection):  # type: ignore[misc]
    """A Fabric connection that accepts the enrolled host keys and nothing else."""

    def __init__(
        self,
        ref: messages.HostRef,
        *,
        pins: tuple[paramiko.PKey, ...],
        key: paramiko.PKey,
        sock: socket,
        deadline: Deadline,
    ) -> None:
        left = deadline.remaining
        super().__init__(
            ref.address,
            user=ref.user,
            port=ref.port,
            # lazy: the configuration files of whoever runs the worker are not read
            config=fabric.Config(overrides={"load_ssh_configs": False}, lazy=True),
            connect_kwargs={
                "pkey": key,
                "sock": sock,
                "allow_agent": False,
                "look_for_keys": False,
                "compress": False,
                "timeout": left,
                "banner_timeout": min(_BANNER_S, left),
                # longer than the watchdog, so that only a refusal ever looks like one
                "auth_timeout": left + 5,
                "channel_timeout": left,
                "transport_factory": functools.partial(_transport, pins, left),
            },
        )
        self.client.set_missing_host_key_policy(paramiko.RejectPolicy())
        name = ref.address if ref.port == 22 else f"[{ref.address}]:{ref.port}"
        for pin in pins:
            self.client.get_host_keys().add(name, pin.get_name(), pin)


class Session:
    """An authenticated connection to one host; one command at a time."""

    def __init__(self, connection: StrictConnection, sock: socket, where: str) -> None:
        self._connection = connection
        self._sock = sock
        self._cut_because: type[errors.HostError] | None = None
        self._where = where
        #: how many commands were sent, answered or not
        self.commands = 0

    @property
    def alive(self) -> bool:
        """Whether the connection stands, as far as this end knows."""
        return self._cut_because is None and bool(self._connection.is_connected)

    def execute(
        self, command: str, stdin: bytes = b"", *, deadline: Deadline, cap: int = OUTPUT_CAP
    ) -> Output:
        """Execute a command; its whole output, byte for byte.

        Raises: ConnectionLost, Interrupted or DeadlineExceeded, after which the session is of no
        use; ProtocolError for a command that is too long.
        """
        if len(command) >= COMMAND_LIMIT:
            raise errors.ProtocolError(f"a command of {len(command)} bytes is over the limit")
        with deadline.watch(self._expire):
            try:
                return self._exchange(command, stdin, deadline, cap)
            except (paramiko.SSHException, EOFError, OSError) as error:
                self._lost(error)

    def _exchange(self, command: str, stdin: bytes, deadline: Deadline, cap: int) -> Output:
        channel = self._connection.transport.open_session(timeout=deadline.remaining)
        self.commands += 1
        channel.exec_command(command)
        err = bytearray()
        drain = threading.Thread(target=_read, args=(channel.recv_stderr, err, _ERR_CAP))
        drain.daemon = True
        drain.start()
        try:
            channel.sendall(stdin)
            channel.shutdown_write()
        except OSError:
            # the command ended without reading all of it: what it said still counts
            if not self.alive:
                raise
        data = bytearray()
        over = _read(channel.recv, data, cap)
        drain.join()
        # dropbear before 2024.86 ends the connection if a channel closes before it is drained
        channel.recv_exit_status()
        if not channel.eof_received:
            raise EOFError("the connection was cut")
        channel.close()
        return Output(bytes(data), bytes(err), over)

    def _lost(self, error: Exception) -> NoReturn:
        because = self._cut_because
        self.close()
        if because is errors.DeadlineExceeded:
            raise because(f"{self._where} did not answer within the time of the operation")
        if because is not None:
            raise because()
        raise errors.ConnectionLost(
            f"the connection to {self._where} was cut: {cause(error)}"
        ) from error

    def _expire(self) -> None:
        self._cut(errors.DeadlineExceeded)

    def interrupt(self) -> None:
        """End what another thread is executing; it sees Interrupted."""
        self._cut(errors.Interrupted)

    def _cut(self, because: type[errors.HostError]) -> None:
        self._cut_because = self._cut_because or because
        shut(self._sock)

    def close(self) -> None:
        """End the connection."""
        self._connection.client.close()
        self._sock.close()


def connect(ref: messages.HostRef, keys: Path, *, deadline: Deadline) -> Session:
    """An authenticated session with a host.

    Raises: Unreachable, HostKeyChanged, AuthRefused. No command was sent.
    """
    where = f"{ref.address}:{ref.port}"
    pins = _pins(ref)
    key = load_key(keys / ref.key)
    sock = dial.dial(ref.address, ref.port, deadline=deadline)
    connection = StrictConnection(ref, pins=pins, key=key, sock=sock, deadline=deadline)
    with deadline.watch(functools.partial(shut, sock)):
        try:
            connection.open()
        except (paramiko.SSHException, EOFError, OSError) as error:
            transport = connection.client.get_transport()
            stands = transport is not None and transport.is_active()
            connection.client.close()
            sock.close()
            raise _refusal(ref, where, error, stands) from error
    return Session(connection, sock, where)


def _refusal(ref: messages.HostRef, where: str, error: Exception, stands: bool) -> errors.HostError:
    """Why a connection did not come about. ``stands``: the server was still there to say it."""
    if isinstance(error, paramiko.BadHostKeyException):
        shown = error.key.fingerprint
        return errors.HostKeyChanged(
            f"{where} shows the host key {shown}, which is not the one it was enrolled with"
        )
    if isinstance(error, paramiko.AuthenticationException) and stands:
        return errors.AuthRefused(f"{where} refuses the key {ref.key!r} of user {ref.user!r}")
    return errors.Unreachable(f"no SSH connection to {where}: {cause(error)}")


def scan(address: str, port: int, *, deadline: Deadline) -> tuple[messages.HostKey, ...]:
    """The host keys that a server has, without authenticating.

    Raises: Unreachable.
    """
    found = []
    failure = errors.Unreachable(f"{address}:{port} has no host key of a kind that we accept")
    for algorithms in _KINDS:
        try:
            key = _shown_key(address, port, algorithms, deadline)
        except errors.Unreachable as error:
            # dropbear hangs up on a client that accepts none of its kinds
            failure = error
            continue
        if key is not None:
            line = f"{key.get_name()} {key.get_base64()}"
            found.append(messages.HostKey(line=line, fingerprint=key.fingerprint))
    if not found:
        raise failure
    return tuple(found)


def _shown_key(
    address: str, port: int, algorithms: tuple[str, ...], deadline: Deadline
) -> paramiko.PKey | None:
    """The key that a server shows to a client that accepts these algorithms only."""
    sock = dial.dial(address, port, deadline=deadline)
    with deadline.watch(functools.partial(shut, sock)):
        try:
            transport = paramiko.Transport(sock)
            transport.banner_timeout = min(_BANNER_S, deadline.remaining)
            transport.handshake_timeout = deadline.remaining
            transport.get_security_options().key_types = algorithms
            try:
                transport.start_client(timeout=deadline.remaining)
                return transport.get_remote_server_key()
            finally:
                transport.close()
        except paramiko.ssh_exception.IncompatiblePeer:
            return None
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise errors.Unreachable(
                f"no SSH connection to {address}:{port}: {cause(error)}"
            ) from error
        finally:
            sock.close()


def load_key(path: Path) -> paramiko.PKey:
    """The private key in a file.

    Raises: AuthRefused, naming the key and never its content.
    """
    try:
        return paramiko.PKey.from_path(path)
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    except (TypeError, paramiko.PasswordRequiredException):
        why = "is protected by a passphrase; a worker needs one without"
    except (ValueError, UnknownKeyType, UnsupportedAlgorithm, paramiko.SSHException):
        why = "is no private key of a kind that we know"
    raise errors.AuthRefused(f"the worker's key {path.name!r} {why}")


def _pins(ref: messages.HostRef) -> tuple[paramiko.PKey, ...]:
    """The enrolled keys of a host.

    Raises: HostKeyChanged where there is none that can be compared with.
    """
    if not ref.host_keys:
        raise errors.HostKeyChanged(f"host {ref.name!r} was enrolled without a host key")
    pins = []
    for line in ref.host_keys:
        kind, _, rest = line.strip().partition(" ")
        try:
            raw = base64.b64decode(rest.split(" ")[0], validate=True)
            pins.append(paramiko.PKey.from_type_string(kind, raw))
        except (binascii.Error, ValueError, UnknownKeyType, paramiko.SSHException) as error:
            raise errors.HostKeyChanged(
                f"an enrolled host key of {ref.name!r} cannot be read: {kind[:40]!r}"
            ) from error
    return tuple(pins)


def _transport(
    pins: tuple[paramiko.PKey, ...], handshake_s: float, sock: socket, **options: Any
) -> paramiko.Transport:
    """A transport that asks for the enrolled kinds of key before any other."""
    transport = paramiko.Transport(sock, **options)
    transport.handshake_timeout = handshake_s
    names = {pin.get_name() for pin in pins}
    # an RSA key is named ssh-rsa whatever algorithm it signs with
    enrolled = names | set(_KINDS[-1]) if "ssh-rsa" in names else names
    security = transport.get_security_options()
    security.key_types = sorted(security.key_types, key=lambda name: name not in enrolled)
    return transport


def _read(receive: Callable[[int], bytes], into: bytearray, cap: int) -> bool:
    """Read to the end, keep what the cap allows; whether there was more."""
    over = False
    while piece := receive(_PIECE):
        room = cap - len(into)
        into += piece[:room]
        over = over or len(piece) > room
    return over


def shut(sock: socket) -> None:
    """End both directions of a socket: whoever waits on it wakes up."""
    try:
        sock.shutdown(SHUT_RDWR)
    except OSError as error:
        logging.getLogger(__name__).debug("socket was closed already: %s", error)


def cause(error: BaseException) -> str:
    """The reason in an exception of the network, on one line."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:200]
