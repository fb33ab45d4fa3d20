"""A host without a connection: the scripts of the host's side, called as SSH would call them.

Each shell gets a folder of commands in which ``sh`` is that shell. The busybox one holds nothing
but the applets that a small busybox has: no setsid, no sha256sum.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests import services
from workers import payload

LAB = "1" * 32
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
OTHER_BOOT = "00000000-0000-4000-8000-000000000000"

SHELLS = {"dash": "dash", "busybox": "busybox", "bash": "bash", "mksh": "mksh"}
# fmt: off
_APPLETS = (
    "cat", "chmod", "cksum", "cp", "cut", "df", "echo", "env", "expr", "grep", "head", "id", "kill",
    "ln", "ls", "md5sum", "mkdir", "mv", "od", "printf", "pwd", "rm", "rmdir", "sleep", "sync",
    "tail", "test", "touch", "tr", "uname", "wc",
)
# fmt: on

#: a script that is under way until it is ended
UP = "touch up\nsleep 300\n"


def commands(shell: str, folder: Path) -> Path:
    """A folder to begin PATH with, in which ``sh`` is this shell."""
    program = services.find(SHELLS[shell])
    assert program is not None
    folder.mkdir(parents=True)
    for name in ("sh", *(_APPLETS if shell == "busybox" else ())):
        (folder / name).symlink_to(program)
    return folder


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer: its values by key, and the bytes of its chunks by stream and offset."""

    values: dict[str, list[str]]
    chunks: dict[tuple[str, int], bytes]

    def __getattr__(self, key: str) -> str:
        return self.values.get(key, [""])[0]


def read(output: bytes, nonce: str) -> Answer:
    """The answer in what a call wrote; it fails if there is none."""
    values: dict[str, list[str]] = {}
    chunks: dict[tuple[str, int], bytes] = {}
    mark, rest = f"@@{nonce} ".encode(), output
    while rest:
        line, _, rest = rest.partition(b"\n")
        if line == mark + b"end":
            return Answer(values, chunks)
        if line.startswith(mark + b"chunk "):
            name, offset, length = line.split()[2:5]
            chunks[name.decode(), int(offset)] = rest[: int(length)]
            values.setdefault("chunk", []).append(line.decode().partition("chunk ")[2])
            assert rest[int(length) : int(length) + 1] == b"\n"
            rest = rest[int(length) + 1 :]
        elif line.startswith(mark):
            key, _, value = line.removeprefix(mark).decode().partition("=")
            values.setdefault(key, []).append(value)
    raise AssertionError(f"no whole answer: {output!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A base folder, and the shell that serves it."""

    base: Path
    environ: dict[str, str]
    lab: str = LAB
    run: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def folder(self) -> Path:
        """Where the first attempt of our run stands."""
        return self.base / "r" / f"{self.run}.1"

    @property
    def log(self) -> list[list[str]]:
        """The host's own record, without its times."""
        path = self.base / "log"
        return [line.split()[1:] for line in path.read_text().splitlines()] if path.exists() else []

    def executions(self) -> int:
        """How often our run began, by the host's own record."""
        return sum(line[0] == "begin" and line[2] == self.run for line in self.log)

    def popen(self, *words: str, stdin: bytes = b"", nonce: str) -> subprocess.Popen[bytes]:
        """A call under way."""
        command = ("sh", str(self.base / "bin/hostrun.sh"), nonce, str(self.base), self.lab, *words)
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environ
        )
        assert process.stdin
        with contextlib.suppress(BrokenPipeError):
            # a call that was killed, or that takes no input
            process.stdin.write(stdin)
            process.stdin.close()
        process.stdin = None
        return process

    def call(self, *words: str, stdin: bytes = b"") -> Answer:
        """The answer to a call."""
        nonce = secrets.token_hex(8)
        with self.popen(*words, stdin=stdin, nonce=nonce) as process:
            output, _ = process.communicate(timeout=30)
        return read(output, nonce)

    def of(self, verb: str, *words: str, fence: int = 1, stdin: bytes = b"") -> Answer:
        """The answer to a verb of our run."""
        return self.call(verb, self.run, "1", str(fence), *words, stdin=stdin)

    def start(
        self,
        script: str,
        *,
        fence: int = 1,
        boot: str = BOOT,
        attend: bool = True,
        max_s: int = 60,
        need_kib: int = 0,
    ) -> Answer:
        """The answer to a start."""
        words = (boot, str(int(attend)), str(max_s), str(need_kib), str(len(script.encode())))
        return self.of("start", *words, fence=fence, stdin=script.encode())

    def running(self, script: str) -> None:
        """Start a script and return once it has made the file ``up`` in its work folder."""
        nonce = secrets.token_hex(8)
        words = (BOOT, "1", "60", "0", str(len(script)))
        # the starter, which would attend, goes away; the run does not
        process = self.popen(
            "start", self.run, "1", "1", *words, stdin=script.encode(), nonce=nonce
        )
        with process:
            up = self.folder / "work" / "up"
            services.wait_for(up.exists, "a script that is under way")
            process.kill()
            process.communicate()

    def tree(self) -> set[str]:
        """All that stands below the base."""
        return {str(path.relative_to(self.base)) for path in self.base.rglob("*")}

    def living(self) -> list[int]:
        """Living processes that carry the marker of our run."""
        marker = f"BENCHRACK_RUN={self.run}".encode()
        return [pid for pid in _pids() if marker in _read(pid, "environ").split(b"\0")]


def meet(environ: dict[str, str], base: Path) -> Answer:
    """The answer of a host that is met."""
    nonce = secrets.token_hex(8)
    process = subprocess.run(
        ("sh", "-s", "--", nonce, str(base)),
        input=payload.meet_script(),
        stdout=subprocess.PIPE,
        env=environ,
        check=True,
    )
    return read(process.stdout, nonce)


@contextlib.contextmanager
def host(shell: str, folder: Path) -> Iterator[Host]:
    """A host that was met and has hostrun.sh on its shelf; nothing of its run survives it."""
    path = f"{commands(shell, folder / 'commands')}"
    if shell != "busybox":
        path += os.pathsep + os.environ["PATH"]
    environ = {"PATH": path, "HOME": str(folder)}
    base = folder / "base"
    assert meet(environ, base).base == str(base)
    (base / "bin/hostrun.sh").write_bytes(payload.hostrun_script())
    met = Host(base=base, environ=environ)
    try:
        yield met
    finally:
        for pid in met.living():
            kill(pid)


def assert_forgotten(host: Host) -> None:
    """Nothing of the run is left, and what is left is what the protocol says."""
    left = {name for name in host.tree() if not name.startswith("guard/")}
    assert left == {
        "bin", "bin/hostrun.sh", "guard", "instance", "log", "r", f"fence.{host.lab}"
    }  # fmt: skip
    assert len(list((host.base / "guard").iterdir())) == 1
    assert host.living() == []


def kill(pid: int) -> None:
    """End a process and see it gone; it may have ended already."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    services.wait_for(lambda: not is_living(pid), f"the end of process {pid}")


def is_living(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    return _read(pid, "stat").rpartition(b")")[2].split()[:1] not in ([], [b"Z"], [b"X"])


def pid_in(path: Path) -> int:
    """The process id that a script wrote to a file."""
    services.wait_for(lambda: path.exists() and path.read_text().endswith("\n"), f"a pid in {path}")
    return int(path.read_text())


def program(name: str) -> str:
    """The absolute path of a program of this machine, whatever PATH a script has."""
    found = shutil.which(name)
    assert found is not None
    return found


def own_mounts() -> tuple[str, ...]:
    """A command prefix for root with mounts of its own, for tests that need own-mounts."""
    prefix: tuple[str, ...] = ("unshare", "--mount")
    return prefix if os.getuid() == 0 else (*prefix, "--map-root-user")


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        # it ended while we looked, or is not ours
        return b""
