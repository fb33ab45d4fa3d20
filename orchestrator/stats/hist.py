"""Percentiles of samples and of sparse integer histograms, by exact rank; merging is exact.

Two layouts, both of whole nanoseconds. ``linear-1us``: bucket i holds [i, i + 1) us and stands
for i us, as the tools that print such buckets cut their values. ``hdr3-ns``: log-linear with
three significant digits (2048 sub-buckets); a bucket stands for the highest value it holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from orchestrator.contract import errors
from orchestrator.contract.domain import Histogram

LINEAR_1US: Final = "linear-1us"
HDR3_NS: Final = "hdr3-ns"
LAYOUTS: Final = (LINEAR_1US, HDR3_NS)

#: the percentiles that a table shows; text, because 0.999 is not a binary number
SHOWN: Final = ("0.5", "0.99", "0.999")
#: a percentile with fewer samples than this above it is not shown
SAMPLES_ABOVE: Final = 10

_US: Final = 1000
_SUB_BITS: Final = 11
_HALF: Final = 1 << (_SUB_BITS - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentile:
    """The value at one rank. Units: ns.

    ``value`` is None where the rank lies among values that were only counted: then the value is
    at least ``censored_at``.
    """

    p: str
    n: int
    rank: int
    value: int | None
    censored_at: int | None = None

    @property
    def attainable(self) -> bool:
        """Whether n reaches this percentile."""
        return attainable(self.n, self.p)


def rank(n: int, p: str) -> int:
    """The rank of percentile p among n values: ceil(p n), exact."""
    if n < 1:
        raise errors.ParseError("a percentile needs at least one sample")
    share = Fraction(p)
    return max(1, -(-share.numerator * n // share.denominator))


def name(p: str) -> str:
    """What a percentile is called: 0.999 is ``p99_9``."""
    percent = Fraction(p) * 100
    whole, rest = divmod(percent, 1)
    return f"p{whole}" if not rest else f"p{float(percent)}".replace(".", "_")


def attainable(n: int, p: str) -> bool:
    """Whether at least ten samples are expected above percentile p of n."""
    return n * (1 - Fraction(p)) >= SAMPLES_ABOVE


def ci_ranks(n: int, p: str) -> tuple[int | None, int | None]:
    """The ranks between which percentile p lies with 95 %, samples being independent.

    None where no such rank exists at this n: the limit is beyond the least or largest sample.
    """
    # imported late for the same reason as in summary: it is slow, and few processes need it
    from scipy.special import bdtr, bdtrc

    share = float(Fraction(p))
    # both tests are monotone in the rank
    below = _last(n, lambda r: bool(bdtr(r - 1, n, share) <= 0.025))
    not_above = _last(n, lambda r: bool(bdtrc(r - 1, n, share) > 0.025))
    return below or None, not_above + 1 if not_above < n else None


def index(layout: str, value: int) -> int:
    """The bucket that a value of ns falls into.

    Raises: ParseError for a negative value or an unknown layout.
    """
    if value < 0:
        raise errors.ParseError(f"a histogram has no bucket for {value} ns")
    if _checked(layout) == LINEAR_1US:
        return value // _US
    shift = max(0, value.bit_length() - _SUB_BITS)
    return shift * _HALF + (value >> shift)


def bounds(layout: str, bucket: int) -> tuple[int, int]:
    """The least and the largest value, in ns, that a bucket holds."""
    if _checked(layout) == LINEAR_1US:
        return bucket * _US, bucket * _US + _US - 1
    shift = max(0, bucket // _HALF - 1)
    low = (bucket - shift * _HALF) << shift
    return low, low + (1 << shift) - 1


def from_samples(metric: str, layout: str, samples: Sequence[int]) -> Histogram:
    """The histogram of samples in ns, without overflow.

    Raises: ParseError where there is no sample, a negative one or an unknown layout.
    """
    if not samples:
        raise errors.ParseError("a histogram needs at least one sample")
    counts = Counter(index(layout, sample) for sample in samples)
    return Histogram(
        metric=metric,
        layout=layout,
        counts=tuple(sorted(counts.items())),
        n=len(samples),
        minimum=min(samples),
        maximum=max(samples),
        total=sum(samples),
        total_squares=sum(sample * sample for sample in samples),
    )


def merge(one: Histogram, other: Histogram) -> Histogram:
    """The histogram of both sets of samples.

    Where one of them overflows, the other's counts over that limit are overflow too.

    Raises: ParseError for two layouts or two metrics.
    """
    if (one.layout, one.metric) != (other.layout, other.metric):
        raise errors.ParseError(
            f"{one.metric} in {one.layout} and {other.metric} in {other.layout} do not merge"
        )
    limits = [limit for limit in (_limit(one), _limit(other)) if limit is not None]
    limit = min(limits) if limits else None
    counts: Counter[int] = Counter(dict(one.counts))
    counts.update(dict(other.counts))
    kept, over = _cut(one.layout, counts, limit)
    return Histogram(
        metric=one.metric,
        layout=one.layout,
        counts=tuple(sorted(kept.items())),
        n=one.n + other.n,
        minimum=min(one.minimum, other.minimum),
        maximum=max(one.maximum, other.maximum),
        total=one.total + other.total,
        total_squares=one.total_squares + other.total_squares,
        overflow=one.overflow + other.overflow + over,
        limit=limit,
    )


def percentile(histogram: Histogram, p: str) -> Percentile:
    """Percentile p of a histogram; never the last bucket for a rank in the overflow."""
    wanted = rank(histogram.n, p)
    seen = 0
    for bucket, count in histogram.counts:
        seen += count
        if seen >= wanted:
            low, high = bounds(histogram.layout, bucket)
            value = low if histogram.layout == LINEAR_1US else high
            return Percentile(p=p, n=histogram.n, rank=wanted, value=value)
    return Percentile(p=p, n=histogram.n, rank=wanted, value=None, censored_at=_limit(histogram))


def percentile_of(ordered: Sequence[int], p: str) -> Percentile:
    """Percentile p of samples in ns that are sorted already."""
    wanted = rank(len(ordered), p)
    return Percentile(p=p, n=len(ordered), rank=wanted, value=ordered[wanted - 1])


def _checked(layout: str) -> str:
    if layout not in LAYOUTS:
        raise errors.ParseError(f"unknown histogram layout {layout!r}; known are: {LAYOUTS}")
    return layout


def _limit(histogram: Histogram) -> int | None:
    """Where the overflow begins, by what is known; None where there is no overflow."""
    if not histogram.overflow:
        return None
    if histogram.limit is not None:
        return histogram.limit
    if not histogram.counts:
        return 0
    return bounds(histogram.layout, histogram.counts[-1][0])[1] + 1


def _cut(
    layout: str, counts: Mapping[int, int], limit: int | None
) -> tuple[Mapping[int, int], int]:
    """The buckets that lie wholly below the limit, and the count of the others."""
    if limit is None:
        return counts, 0
    kept = {bucket: count for bucket, count in counts.items() if bounds(layout, bucket)[1] < limit}
    return kept, sum(counts.values()) - sum(kept.values())


def _last(n: int, holds: Callable[[int], bool]) -> int:
    """The largest rank of 1..n for which a test holds that ends to hold once; 0 for none."""
    low, high = 0, n
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low
