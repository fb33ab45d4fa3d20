"""Files on their way to a shelf, put together from the pieces that operations carry."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from orchestrator.contract import errors, messages


def add(cache: Path, order: messages.PutOrder) -> bytes | None:
    """Add a piece; the whole file once it is complete.

    Pieces may come twice and in any order: what counts is that the whole has its checksum.
    Raises: ProtocolError for a piece that lies outside its file.
    """
    if order.offset + len(order.data) > order.size:
        raise errors.ProtocolError(f"a piece lies outside the file {order.sha256}")
    folder = cache / "parcels"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / order.sha256
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "r+b") as stream:
        stream.seek(order.offset)
        stream.write(order.data)
        stream.flush()
        stream.seek(0)
        whole = stream.read()
    if len(whole) == order.size and hashlib.sha256(whole).hexdigest() == order.sha256:
        return whole
    return None
