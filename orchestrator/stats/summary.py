"""The summary of a series under one kernel: mean, spread, range and an interval of the mean."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from orchestrator.contract import errors
from orchestrator.contract.domain import Note

#: each run counts once; t interval of the mean
OF_RUNS: Final = "mean-of-runs/t95@1"
#: each boot counts once, whatever its number of runs; t interval of the mean of boot means
OF_BOOTS: Final = "mean-of-boots/t95@1"

#: runs, or boots, that an interval is made from: of two it is wider than anything that it tells
FEWEST: Final = 3

NO_SPREAD: Final = Note(
    code="no-spread",
    text="all repeats read the same value: the spread is below what the tool can show",
)
SOME_BOOTS_UNKNOWN: Final = Note(
    code="boots-unknown",
    text="the boot of some runs is unknown: every run counts as one",
)
BOOT_IS_UNIT: Final = Note(
    code="boot-is-unit",
    text="mean, sd and interval are of the boots, each counted once; min and max are of the runs",
)


class CiScope(StrEnum):
    """What an interval of the mean speaks of."""

    WITHIN = "within this boot"
    BETWEEN = "between boots"
    UNKNOWN = "boots unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Count, mean, sum of squared deviations and range; two of them merge into one."""

    n: int
    mean: float
    m2: float
    minimum: float
    maximum: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Moments:
        """The moments of values, the same in whatever order they come.

        Raises: ParseError where there is no value, or one that is not finite.
        """
        # fsum rounds once, so that the order of the values cannot show
        taken = sorted(values)
        if not taken or not all(map(math.isfinite, taken)):
            raise errors.ParseError("moments need at least one value, and finite ones")
        mean = math.fsum(taken) / len(taken)
        m2 = math.fsum((value - mean) ** 2 for value in taken)
        return cls(n=len(taken), mean=mean, m2=m2, minimum=taken[0], maximum=taken[-1])

    def merge(self, other: Moments) -> Moments:
        """The moments of both sets of values together (Chan)."""
        n = self.n + other.n
        delta = other.mean - self.mean
        return Moments(
            n=n,
            mean=self.mean + delta * other.n / n,
            m2=self.m2 + other.m2 + delta * delta * self.n * other.n / n,
            minimum=min(self.minimum, other.minimum),
            maximum=max(self.maximum, other.maximum),
        )

    @property
    def sd(self) -> float | None:
        """The standard deviation of a sample (n - 1); None for a single value."""
        return math.sqrt(self.m2 / (self.n - 1)) if self.n > 1 else None

    @property
    def ci95(self) -> tuple[float, float] | None:
        """The 95 % t interval of the mean; None for a single value."""
        if self.sd is None:
            return None
        # half a second to import, and most processes that keep moments never ask for this
        from scipy.special import stdtrit

        half = float(stdtrit(self.n - 1, 0.975)) * self.sd / math.sqrt(self.n)
        return self.mean - half, self.mean + half


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What is said of one metric on one host under one kernel.

    Units: those of the values. ``n_boots``: None where any boot is unknown. ``ci95``: None for
    fewer than FEWEST runs, or boots where the boot is the unit.
    """

    n_runs: int
    n_boots: int | None
    mean: float
    sd: float | None
    minimum: float
    maximum: float
    median: float
    ci95: tuple[float, float] | None
    ci_scope: CiScope
    method: str
    notes: tuple[Note, ...] = ()


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones."""
    taken = sorted(values)
    half = len(taken) // 2
    return taken[half] if len(taken) % 2 else math.fsum(taken[half - 1 : half + 1]) / 2


def summarise(runs: Sequence[tuple[float, str | None]]) -> Summary:
    """The summary of (value, boot) of each run; with several boots the boot is the unit.

    Raises: ParseError where there is no run, or a value that is not finite.
    """
    values = [value for value, _ in runs]
    over_runs = Moments.of(values)
    by_boot: dict[str | None, list[float]] = defaultdict(list)
    for value, boot in runs:
        by_boot[boot].append(value)
    known = None not in by_boot
    several = known and len(by_boot) > 1
    units = [Moments.of(of_boot).mean for of_boot in by_boot.values()] if several else values
    moments = Moments.of(units)
    notes = []
    if not known and len(by_boot) > 1:
        notes.append(SOME_BOOTS_UNKNOWN)
    if several and len(units) < len(values):
        notes.append(BOOT_IS_UNIT)
    if over_runs.n > 1 and over_runs.minimum == over_runs.maximum:
        notes.append(NO_SPREAD)
    return Summary(
        n_runs=over_runs.n,
        n_boots=len(by_boot) if known else None,
        mean=moments.mean,
        sd=moments.sd,
        minimum=over_runs.minimum,
        maximum=over_runs.maximum,
        median=median(units),
        ci95=moments.ci95 if moments.n >= FEWEST else None,
        ci_scope=_scope(known=known, several=several),
        method=OF_BOOTS if several else OF_RUNS,
        notes=tuple(notes),
    )


def _scope(*, known: bool, several: bool) -> CiScope:
    if not known:
        return CiScope.UNKNOWN
    return CiScope.BETWEEN if several else CiScope.WITHIN
