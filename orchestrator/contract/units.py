"""Units: SI inside, formatted for people on the way out.

``tidy`` brings a value into the base unit of its dimension; ``show`` brings it back into the
unit that a metric is declared in. Decimal prefixes mean powers of ten, binary ones powers of two;
there is no ambiguous ``MB``.
"""

from __future__ import annotations

import math
from enum import StrEnum

from orchestrator.contract import errors


class Dimension(StrEnum):
    """What a value measures; values of two dimensions never meet."""

    TIME = "time"
    BIT_RATE = "bit-rate"
    BYTE_RATE = "byte-rate"
    RATE = "rate"
    SIZE = "size"
    RATIO = "ratio"


#: base unit of each dimension
BASE = {
    Dimension.TIME: "s",
    Dimension.BIT_RATE: "bit/s",
    Dimension.BYTE_RATE: "B/s",
    Dimension.RATE: "1/s",
    Dimension.SIZE: "B",
    Dimension.RATIO: "1",
}

#: unit -> (dimension, factor to the base unit)
UNITS: dict[str, tuple[Dimension, float]] = {
    "ns": (Dimension.TIME, 1e-9),
    "us": (Dimension.TIME, 1e-6),
    "ms": (Dimension.TIME, 1e-3),
    "s": (Dimension.TIME, 1.0),
    "bit/s": (Dimension.BIT_RATE, 1.0),
    "Kbit/s": (Dimension.BIT_RATE, 1e3),
    "Mbit/s": (Dimension.BIT_RATE, 1e6),
    "Gbit/s": (Dimension.BIT_RATE, 1e9),
    "B/s": (Dimension.BYTE_RATE, 1.0),
    "KiB/s": (Dimension.BYTE_RATE, 1024.0),
    "MiB/s": (Dimension.BYTE_RATE, 1024.0**2),
    "1/s": (Dimension.RATE, 1.0),
    "1": (Dimension.RATIO, 1.0),
    "%": (Dimension.RATIO, 0.01),
    "B": (Dimension.SIZE, 1.0),
    "KiB": (Dimension.SIZE, 1024.0),
    "MiB": (Dimension.SIZE, 1024.0**2),
    "GiB": (Dimension.SIZE, 1024.0**3),
}


def dimension(unit: str) -> Dimension:
    """The dimension of a unit.

    Raises: InputError for a unit that is not in the closed list.
    """
    try:
        return UNITS[unit][0]
    except KeyError:
        raise errors.InputError(f"unknown unit {unit!r}; known are: {' '.join(UNITS)}") from None


def tidy(value: float, unit: str) -> float:
    """A value in its base unit.

    Raises: InputError for an unknown unit or a value that is not finite.
    """
    dimension(unit)
    if not math.isfinite(value):
        raise errors.InputError(f"{value} {unit} is not a number that was measured")
    factor = UNITS[unit][1]
    # dividing by an exact reciprocal keeps decimal input exact where multiplying would not
    return value / round(1 / factor) if factor < 1 else value * factor


def show(value: float, unit: str) -> float:
    """A value of the base unit in the given unit."""
    dimension(unit)
    factor = UNITS[unit][1]
    return value * round(1 / factor) if factor < 1 else value / factor
