"""Confidence intervals for the median of a few measurements.

The interval lies between two of the sorted values. Its coverage follows from the binomial distribution alone: each
value is below the median with a probability of one half. So it holds for any distribution, also for the long tails of a
latency, and for as few rounds as a benchmark has; a bootstrap of five values is too narrow. See
docs/decisions/0024-confidence-intervals-of-a-benchmark.md.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
FEWEST_ROUNDS = 6  # with fewer values, not even the whole range has this coverage


@dataclass(frozen=True)
class Interval:
    median: float
    low: float
    high: float
    coverage: float  # probability that the true median is between low and high; 0: not known

    @property
    def is_sure(self) -> bool:
        return self.coverage >= CONFIDENCE

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high


def interval(values: Sequence[float]) -> Interval:
    """The narrowest symmetric interval with this confidence, or else the whole range. Requires at least one value."""
    ordered = sorted(values)
    outside = 0  # values left out at each end
    while outside + 1 <= (len(ordered) - 1) // 2 and _coverage(len(ordered), outside + 1) >= CONFIDENCE:
        outside += 1
    return Interval(statistics.median(ordered), ordered[outside], ordered[-1 - outside],
                    _coverage(len(ordered), outside))


def _coverage(count: int, outside: int) -> float:
    """Probability that the median is between the values number outside + 1 and count - outside of `count` values."""
    return 1 - 2 * sum(math.comb(count, below) for below in range(outside + 1)) / 2 ** count
