"""Real services for tests: SSH servers, a broker, a worker; each on loopback, ended by its pid."""

from __future__ import annotations

import functools
import getpass
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from orchestrator.contract import keys as contract_keys
from orchestrator.contract import messages
from orchestrator.local import broker as local_broker

#: seconds that a service may take to come up, and a condition to come true
PATIENCE_S = 20.0
#: an ordinary user's PATH may lack the folder of the servers
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


def find(component: str) -> str | None:
    """The path of an executable of this system, if it has it."""
    return shutil.which(component, path=_PATH)


def missing(component: str) -> str | None:
    """Why a component cannot be used here; None if it can."""
    if component == "root":
        return None if os.geteuid() == 0 else "this test needs to be executed by root"
    if component == "own-mounts":
        return None if may_mount() else "this test needs mounts of its own, not allowed here"
    if find(component) is None:
        return f"this test needs {component}, which is not on PATH nor in /usr/sbin"
    if component == "dropbear" and not may_mount():
        return "dropbear reads keys from the home folder, and a mount namespace is not allowed here"
    return None


def run(program: str, *arguments: str) -> str:
    """The output of a program of this system that must end well."""
    command = (_required(program), *arguments)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wait_for(condition: Callable[[], bool], what: str, *, within_s: float = PATIENCE_S) -> None:
    """Return once a condition holds; fail, naming it, if it does not in time."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s} s: {what}")
        time.sleep(0.02)


def free_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


@dataclass(frozen=True, slots=True)
class Keys:
    """A folder of private SSH keys: ``id`` is authorized on the servers, ``other`` is not."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Keys:
        """Make both keys."""
        folder.mkdir(mode=0o700, parents=True)
        for name in ("id", "other"):
            key = Ed25519PrivateKey.generate()
            contract_keys.write_secret(
                folder / name,
                key.private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.OpenSSH,
                    serialization.NoEncryption(),
                ),
            )
            public = key.public_key().public_bytes(
                serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
            )
            (folder / f"{name}.pub").write_bytes(public + b"\n")
        return cls(folder)

    @property
    def public(self) -> bytes:
        """The authorized key, as a line."""
        return (self.folder / "id.pub").read_bytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running SSH server that logs the current user in."""

    port: int
    host_keys: tuple[str, ...]
    log: Path
    process: subprocess.Popen[bytes] = field(repr=False)
    #: a folder that the tests of this server may fill
    folder: Path
    address: str = "127.0.0.1"
    user: str = field(default_factory=getpass.getuser)

    def ref(self, *, key: str = "id", host_keys: tuple[str, ...] | None = None) -> messages.HostRef:
        """How an operation names this host."""
        return messages.HostRef(
            name="host",
            address=self.address,
            port=self.port,
            user=self.user,
            host_keys=self.host_keys if host_keys is None else host_keys,
            key=key,
            base=str(self.folder / "base"),
        )

    def sessions(self) -> list[int]:
        """Process ids of the server's children that serve connections."""
        name = _command(self.process.pid)
        return [pid for pid in descendants(self.process.pid) if _command(pid) == name]


def sshd(
    folder: Path, keys: Keys, *kinds: str, force: str = "", port: int | None = None
) -> AbstractContextManager[Server]:
    """An OpenSSH server with an Ed25519 host key, and one of each further kind.

    ``force``: what it executes instead of any command.
    """
    folder.mkdir(parents=True)
    program = _required("sshd")
    host_keys = []
    for kind in ("ed25519", *kinds):
        path = folder / f"host_key_{kind}"
        run("ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(path))
        host_keys.append(" ".join(path.with_suffix(".pub").read_text().split()[:2]))
    authorized = folder / "authorized_keys"
    authorized.write_bytes(keys.public)
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    # the start-up files of whoever tests are slow, and no part of the test
    home = _at_home(folder / "home") if may_mount() else ()
    config = folder / "sshd_config"
    lines = (
        *(f"HostKey {folder / f'host_key_{kind}'}" for kind in ("ed25519", *kinds)),
        f"AuthorizedKeysFile {authorized}",
        "PidFile none",
        "UsePAM no",
        "StrictModes no",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin prohibit-password",
        "MaxStartups 100",
        "LogLevel VERBOSE",
        f"ForceCommand {force or 'none'}",
    )
    config.write_text("\n".join((*lines, "")))

    def command(port: int) -> tuple[str, ...]:
        listen = f"-oListenAddress=127.0.0.1:{port}"
        return (*home, program, "-D", "-e", "-f", str(config), listen)

    return _serve(folder, command, tuple(host_keys), port=port)


def dropbear(folder: Path, keys: Keys) -> AbstractContextManager[Server]:
    """A dropbear server. It reads authorized keys from the home folder only, so it gets its own."""
    ssh = folder / "home" / ".ssh"
    ssh.mkdir(mode=0o700, parents=True)
    (ssh / "authorized_keys").write_bytes(keys.public)
    (ssh / "authorized_keys").chmod(0o600)
    return dropbear_in(folder, _at_home(folder / "home"), getpass.getuser())


def dropbear_in(folder: Path, prefix: tuple[str, ...], user: str) -> AbstractContextManager[Server]:
    """A dropbear server for a user, in the surroundings that a command prefix makes."""
    folder.mkdir(parents=True, exist_ok=True)
    host_key = folder / "host_key"
    made = run("dropbearkey", "-t", "ed25519", "-f", str(host_key))
    line = next(line for line in made.splitlines() if line.startswith("ssh-ed25519 "))
    program = _required("dropbear")

    def command(port: int) -> tuple[str, ...]:
        serve = (program, "-F", "-E", "-s", "-p", f"127.0.0.1:{port}")
        return (*prefix, *serve, "-r", str(host_key), "-P", str(folder / "pid"))

    return _serve(folder, command, (" ".join(line.split()[:2]),), user=user)


SERVERS: dict[str, Callable[[Path, Keys], AbstractContextManager[Server]]] = {
    "sshd": sshd,
    "dropbear": dropbear,
}


@contextmanager
def broker() -> Iterator[str]:
    """The address of a broker on a socket of its own."""
    # a unix socket's path is short; a test's own folder is not
    with tempfile.TemporaryDirectory(prefix="benchrack-") as folder:
        place = Path(folder)
        environ = {"PATH": "", "TMPDIR": folder}
        with local_broker.embedded(place / "data", log=place / "log", environ=environ) as running:
            yield running.url


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What a worker of a site and its controller know of each other."""

    name: str
    folder: Path
    lab_key: Ed25519PrivateKey
    publics: dict[str, contract_keys.Ed25519PublicKey]

    @classmethod
    def make(cls, folder: Path, keys: Keys, *, name: str = "bench") -> Site:
        """Make the keys of both sides and lay the site's folder out."""
        site = folder / "site"
        site.mkdir(mode=0o700, parents=True)
        contract_keys.make_pair(folder / "lab.key", site / "lab.pub")
        contract_keys.make_pair(site / "site.key", folder / "site.pub")
        shutil.copytree(keys.folder, site / "ssh")
        return cls(
            name=name,
            folder=site,
            lab_key=contract_keys.read_private(folder / "lab.key"),
            publics={name: contract_keys.read_public(folder / "site.pub")},
        )


@contextmanager
def worker(site: Site, url: str, log: Path, **environ: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process of a site."""
    settings = {
        "BENCHRACK_BROKER_URL": url,
        "BENCHRACK_SITE": site.name,
        "BENCHRACK_SITE_FOLDER": str(site.folder),
    }
    with (
        log.open("ab") as stream,
        subprocess.Popen(
            (sys.executable, "-m", "workers.app"),
            env={**os.environ, **settings, **environ},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        ) as process,
    ):
        try:
            wait_for(lambda: b"ready" in log.read_bytes(), f"a worker that is ready; see {log}")
            yield process
        finally:
            _end(process)


def descendants(pid: int) -> list[int]:
    """Process ids of all living children of a process, and of theirs."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            # it ended while we looked
            continue
        parents.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found: list[int] = []
    open_ = [pid]
    while open_:
        children = parents.get(open_.pop(), [])
        found += children
        open_ += children
    return found


@contextmanager
def _serve(
    folder: Path,
    command: Callable[[int], tuple[str, ...]],
    host_keys: tuple[str, ...],
    *,
    port: int | None = None,
    user: str | None = None,
) -> Iterator[Server]:
    port = port or free_port()
    log = folder / "log"
    with (
        log.open("wb") as stream,
        subprocess.Popen(
            command(port),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        ) as process,
    ):
        server = Server(
            port=port,
            host_keys=host_keys,
            log=log,
            process=process,
            folder=folder,
            user=user or getpass.getuser(),
        )
        try:
            wait_for(lambda: _greets(process, port, log), f"an SSH server on {port}; see {log}")
            yield server
        finally:
            for pid in server.sessions():
                _signal(pid, signal.SIGKILL)
            _end(process)


def _greets(process: subprocess.Popen[bytes], port: int, log: Path) -> bool:
    if process.poll() is not None:
        raise AssertionError(f"the SSH server ended at once: {log.read_text()}")
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
            return sock.recv(4) == b"SSH-"
    except OSError:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    _signal(process.pid, signal.SIGCONT)
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


def _at_home(home: Path) -> tuple[str, ...]:
    """A command prefix under which the user's home folder is this one."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    home.chmod(0o700)
    script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    real_home = pwd.getpwuid(os.getuid()).pw_dir
    return (*_own_mounts(), "sh", "-c", script, "sh", str(home), real_home)


def _own_mounts() -> tuple[str, ...]:
    """A command prefix that gives a command mounts of its own."""
    if os.getuid() == 0:
        return ("unshare", "--mount")
    return ("unshare", "--map-current-user", "--keep-caps", "--mount")


@functools.cache
def may_mount() -> bool:
    """Whether a command may be given mounts of its own here."""
    if find("unshare") is None or find("mount") is None:
        return False
    command = (*_own_mounts(), "true")
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _required(program: str) -> str:
    path = find(program)
    if path is None:
        raise AssertionError(f"{program} is not installed")
    return path
