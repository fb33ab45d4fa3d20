"""Captured outputs with what a parser must read, and must not read, in them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.contract import units
from orchestrator.parsers.base import Capture, Point, Reading

FOLDER = Path(__file__).parents[1] / "data" / "outputs"

UNITS = {
    "bits_per_second": "bit/s",
    "bytes": "B",
    "seconds": "s",
    "microseconds": "us",
    "count": "1",
    "ratio": "1",
    "per_second": "1/s",
}
#: parsers say these; a scope of the sample may have more
SCOPE = ("kind", "stream", "start_s", "end_s", "role", "direction", "run")
HEADLINE = {"throughput": "sum-bandwidth", "transfer": "sum-transfer", "duration": "sum-seconds"}


@dataclass(frozen=True)
class Sample:
    """One sample: the capture, and the expectation."""

    name: str
    tool: str
    capture: Capture
    expect: Mapping[str, Any]


def load(name: str) -> Sample:
    """The sample of that name."""
    described = json.loads((FOLDER / f"{name}.expected.json").read_text())
    raw = {stream: (FOLDER / file).read_bytes() for stream, file in described["files"].items()}
    command = described["command"]
    return Sample(
        name=name,
        tool=described["tool"],
        capture=Capture(
            out=raw.get("stdout", raw.get("stdout+stderr", b"")),
            err=raw.get("stderr", b""),
            rc=described["exit_status"],
            command=tuple(shlex.split(command)) if command else (),
        ),
        expect=described["expect"],
    )


def names(*prefixes: str) -> list[str]:
    """The names of all samples that begin so."""
    found = sorted(path.name.split(".expected")[0] for path in FOLDER.glob("*.expected.json"))
    return [name for name in found if name.startswith(prefixes)]


def is_near(value: float, wanted: Mapping[str, Any]) -> bool:
    """Whether a value in a base unit is the wanted one, within its last printed digit."""
    unit = UNITS[wanted["unit"]]
    target = units.tidy(float(wanted["value"]), unit)
    resolution = units.tidy(float(wanted.get("resolution") or 0), unit)
    return abs(value - target) <= max(resolution / 2, 1e-9 * abs(target))


def missing(reading: Reading, expect: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The expected metrics that a reading lacks."""
    return [wanted for wanted in expect["metrics"] if not _has(reading, wanted)]


def _has(reading: Reading, wanted: Mapping[str, Any]) -> bool:
    if wanted["unit"] == "name":
        return wanted["value"] in reading.method.values()
    return any(_matches(point, wanted) for point in reading.points)


def _matches(point: Point, wanted: Mapping[str, Any]) -> bool:
    base = units.tidy(point.value.value, point.value.unit)
    if point.name != wanted["name"] or not is_near(base, wanted):
        return False
    asked = wanted.get("scope") or {}
    kind = asked.get("kind", "total")
    return point.scope.get("kind", "total") == kind and all(
        _equal(point.scope[key], asked[key]) for key in SCOPE if key in asked and key in point.scope
    )


def _equal(found: object, wanted: object) -> bool:
    if isinstance(found, float) and isinstance(wanted, float | int):
        return abs(found - wanted) < 1e-6
    return found == wanted


def forbidden(reading: Reading, expect: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The wrong answers that a reading gives for the run as a whole."""
    return [wrong for wrong in expect["must_not_report"] if _claims(reading, wrong)]


def _claims(reading: Reading, wrong: Mapping[str, Any]) -> bool:
    headline = reading.values.get(HEADLINE.get(wrong["name"], ""))
    if headline is not None and is_near(headline.value, wrong):
        return True
    if wrong["name"] in HEADLINE:
        return False
    return any(_matches(point, wrong) for point in reading.points)
