"""Files that an operator names: read and written, with a sentence where that fails."""

from __future__ import annotations

import os
from pathlib import Path

from orchestrator.contract import errors


def read(path: Path) -> bytes:
    """The content of a file.

    Raises: InputError.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise errors.InputError(f"{path}: cannot be read ({error.strerror})") from error


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
