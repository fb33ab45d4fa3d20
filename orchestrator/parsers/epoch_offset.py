"""``date -u +%s``: how far the clock of the host is from the lab's."""

from __future__ import annotations

from orchestrator.contract import errors
from orchestrator.contract.units import Dimension
from orchestrator.parsers import text
from orchestrator.parsers.base import Capture, Parser, Reading, Value


def parse(capture: Capture) -> Reading:
    """Seconds that the host is ahead of the lab; exact to a second, and to how well the lab
    knows when the step ended.

    Raises: ParseError if there is no time to compare, on either side.
    """
    words = [word for line in text.clean(capture.out).lines for word in line.split()]
    if len(words) != 1 or not (words[0].isascii() and words[0].isdigit()) or len(words[0]) > 15:
        raise errors.ParseError("not a number of seconds: use date -u +%s")
    if capture.wall_s is None:
        raise errors.ParseError("when the step ended by the lab's clock is not known")
    return Reading(values={"offset": Value(int(words[0]) - capture.wall_s, "s")})


PARSER = Parser(name="epoch_offset", version=1, parse=parse, fields={"offset": Dimension.TIME})
