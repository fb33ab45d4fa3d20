"""/proc/stat before and after: what the whole machine did meanwhile, by its own counters."""

from __future__ import annotations

import re

from orchestrator.contract import errors
from orchestrator.contract.units import Dimension
from orchestrator.parsers.base import Capture, Parser, Reading, Value

_COUNTER = re.compile(rb"^(ctxt|intr|processes) (\d{1,18})\b", re.MULTILINE)
_CPU = re.compile(rb"^cpu +(\d{1,18}(?: \d{1,18})+)", re.MULTILINE)
_ONE_CPU = re.compile(rb"^cpu\d{1,18} ", re.MULTILINE)
#: ticks per second in /proc, on every architecture that is still built
_USER_HZ = 100.0
#: columns of a cpu line
_IDLE, _IOWAIT, _STEAL, _GUEST = 3, 4, 7, 8
_RATES = {"ctxt": "ctxt-per-s", "intr": "intr-per-s", "processes": "forks-per-s"}


def parse(capture: Capture) -> Reading:
    """Rates of context switches, interrupts and forks, and the busy part of all processors.

    Raises: ParseError if a side is missing or a counter went backwards.
    """
    before, after = _counters(capture.before), _counters(capture.after)
    ticks_before, ticks_after = _ticks(capture.before), _ticks(capture.after)
    length = min(len(ticks_before), len(ticks_after))
    ticks = [late - early for early, late in zip(ticks_before, ticks_after, strict=False)][:length]
    # iowait and steal are known to run backwards a little; the sum never does
    whole = sum(ticks[:_GUEST])
    if whole <= 0:
        raise errors.ParseError("the processor times of /proc/stat did not grow")
    flags: tuple[str, ...] = ()
    elapsed = capture.elapsed_s
    if elapsed is None:
        elapsed = whole / _USER_HZ / max(1, len(_ONE_CPU.findall(capture.after)))
        flags = ("elapsed_by_ticks",)
    if elapsed <= 0:
        raise errors.ParseError(f"no time passed between the two readings: {elapsed} s")
    values = {}
    for name, field in _RATES.items():
        if name not in before or name not in after:
            continue
        if after[name] < before[name]:
            raise errors.ParseError(f"{name} of /proc/stat went backwards: another boot?")
        values[field] = Value((after[name] - before[name]) / elapsed, "1/s")
    for field, column in (("iowait", _IOWAIT), ("steal", _STEAL)):
        if column < length:
            values[field] = Value(max(0.0, ticks[column] / whole), "1")
    idle = ticks[_IDLE] + (ticks[_IOWAIT] if length > _IOWAIT else 0)
    values["busy"] = Value(min(1.0, max(0.0, 1 - idle / whole)), "1")
    return Reading(values=values, flags=flags)


def _counters(raw: bytes) -> dict[str, int]:
    return {match[1].decode(): int(match[2]) for match in _COUNTER.finditer(raw)}


def _ticks(raw: bytes) -> list[int]:
    match = _CPU.search(raw)
    ticks = [int(word) for word in match[1].split()] if match else []
    if len(ticks) <= _IDLE:
        raise errors.ParseError("no /proc/stat before or after the run")
    return ticks


PARSER = Parser(
    name="proc_stat",
    version=1,
    parse=parse,
    fields={
        "ctxt-per-s": Dimension.RATE,
        "intr-per-s": Dimension.RATE,
        "forks-per-s": Dimension.RATE,
        "busy": Dimension.RATIO,
        "iowait": Dimension.RATIO,
        "steal": Dimension.RATIO,
    },
)
