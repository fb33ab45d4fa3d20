"""Files that an operator names: read and written, with a sentence where that fails."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from orchestrator.contract import errors

#: bytes; what is larger is nothing that the lab takes
LIMIT = 8 * 1024 * 1024


def read(path: Path) -> bytes:
    """The content of a file.

    Raises: InputError.
    """
    try:
        with path.open("rb") as source:
            return drain(source, str(path))
    except OSError as error:
        raise errors.InputError(f"{path}: cannot be read ({error.strerror})") from error


def drain(source: BinaryIO, name: str) -> bytes:
    """All that a stream gives.

    Raises: InputError if that is over the limit.
    """
    data = source.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise errors.InputError(f"{name}: is over {LIMIT // 2**20} MiB, which no lab takes")
    return data


def write(path: Path, data: bytes) -> None:
    """Write a file as a whole: what was there stays until the new content is complete.

    Raises: InputError.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a device or a pipe
            return
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            temporary.write_bytes(data)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise errors.InputError(f"{path}: cannot be written ({error.strerror})") from error
