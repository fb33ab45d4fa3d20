"""What every parser is: a pure, versioned function from captured bytes to readings.

A parser neither computes statistics over runs, nor logs, sleeps or connects. What it cannot
believe it refuses with ParseError; it never makes up a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from orchestrator.contract.units import Dimension


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What one step, or one monitor, left behind."""

    #: standard output of the step, or the file that the metric names
    out: bytes = b""
    err: bytes = b""
    rc: int | None = None
    #: the words that were executed, where they are known
    command: tuple[str, ...] = ()
    #: monitors: the files before and after
    before: bytes = b""
    after: bytes = b""
    #: seconds between before and after, or of the step
    elapsed_s: float | None = None
    #: random word that framed output must carry
    nonce: str = ""
    #: the lab's wall clock when the step ended (seconds of the epoch), where it is known
    wall_s: float | None = None
    #: ``regex`` only: what the metric declares
    pattern: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """A number with the unit in which the parser delivers it (a name of ``units.UNITS``)."""

    value: float
    unit: str
    #: number of samples behind it, where it is a statistic of samples
    samples: int | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """A detail below the headline: an interval, a stream, a thread."""

    name: str
    value: Value
    scope: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a parser believes of one capture."""

    values: Mapping[str, Value]
    points: tuple[Point, ...] = ()
    #: raw samples in ns, in the order they were taken; statistics come from them
    samples: tuple[int, ...] | None = None
    #: properties that a reader of the number should know, as snake_case words
    flags: tuple[str, ...] = ()
    #: usable, but shorter or less complete than what was asked for
    partial: bool = False
    #: properties of the method that two comparable numbers must share
    method: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parser:
    """A registered parser. ``fields`` declares the dimension of each value it may deliver.

    A dimension of None means that the metric declares it (``Capture.unit``).
    """

    name: str
    version: int
    parse: Callable[[Capture], Reading]
    fields: Mapping[str, Dimension | None]
    #: parsers that take a pattern: what is wrong with one, in a sentence; empty if nothing is
    pattern_trouble: Callable[[str], str] = lambda _: ""

    @property
    def ident(self) -> str:
        """``name@version``, as playbooks write it."""
        return f"{self.name}@{self.version}"
