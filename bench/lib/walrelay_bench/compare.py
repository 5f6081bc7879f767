"""Conclusions from a comparison of two builds: slower, not slower, or inconclusive."""

from dataclasses import dataclass

from .figures import FIGURES, decisive
from .interval import Interval
from .results import Results

BASE, NEW = "walrelay-other", "walrelay"
_LABELS = dict(FIGURES)


@dataclass(frozen=True)
class Conclusion:
    workload: str
    figure: str
    slowdown: Interval  # how many times the base's time or cost the new build needs; 1: as much
    limit: float

    @property
    def verdict(self) -> str:
        if self.slowdown.is_sure and self.slowdown.high <= self.limit:
            return "not slower"
        if self.slowdown.is_sure and self.slowdown.low > self.limit:
            return "SLOWER"
        return "inconclusive"

    def __str__(self) -> str:
        ratio = self.slowdown
        return (f"{self.verdict:<12}  {self.workload:<14} {_LABELS[self.figure]:<40} "
                f"{ratio.median:.3f} ×  [{ratio.low:.3f}–{ratio.high:.3f}], {100 * ratio.coverage:.1f} %")


def conclusions(results: Results, limit: float) -> list[Conclusion]:
    """One per workload and figure that decides. `limit`: the largest accepted slowdown, for example 1.05."""
    found = []
    for workload in results.workloads():
        for figure, more_is_better in decisive(workload):
            ratio = (results.ratio(workload, BASE, figure, reference=NEW) if more_is_better
                     else results.ratio(workload, NEW, figure, reference=BASE))
            if ratio is not None:
                found.append(Conclusion(workload, figure, ratio, limit))
    return found


def is_decided(results: Results, workload: str, limit: float) -> bool:
    return all(each.verdict != "inconclusive" for each in conclusions(results, limit) if each.workload == workload)
