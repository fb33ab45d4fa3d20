"""SSH servers for users that the system does not have, on a machine that has no machine id.

Each lives in a mount namespace of its own, so that nothing of the system is changed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import services

#: bound over by an empty file: cloned and minimal systems have none
MACHINE_IDS = ("/etc/machine-id", "/var/lib/dbus/machine-id")
UID = 4242


@contextmanager
def ordinary(keys: services.Keys) -> Iterator[services.Server]:
    """A dropbear server for the ordinary user ``bench``, who has a home folder of his own."""
    # not below the test's folder: an ordinary user may not enter that
    place = Path(tempfile.mkdtemp(prefix="benchrack-login-"))
    try:
        place.chmod(0o755)
        home = place / "home"
        (home / ".ssh").mkdir(parents=True)
        (home / ".ssh" / "authorized_keys").write_bytes(keys.public)
        for path in (home, home / ".ssh", home / ".ssh" / "authorized_keys"):
            path.chmod(0o700 if path.is_dir() else 0o600)
            os.chown(path, UID, UID)
        passwd = place / "passwd"
        passwd.write_text(f"root:x:0:0:root:/root:/bin/sh\nbench:x:{UID}:{UID}::{home}:/bin/sh\n")
        with _dropbear(place, user="bench", bound={passwd: ("/etc/passwd",)}) as server:
            yield server
    finally:
        shutil.rmtree(place)


@contextmanager
def of_root(keys: services.Keys) -> Iterator[services.Server]:
    """A dropbear server for root, with another key of its own."""
    place = Path(tempfile.mkdtemp(prefix="benchrack-login-"))
    try:
        home = place / "home"
        (home / ".ssh").mkdir(parents=True, mode=0o700)
        (home / ".ssh" / "authorized_keys").write_bytes(keys.public)
        (home / ".ssh" / "authorized_keys").chmod(0o600)
        home.chmod(0o700)
        with _dropbear(place, user="root", bound={home: ("/root",)}) as server:
            yield server
    finally:
        shutil.rmtree(place)


@contextmanager
def _dropbear(
    place: Path, *, user: str, bound: dict[Path, tuple[str, ...]]
) -> Iterator[services.Server]:
    empty = place / "empty"
    empty.touch()
    binds = [(str(source), target) for source, targets in bound.items() for target in targets]
    binds += [(str(empty), target) for target in MACHINE_IDS if Path(target).exists()]
    mounts = " && ".join(f"mount --bind {source} {target}" for source, target in binds)
    with services.dropbear_in(
        place / "server", ("unshare", "--mount", "sh", "-c", f'{mounts} && exec "$@"', "sh"), user
    ) as server:
        yield server
