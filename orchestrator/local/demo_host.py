"""An SSH server on loopback that executes commands on this machine, as this user.

It stands in for a host where there is none yet: a login with the one authorised key, no terminal,
no forwarding; a command lives on when its channel closes, as with sshd. Executed as a module, as
it is a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pwd
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import asyncssh

from orchestrator.contract import errors
from orchestrator.local import process

ADDRESS: Final = "127.0.0.1"
#: seconds
_START_S: Final = 20.0
_STOP_S: Final = 2.0
#: status that a shell gives a command which a signal ended
_SIGNALLED: Final = 128
#: bytes
_BLOCK: Final = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoHost:
    """A running demo host. ``host_key`` is a line as in known_hosts, without the name."""

    port: int
    user: str
    host_key: str
    fingerprint: str
    pid: int
    address: str = ADDRESS


@contextmanager
def running(folder: Path, *, authorized: Path, environ: Mapping[str, str]) -> Iterator[DemoHost]:
    """A demo host while the block lasts; its port and host key are kept in ``folder``.

    Raises: LabError.
    """
    with started(folder, authorized=authorized, environ=environ) as ready:
        yield ready()


@contextmanager
def started(
    folder: Path, *, authorized: Path, environ: Mapping[str, str]
) -> Iterator[Callable[[], DemoHost]]:
    """As ``running``, but gives what waits until the host serves.

    Raises: LabError, when it is waited for.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    shown, log = folder / "ready.json", folder / "log"
    shown.unlink(missing_ok=True)
    child = process.start(
        process.python(
            "orchestrator.local.demo_host",
            *("--folder", str(folder), "--authorized", str(authorized)),
        ),
        log=log,
        environ=environ,
    )
    try:
        yield lambda: _await(child, shown, log)
    finally:
        process.stop(child, patience_s=_STOP_S)
        shown.unlink(missing_ok=True)


def _await(child: subprocess.Popen[bytes], ready: Path, log: Path) -> DemoHost:
    deadline = time.monotonic() + _START_S
    while not ready.exists():
        if child.poll() is not None or time.monotonic() > deadline:
            raise errors.LabError(f"the demo host does not start: {process.last_line(log)}")
        time.sleep(0.01)
    return DemoHost(pid=child.pid, **json.loads(ready.read_text()))


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser(prog="demo_host", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--authorized", type=Path, required=True, help="a public key")
    given = parser.parse_args()
    # a server started in the background may have inherited "ignore", and so would its commands
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    asyncio.run(_serve(given.folder, given.authorized))


async def _serve(folder: Path, authorized: Path) -> None:
    key = _host_key(folder / "host_key")
    # the address that a lab knows this host by
    kept = folder / "port"
    acceptor = await asyncssh.listen(
        ADDRESS,
        int(kept.read_text()) if kept.exists() else 0,
        server_host_keys=[key],
        authorized_client_keys=str(authorized),
        password_auth=False,
        kbdint_auth=False,
        gss_host=None,
        process_factory=_execute,
        encoding=None,
        allow_pty=False,
        line_editor=False,
        agent_forwarding=False,
        x11_forwarding=False,
    )
    kept.write_text(str(acceptor.get_port()))
    public = key.convert_to_public()
    shown = {
        "port": acceptor.get_port(),
        "user": pwd.getpwuid(os.getuid()).pw_name,
        "host_key": " ".join(public.export_public_key().decode().split()[:2]),
        "fingerprint": public.get_fingerprint(),
    }
    temporary = folder / ".ready.json"
    temporary.write_text(json.dumps(shown))
    temporary.rename(folder / "ready.json")
    await acceptor.wait_closed()


def _host_key(path: Path) -> asyncssh.SSHKey:
    if not path.exists():
        asyncssh.generate_private_key("ssh-ed25519").write_private_key(path)
        path.chmod(0o600)
    return asyncssh.read_private_key(path)


async def _execute(session: asyncssh.SSHServerProcess[bytes]) -> None:
    # one command of a client, from its first byte of input to its exit status
    if session.command is None:
        session.stderr.write(b"this host executes commands only\n")
        session.exit(1)
        return
    child = subprocess.Popen(
        ("/bin/sh", "-c", session.command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_login_environment(),
        cwd=_home(),
        start_new_session=True,
    )
    assert child.stdin
    feeding = asyncio.create_task(_feed(session.stdin, child.stdin))
    answering = asyncio.create_task(_answer(child, session))
    closed = asyncio.create_task(session.wait_closed())
    await asyncio.wait({answering, closed}, return_when=asyncio.FIRST_COMPLETED)
    # when the channel closes, the pipes close, and the command is left to itself
    for task in (feeding, answering, closed):
        task.cancel()


async def _answer(
    child: subprocess.Popen[bytes], session: asyncssh.SSHServerProcess[bytes]
) -> None:
    assert child.stdout
    assert child.stderr
    ended = _end_of(child)
    try:
        async with asyncio.TaskGroup() as both:
            both.create_task(_forward(child.stdout, session.stdout))
            both.create_task(_forward(child.stderr, session.stderr))
    except* ConnectionError:
        # the channel closed while something was on its way
        ended.cancel()
    else:
        status = await ended
        # a close without it would look like a connection that was cut
        session.channel.write_eof()
        session.exit(status if status >= 0 else _SIGNALLED - status)


async def _feed(source: asyncssh.SSHReader[bytes], pipe: IO[bytes]) -> None:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), pipe
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    try:
        while data := await source.read(_BLOCK):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        # the command does not read; what the client still sends has to go somewhere
        while await source.read(_BLOCK):
            continue
    finally:
        writer.close()


async def _forward(pipe: IO[bytes], sink: asyncssh.SSHWriter[bytes]) -> None:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    try:
        while data := await reader.read(_BLOCK):
            sink.write(data)
            await sink.drain()
    finally:
        transport.close()


def _end_of(child: subprocess.Popen[bytes]) -> asyncio.Future[int]:
    # a thread each: a pool would be filled by commands that live on
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def tell(status: int) -> None:
        if not ended.cancelled():
            ended.set_result(status)

    def wait() -> None:
        loop.call_soon_threadsafe(tell, child.wait())

    threading.Thread(target=wait, daemon=True).start()
    return ended


def _home() -> str:
    home = pwd.getpwuid(os.getuid()).pw_dir
    return home if os.path.isdir(home) else "/"


def _login_environment() -> dict[str, str]:
    # what a login gives, and nothing of the process that this server is
    user = pwd.getpwuid(os.getuid())
    path = "/usr/local/bin:/usr/bin:/bin"
    return {
        "HOME": user.pw_dir,
        "LOGNAME": user.pw_name,
        "USER": user.pw_name,
        "SHELL": "/bin/sh",
        "PATH": f"/usr/local/sbin:/usr/sbin:/sbin:{path}" if user.pw_uid == 0 else path,
    }


if __name__ == "__main__":
    main()
