"""One number out of any output, by a pattern that the metric declares.

The pattern has one group named ``value`` and is searched for in each line by itself. The engine
has no time limit, so what could take long is refused before it is tried: a repeated group, two
repeats of one class side by side, many repeats, and lines in which the repeats find so long runs
that backtracking over them could need too many steps.
"""

from __future__ import annotations

import re
from itertools import pairwise

from orchestrator.contract import errors, units
from orchestrator.parsers import text
from orchestrator.parsers.base import Capture, Parser, Reading, Value

MAX_PATTERN = 200
MAX_OUTPUT = 1 << 20

_MAX_REPEATS = 8
#: steps that the engine may need at worst; it makes some 10^8 a second
_MAX_STEPS = 2e8
#: backtracking over a run up to this length is not counted
_SHORT = 64
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
#: an escaped character, a class, a repeat, or any other character
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[*+?]|\{\d*,?\d*\}|.", re.DOTALL)
_BACKREFERENCE = re.compile(r"\\[1-9]|\(\?P=|\(\?\(")


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, ready for use.

    Raises: InputError for one that is wrong, has no group ``value``, or could take long.
    """
    if len(pattern) > MAX_PATTERN:
        raise errors.InputError(f"a pattern has at most {MAX_PATTERN} characters")
    try:
        ready = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise errors.InputError(f"not a regular expression: {error}") from error
    if "value" not in ready.groupindex:
        raise errors.InputError("a pattern needs a group (?P<value>...) around the number")
    if _BACKREFERENCE.search(pattern):
        raise errors.InputError("a pattern may not refer back to its own groups")
    if len(_repeated(pattern)) > _MAX_REPEATS:
        raise errors.InputError(f"a pattern has at most {_MAX_REPEATS} repeats")
    return ready


def trouble(pattern: str) -> str:
    """What is wrong with a pattern; empty if nothing is."""
    try:
        compiled(pattern)
    except errors.InputError as error:
        return error.message
    return ""


def _repeated(pattern: str) -> list[str]:
    """What the pattern repeats.

    Raises: InputError for a repeated group, or for two repeats of one class side by side.
    """
    atoms = _atoms(pattern)
    for (atom, repeated), (following, again) in pairwise([*atoms, ("", False)]):
        if repeated and atom == ")":
            raise errors.InputError("a pattern may not repeat a group: (...)+ can take for ever")
        if repeated and again and atom == following:
            raise errors.InputError(f"two repeats of {atom} side by side can take for ever")
    return [atom for atom, repeated in atoms if repeated]


def _steps(pattern: str, lines: tuple[str, ...]) -> float:
    """The steps that the engine needs at worst, over all lines."""
    anchored = pattern.startswith("^") and "|" not in pattern
    runs = [re.compile(f"{atom}+") for atom in _repeated(pattern)]
    total = 0.0
    for line in lines:
        steps = 1.0 if anchored else float(len(line))
        for run in runs if len(line) > _SHORT else ():
            longest = max((len(match.group()) for match in run.finditer(line)), default=0)
            steps *= longest if longest > _SHORT else 1
        total += steps
    return total


def _atoms(pattern: str) -> list[tuple[str, bool]]:
    """The parts of a pattern, each with whether it is repeated without a small limit."""
    atoms: list[tuple[str, bool]] = []
    for token in _TOKEN.findall(pattern):
        if _repeats(token) and atoms:
            atoms[-1] = (atoms[-1][0], True)
        elif token != "?":
            atoms.append((token, False))
    return atoms


def _repeats(token: str) -> bool:
    return token in "*+" or (token.startswith("{") and token.endswith("}") and len(token) > 2)


def parse(capture: Capture) -> Reading:
    """The number that the pattern finds: ``value`` if it is found once, ``first`` and ``last``.

    Raises: ParseError if there is none, if it is no number, or if the output is too long.
    """
    try:
        pattern = compiled(capture.pattern)
        units.dimension(capture.unit)
    except errors.InputError as error:
        raise errors.ParseError(error.message) from error
    if len(capture.out) > MAX_OUTPUT:
        raise errors.ParseError(f"patterns are matched in at most {MAX_OUTPUT} bytes of output")
    lines = text.clean(capture.out).lines
    if _steps(capture.pattern, lines) > _MAX_STEPS:
        raise errors.ParseError(
            "the lines are too long for this pattern; begin it with ^ or narrow its repeats"
        )
    found = [match["value"] for line in lines for match in pattern.finditer(line)]
    if not found:
        raise errors.ParseError(f"nothing matches {capture.pattern}")
    values = {"first": _value(found[0], capture.unit), "last": _value(found[-1], capture.unit)}
    if len(found) == 1:
        return Reading(values=values | {"value": values["first"]})
    return Reading(values=values, flags=("several_matches",))


def _value(number: str | None, unit: str) -> Value:
    if number is None or not _NUMBER.fullmatch(number) or len(number) > 40:
        raise errors.ParseError(f"not a number: {text.quote(number or '')!r}")
    value = float(number)
    if value in (float("inf"), float("-inf")):
        raise errors.ParseError(f"no finite number: {number}")
    return Value(value, unit)


PARSER = Parser(
    name="regex",
    version=1,
    parse=parse,
    fields={"value": None, "first": None, "last": None},
    pattern_trouble=trouble,
)
