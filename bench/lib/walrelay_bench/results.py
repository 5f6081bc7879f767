"""The results of a benchmark run, as a file, and the conclusions from them.

A figure of a system is the median over its rounds, with the lowest and the highest value. Each round is a pair, so
ratios are computed per round, with a confidence interval. Two systems differ in a figure if the interval excludes 1.
With fewer than five rounds the interval is not sure; then the ranges of the two systems must not overlap, either.

A round in which something else used the machine does not count, unless all rounds are like that.
"""

import json
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from walrelay_dev.errors import ServerError

from .figures import decisive
from .interval import Interval, interval
from .stages import QUANTILES

REFERENCE = "walrelay"
_CONTROL = "pg_recvlogical"
_NOISY_CONTROL = 1.5    # highest divided by lowest value of a figure that should be constant
_NOISY_MACHINE = 10.0   # percent of all cores used by processes outside the benchmark, or taken by the host
_ENOUGH_ROUNDS = 5      # so that an interval of ratios decides alone: 94 % coverage


@dataclass(frozen=True)
class Spread:
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        return cls(statistics.median(values), min(values), max(values))

    def touches(self, other: "Spread") -> bool:
        return self.low <= other.high and other.low <= self.high


class Results:
    """`data` is the file's JSON: machine, versions, and `runs`, each of one system in one round."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @classmethod
    def load(cls, path: Path) -> "Results":
        return cls(json.loads(path.read_text()))

    def save(self, path: Path) -> None:
        """Replaces the file atomically, so that an interrupted run keeps the completed results."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(self.data) + "\n")
        temporary.rename(path)

    def go_on_from(self, earlier: "Results") -> None:
        """Adopts its successful runs. Rejects results of another machine or another build."""
        for what in ("schema", "commit", "quick", "machine"):
            if earlier.data[what] != self.data[what]:
                raise ServerError(f"cannot resume results of another {what}: expected {self.data[what]}, "
                                  f"got {earlier.data[what]}")
        for what in ("versions", "systems", "titles"):
            self.data[what] = earlier.data[what] | self.data[what]
        self.data["time"] = earlier.data["time"]
        self.data["runs"] = [run for run in earlier.runs if "error" not in run]

    def arrange(self, systems: list[str], workloads: list[str]) -> None:
        """Sorts systems and workloads into this order, independent of the order in which they ran."""
        for what, order in (("systems", systems), ("titles", workloads)):
            self.data[what] = {name: self.data[what][name] for name in order if name in self.data[what]}

    @property
    def runs(self) -> list[dict[str, Any]]:
        return self.data["runs"]

    def workloads(self) -> list[str]:
        """The workloads that have runs."""
        found = {run["workload"] for run in self.runs}
        return [name for name in self.data["titles"] if name in found]

    def rounds(self, workload: str) -> int:
        return max((run["round"] for run in self._successful(workload)), default=0)

    def noisy_rounds(self, workload: str) -> set[int]:
        """The rounds in which something outside the benchmark used the machine."""
        return {run["round"] for run in self._successful(workload)
                if run["figures"].get("foreign_cpu_percent", 0) > _NOISY_MACHINE}

    def counted_rounds(self, workload: str) -> set[int]:
        """The rounds without noise; all of them if none is quiet."""
        every = {run["round"] for run in self._successful(workload)}
        return every - self.noisy_rounds(workload) or every

    def systems(self, workload: str) -> list[str]:
        found = dict.fromkeys(run["system"] for run in self._successful(workload))
        return sorted(found, key=list(self.data["systems"]).index)

    def runs_of(self, workload: str, system: str | None = None) -> list[dict[str, Any]]:
        """The successful runs of the rounds that count."""
        rounds = self.counted_rounds(workload)
        return [run for run in self._successful(workload) if run["round"] in rounds
                and system in (None, run["system"])]

    def _successful(self, workload: str) -> list[dict[str, Any]]:
        return [run for run in self.runs if run["workload"] == workload and "error" not in run]

    def failures(self) -> list[dict[str, Any]]:
        return [run for run in self.runs if "error" in run]

    def spread(self, workload: str, system: str, figure: str) -> Spread | None:
        values = [run["figures"][figure] for run in self.runs_of(workload, system) if figure in run["figures"]]
        return Spread.of(values) if values else None

    def ratio(self, workload: str, system: str, figure: str, reference: str = REFERENCE) -> Interval | None:
        """Ratios to the reference, per round. None if there is no reference, or if it is zero. An interval of noisy
        rounds is not sure, however many there are."""
        divisors = {run["round"]: run["figures"].get(figure) for run in self.runs_of(workload, reference)}
        ratios = [run["figures"][figure] / divisors[run["round"]] for run in self.runs_of(workload, system)
                  if figure in run["figures"] and divisors.get(run["round"])]
        if not ratios:
            return None
        noisy = self.counted_rounds(workload) <= self.noisy_rounds(workload)
        return replace(interval(ratios), coverage=0.0) if noisy else interval(ratios)

    def differ(self, workload: str, system: str, figure: str) -> bool:
        """Whether the rounds show a difference to the reference. A single round shows none."""
        own, other = (self.spread(workload, name, figure) for name in (system, REFERENCE))
        ratio = self.ratio(workload, system, figure)
        rounds = min(len(self.runs_of(workload, system)), len(self.runs_of(workload, REFERENCE)))
        if own is None or other is None or ratio is None or rounds < 2 or ratio.contains(1):
            return False
        return rounds >= _ENOUGH_ROUNDS or not own.touches(other)

    def stages(self, workload: str, system: str) -> dict[str, list[float]]:
        """Quantile → the time of each stage, ms: medians over the rounds. Empty if stages were not recorded."""
        recorded = [run["stages"] for run in self.runs_of(workload, system) if run.get("stages")]
        return {quantile: [statistics.median(parts) for parts in zip(*(each[quantile] for each in recorded))]
                for quantile in QUANTILES if recorded and all(quantile in each for each in recorded)}

    def is_narrow(self, workload: str, percent: float) -> bool:
        """Whether each ratio that decides is known to within `percent` of its value."""
        ratios = [self.ratio(workload, system, figure) for system in self.systems(workload)
                  if system != REFERENCE for figure, _ in decisive(workload)]
        return all(ratio is None or (ratio.is_sure and ratio.high - ratio.low <= 2 * percent / 100 * ratio.median)
                   for ratio in ratios)

    def noise(self, workload: str) -> list[str]:
        """Reasons not to trust the figures of this workload, as sentences; empty if there are none."""
        found = []
        foreign = [run["figures"].get("foreign_cpu_percent", 0) for run in self.runs_of(workload)]
        if foreign and max(foreign) > _NOISY_MACHINE:  # no round was quiet
            found.append(f"Other processes or the host used up to {max(foreign):.0f} % of all cores.")
        for system, figure in ((_CONTROL, "events_per_s"), (REFERENCE, "commit_p50")):
            control = self.spread(workload, system, figure)
            if control is not None and control.high > control.low * _NOISY_CONTROL:
                found.append(f"The control, {figure} of {system}, varied from {control.low:.3g} to {control.high:.3g} "
                             "over the rounds; it should be constant.")
        return found
