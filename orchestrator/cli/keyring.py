"""Private SSH keys of this machine's site: copied in beside the workers, never sent anywhere."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from orchestrator.contract import errors
from orchestrator.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key of a site by its name; ``content`` is what has to be put there first, if anything."""

    folder: Path
    name: str
    content: bytes | None = None

    @property
    def path(self) -> Path:
        """Where the site's workers read it."""
        return self.folder / self.name


def find(settings: Settings, *, site: str | None, host: str, given: str) -> Key:
    """The key that ``--key`` means: a file, to be kept by the host's name, or a name of the site's.

    Raises: InventoryError naming the file and what is wrong with it.
    """
    here = dataclasses.replace(settings, site=site or settings.site)
    file = Path(given).expanduser()
    if "/" not in given and not file.exists():
        return _by_name(here, given)
    content = _read(file)
    if not here.site_folder.is_dir():
        raise errors.InventoryError(
            f"site {here.site} keeps its keys on another machine: put the key there, "
            "and give its name with --key NAME"
        )
    if segment(host) != host or host.startswith("."):
        raise errors.InventoryError(
            f"host name {host!r} is not usable: give small letters, digits and -"
        )
    key = Key(folder=here.ssh_keys, name=host, content=content)
    if not key.path.exists():
        return key
    if key.path.read_bytes() == content:
        return dataclasses.replace(key, content=None)
    raise errors.InventoryError(
        f"the site has another key named {host} already: give --key {host} to use that one, "
        f"or remove {key.path}"
    )


@contextlib.contextmanager
def lent(key: Key) -> Iterator[None]:
    """Put a key where the workers find it; take it away again if the block fails."""
    if key.content is None:
        yield
        return
    _write(key.path, key.content)
    try:
        yield
    except BaseException:
        key.path.unlink(missing_ok=True)
        raise


def segment(name: str) -> str:
    """A name as one segment of a path.

    Raises: InputError for a name that is none: empty, or no text.
    """
    try:
        quoted = quote(name, safe="")
    except UnicodeEncodeError as error:
        raise errors.InputError(f"{name!r} is not text in UTF-8") from error
    if not quoted:
        raise errors.InputError("an empty name names nothing")
    return quoted


def _by_name(settings: Settings, name: str) -> Key:
    known = sorted(path.name for path in settings.ssh_keys.glob("[!.]*"))
    if name not in known and settings.site_folder.is_dir():
        listed = f"; the site has: {', '.join(known)}" if known else ""
        raise errors.InventoryError(
            f"--key {name}: there is no such file, nor a key of that name{listed}"
        )
    return Key(folder=settings.ssh_keys, name=name)


def _read(file: Path) -> bytes:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise errors.InventoryError(f"--key {file}: cannot be read ({error.strerror})") from error
    _check(file, content)
    return content


def _check(file: Path, content: bytes) -> None:
    """Refuse what no worker could log in with."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import (
        load_pem_private_key,
        load_ssh_private_key,
    )

    load = load_ssh_private_key if b"OPENSSH PRIVATE KEY" in content else load_pem_private_key
    try:
        load(content, password=None)
    except TypeError as error:
        raise errors.InventoryError(
            f"--key {file}: is protected by a passphrase; a worker needs a key without one"
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise errors.InventoryError(f"--key {file}: is not a private SSH key") from error


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
    except OSError as error:
        raise errors.InventoryError(f"{path}: the key cannot be kept ({error.strerror})") from error
