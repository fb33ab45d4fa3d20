"""One number out of any output, by a pattern that the metric declares.

The pattern has one group named ``value`` and is searched for in each line by itself. The engine
has no time limit, so a pattern that could take long is refused before it is tried: no repeated
group, no two repeats of one class side by side, at most three of wide classes, and an output that
is short enough for them.
"""

from __future__ import annotations

import re
from itertools import pairwise

from orchestrator.contract import errors, units
from orchestrator.parsers import text
from orchestrator.parsers.base import Capture, Parser, Reading, Value

MAX_PATTERN = 200
MAX_OUTPUT = 1 << 20

#: steps that the engine may need at worst
_MAX_STEPS = 2e9
_MAX_WIDE = 3
_WIDE = frozenset({r"\S", r"\D", r"\W", r"\w"})
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
    if _wide_repeats(pattern) > _MAX_WIDE:
        raise errors.InputError(f"a pattern has at most {_MAX_WIDE} repeats like .* or \\S+")
    return ready


def _wide_repeats(pattern: str) -> int:
    """How many repeats match much of any line.

    Raises: InputError for a repeated group, or for two repeats of one class side by side.
    """
    atoms = _atoms(pattern)
    for (atom, repeated), (following, again) in pairwise([*atoms, ("", False)]):
        if repeated and atom == ")":
            raise errors.InputError("a pattern may not repeat a group: (...)+ can take for ever")
        if repeated and again and atom == following:
            raise errors.InputError(f"two repeats of {atom} side by side can take for ever")
    repeats = [atom for atom, repeated in atoms if repeated]
    return sum(1 for atom in repeats if atom == "." or atom.startswith("[^") or atom in _WIDE)


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
    power = _wide_repeats(capture.pattern) + (not capture.pattern.startswith("^"))
    if sum(float(len(line)) ** power for line in lines) > _MAX_STEPS:
        raise errors.ParseError("the output is too long for this pattern; begin it with ^")
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
    name="regex", version=1, parse=parse, fields={"value": None, "first": None, "last": None}
)
