"""The schedule of faults, determined only by the seed."""

import random
from dataclasses import dataclass

from faults import FAULTS, Fault

_APART = (3.0, 12.0)  # seconds between the starts of faults
_MOST_AT_ONCE = 2


@dataclass(frozen=True)
class Planned:
    """A fault that starts `at` seconds after the start of its period."""

    number: int
    at: float
    seconds: float
    fault: Fault

    @property
    def end(self) -> float:
        return self.at + self.seconds + self.fault.healing

    def __str__(self) -> str:
        lasting = f", {self.seconds:.1f} s" if self.seconds else ""
        return f"#{self.number} {self.fault.name}{lasting}"


def plan(seed: str, seconds: float, *, nodes: int, transactions: bool, pruning: bool) -> list[Planned]:
    """The faults of a period of `seconds`, in order; none of them ends much later than the period.

    At most two overlap, and never two that touch the same component. Some take longer to heal than planned
    (such as a slow broker start): then the faults that may not overlap with them start later.
    """
    chance = random.Random(seed)
    possible = [fault for fault in FAULTS
                if fault.nodes <= nodes and (transactions or not fault.transactions) and (pruning or not fault.pruning)]
    planned: list[Planned] = []
    at = chance.uniform(*_APART) / 2
    while at < seconds:
        under_way = [each for each in planned if each.end > at]
        if len(under_way) >= _MOST_AT_ONCE:
            at = min(each.end for each in under_way)
            continue
        touched = frozenset().union(*(each.fault.touches for each in under_way))
        candidates = [fault for fault in possible if not fault.touches & touched]
        (fault,) = chance.choices(candidates, [fault.weight for fault in candidates])
        longest = max(fault.shortest, min(fault.longest, seconds - at))
        planned.append(Planned(len(planned) + 1, at, chance.uniform(fault.shortest, longest), fault))
        at += chance.uniform(*_APART)
    return planned
