"""/proc/meminfo, from a step or from the later reading of a monitor."""

from __future__ import annotations

import re

from orchestrator.contract import errors
from orchestrator.contract.units import Dimension
from orchestrator.parsers.base import Capture, Parser, Reading, Value

_LINE = re.compile(rb"^([A-Z]\w*(?:\([a-z]+\))?): +(\d{1,18}) kB\s*$", re.MULTILINE)

#: field -> lines that are added up
_FIELDS = {
    "total": ("MemTotal",),
    "free": ("MemFree",),
    "available": ("MemAvailable",),
    "buffers": ("Buffers",),
    "cached": ("Cached",),
    "free-and-cache": ("MemFree", "Buffers", "Cached"),
    "dirty": ("Dirty",),
    "slab": ("Slab",),
    "swap-total": ("SwapTotal",),
    "swap-free": ("SwapFree",),
}
_USED = "swap-used"


def parse(capture: Capture) -> Reading:
    """The sizes that this kernel knows of.

    Raises: ParseError if it is no meminfo.
    """
    lines = {
        match[1].decode(): int(match[2]) for match in _LINE.finditer(capture.out or capture.after)
    }
    if "MemTotal" not in lines or "MemFree" not in lines:
        raise errors.ParseError("no MemTotal and MemFree: not /proc/meminfo, or cut")
    values = {
        field: Value(float(sum(lines[name] for name in names)), "KiB")
        for field, names in _FIELDS.items()
        if all(name in lines for name in names)
    }
    if "SwapTotal" in lines and "SwapFree" in lines:
        values[_USED] = Value(float(lines["SwapTotal"] - lines["SwapFree"]), "KiB")
    return Reading(values=values)


PARSER = Parser(
    name="meminfo",
    version=1,
    parse=parse,
    fields=dict.fromkeys((*_FIELDS, _USED), Dimension.SIZE),
)
