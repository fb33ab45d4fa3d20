"""``dmesg``: how often the kernel said that something is wrong."""

from __future__ import annotations

import re

from orchestrator.contract import errors
from orchestrator.contract.units import Dimension
from orchestrator.parsers import text
from orchestrator.parsers.base import Capture, Parser, Reading, Value

#: one pattern for the first line of each kind of report, so that a report counts once
_REPORTS = {
    "oopses": re.compile(
        r"\b(?:kernel BUG at |BUG: (?!workqueue lockup|soft lockup)|Oops\b(?!:? OK)|"
        r"general protection fault|Internal error: |Kernel panic)"
    ),
    "ooms": re.compile(r"\binvoked oom-killer\b"),
    "warnings": re.compile(r"\bWARNING: (?:CPU|at|possible|suspicious)\b"),
    "stalls": re.compile(
        r"\bself-detected stall\b|\bdetected stalls on\b|\bsoft lockup\b|\bhard LOCKUP\b|"
        r"\bblocked for more than \d+ seconds\b"
    ),
}


def parse(capture: Capture) -> Reading:
    """Counts of oopses, out-of-memory kills, warnings and stalls in what is left of the log.

    Raises: ParseError if the log could not be read: that is not zero oopses.
    """
    out = text.clean(capture.out)
    complaint = next((line for line in text.clean(capture.err).lines if line.strip()), "")
    if not out.lines and (complaint or capture.rc):
        raise errors.ParseError(f"the kernel log was not readable: {text.quote(complaint)}")
    values = {
        name: Value(float(sum(1 for line in out.lines if pattern.search(line))), "1")
        for name, pattern in _REPORTS.items()
    }
    return Reading(values=values | {"lines": Value(float(len(out.lines)), "1")})


PARSER = Parser(
    name="kernel_log",
    version=1,
    parse=parse,
    fields=dict.fromkeys((*_REPORTS, "lines"), Dimension.RATIO),
)
