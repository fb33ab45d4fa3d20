"""``df -k FOLDER``: the space of one file system."""

from __future__ import annotations

import re

from orchestrator.contract import errors
from orchestrator.contract.units import Dimension
from orchestrator.parsers import text
from orchestrator.parsers.base import Capture, Parser, Reading, Value

_SHARE = re.compile(r"\d{1,3}%")
_SIZE = re.compile(r"-?\d{1,18}")


def _row(line: str) -> tuple[int, int, int] | None:
    """Size, used and available of a row; a long device name stands in a line of its own."""
    words = line.split()
    share = next((i for i, word in enumerate(words) if _SHARE.fullmatch(word)), 0)
    sizes = words[max(0, share - 3) : share]
    if len(sizes) < 3 or not all(map(_SIZE.fullmatch, sizes)) or share + 1 >= len(words):
        return None
    total, used, available = map(int, sizes)
    return total, used, available


def parse(capture: Capture) -> Reading:
    """Size, used and available space.

    Raises: ParseError if there is no row of one file system, or more than one.
    """
    lines = text.clean(capture.out).lines
    rows = [row for line in lines if (row := _row(line))]
    if len(rows) != 1:
        raise errors.ParseError(f"{len(rows)} file systems instead of one; name one folder")
    total, used, available = rows[0]
    values = {
        "total": Value(float(total), "KiB"),
        "used": Value(float(used), "KiB"),
        # root's reserve can make it negative
        "available": Value(float(max(0, available)), "KiB"),
    }
    if used + available > 0:
        values["used-ratio"] = Value(used / (used + available), "1")
    return Reading(values=values)


PARSER = Parser(
    name="df_k",
    version=1,
    parse=parse,
    fields={
        "total": Dimension.SIZE,
        "used": Dimension.SIZE,
        "available": Dimension.SIZE,
        "used-ratio": Dimension.RATIO,
    },
)
