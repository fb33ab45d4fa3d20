"""The number of lines of any output; none is a number too."""

from __future__ import annotations

from orchestrator.contract.units import Dimension
from orchestrator.parsers import text
from orchestrator.parsers.base import Capture, Parser, Reading, Value


def parse(capture: Capture) -> Reading:
    """How many lines there are, and how many of them are not blank."""
    lines = text.clean(capture.out).lines
    filled = sum(1 for line in lines if line.strip())
    return Reading(
        values={"lines": Value(float(len(lines)), "1"), "filled": Value(float(filled), "1")}
    )


PARSER = Parser(
    name="line_count",
    version=1,
    parse=parse,
    fields={"lines": Dimension.RATIO, "filled": Dimension.RATIO},
)
