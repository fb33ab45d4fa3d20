"""``df -k FOLDER``: the space of one file system."""

from __future__ import annotations

import re

from orchestrator.contract import errors
from orchestrator.contract.units import Dimension
from orchestrator.parsers import text
from orchestrator.parsers.base import Capture, Parser, Reading, Value

#: a long device name stands in a line of its own
_ROW = re.compile(r"(?:\S.*?)?\s+(\d+)\s+(\d+)\s+(-?\d+)\s+\d+%\s+/.*")


def parse(capture: Capture) -> Reading:
    """Size, used and available space.

    Raises: ParseError if there is no row of one file system, or more than one.
    """
    lines = text.clean(capture.out).lines
    rows = [match for line in lines if (match := _ROW.fullmatch(line.rstrip()))]
    if len(rows) != 1:
        raise errors.ParseError(f"{len(rows)} file systems instead of one; name one folder")
    total, used, available = (int(number) for number in rows[0].groups())
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
