"""The API as a process: listens on loopback, says where, and ends when it is told to."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import signal
import socket
from collections.abc import Iterator
from types import FrameType
from typing import Final

import uvicorn
from fastapi import FastAPI

from orchestrator.contract import errors
from orchestrator.settings import Settings

#: seconds that answers under way may take once the end was asked for
_GRACE_S: Final = 1
_BACKLOG: Final = 128


def listen(settings: Settings) -> socket.socket:
    """A socket that listens where the settings say.

    Raises: SettingsError for an address that others could reach; ApiError if it is taken.
    """
    host = "127.0.0.1" if settings.api_host == "localhost" else settings.api_host
    if not ipaddress.ip_address(host).is_loopback:
        raise errors.SettingsError(f"{host} is not a loopback address; the API serves only those")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, settings.api_port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise errors.ApiError(
            f"the API cannot listen on {host} port {settings.api_port}: {error.strerror}"
        ) from error
    return listening


def url_of(listening: socket.socket) -> str:
    """The address of the API behind a socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextlib.contextmanager
def announced(settings: Settings, url: str) -> Iterator[None]:
    """Keep the API's address in the state folder while the block lasts."""
    content = json.dumps({"url": url, "pid": os.getpid()}).encode()
    temporary = settings.api_file.with_name(f".{settings.api_file.name}.{os.getpid()}")
    temporary.write_bytes(content)
    temporary.rename(settings.api_file)
    try:
        yield
    finally:
        # another API may have taken over meanwhile
        with contextlib.suppress(FileNotFoundError):
            if settings.api_file.read_bytes() == content:
                settings.api_file.unlink()


def serve(app: FastAPI, listening: socket.socket) -> None:
    """Answer requests until SIGTERM or SIGINT; main thread only."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_S,
    )
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Turn SIGTERM into KeyboardInterrupt, before the server handles signals and after."""

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
