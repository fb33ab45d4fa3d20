"""The state folder of a lab: made, locked, and filled with keys."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.contract import errors, keys
from orchestrator.settings import Settings


@contextmanager
def held(settings: Settings) -> Iterator[None]:
    """Own a state folder, complete with folders, keys and token, while the block lasts.

    Raises: LabRunning where another lab owns it; StoreReadOnly.
    """
    with writable(settings):
        settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(settings.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(descriptor, settings)
        with writable(settings):
            _fill(settings)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def writable(settings: Settings) -> Iterator[None]:
    """Translate that the state folder cannot be written.

    Raises: StoreReadOnly.
    """
    try:
        yield
    except OSError as error:
        what = "is on a full disk" if error.errno == errno.ENOSPC else "cannot be written"
        raise errors.StoreReadOnly(
            f"the state folder {settings.state} {what} ({error.strerror}): "
            "choose another with --state or BENCHRACK_STATE"
        ) from error


def _lock(descriptor: int, settings: Settings) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        pid = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
        raise errors.LabRunning(
            f"a lab is already running on {settings.state} (process {pid}): use it, end it, "
            "or choose another state folder"
        ) from error
    with writable(settings):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


def _fill(settings: Settings) -> None:
    for folder in (
        settings.keys,
        settings.site_publics,
        settings.site_folder.parent,
        settings.site_folder,
        settings.ssh_keys,
        settings.site_cache,
        settings.logs,
        settings.broker_data,
    ):
        folder.mkdir(mode=0o700, exist_ok=True)
    keys.make_pair(settings.lab_key, settings.lab_public)
    # at this lab's own site both sides are ours, so neither key needs to be carried
    keys.make_pair(settings.site_key, settings.site_publics / f"{settings.site}.pub")
    settings.site_lab_public.write_bytes(settings.lab_public.read_bytes())
    if not settings.token_file.exists():
        keys.write_secret(settings.token_file, secrets.token_urlsafe(32).encode())
    # an address that a killed API left would be of nobody, or of somebody else
    settings.api_file.unlink(missing_ok=True)
