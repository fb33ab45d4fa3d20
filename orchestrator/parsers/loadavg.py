"""/proc/loadavg, from a step or from the later reading of a monitor."""

from __future__ import annotations

import re

from orchestrator.contract import errors
from orchestrator.contract.units import Dimension
from orchestrator.parsers.base import Capture, Parser, Reading, Value

_LINE = re.compile(
    rb"^(\d{1,9}\.\d\d) (\d{1,9}\.\d\d) (\d{1,9}\.\d\d) (\d{1,9})/(\d{1,9}) \d{1,9}\s*$",
    re.MULTILINE,
)
_FIELDS = ("load1", "load5", "load15", "running", "tasks")


def parse(capture: Capture) -> Reading:
    """The three load averages, and the tasks that run and that are.

    Raises: ParseError if there is no such line, or more than one.
    """
    found = _LINE.findall(capture.out or capture.after)
    if len(found) != 1:
        raise errors.ParseError(f"{len(found)} lines of /proc/loadavg instead of one")
    return Reading(
        values={
            name: Value(float(number), "1") for name, number in zip(_FIELDS, found[0], strict=True)
        }
    )


PARSER = Parser(
    name="loadavg", version=1, parse=parse, fields=dict.fromkeys(_FIELDS, Dimension.RATIO)
)
