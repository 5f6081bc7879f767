"""The report of a run, as text and as JSON."""

import json
import platform
import statistics
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from mode import Mode
from outcome import Outcome
from supervisor import Supervisor
from walrelay_dev.paths import REPOSITORY
from walrelay_dev.versions import KAFKA_VERSION
from walrelay_test.relay_config import relay_program

_INVARIANTS = ["I1 no loss", "I2 no phantom", "I3 order", "I5 confirm safety", "I6 confirm sanity",
               "I7 duplicates", "I8 content", "I9 memory", "I10 progress", "I11 shutdown", "I12 secrets",
               "supervision"]
_INVARIANTS_OF_PRUNING = ["I20 proof"]
_INVARIANTS_OF_ONCE = ["EO1 once", "EO5 open transaction"]
_SHOWN = 10


class Report:
    """Aggregates the periods of a run."""

    def __init__(self, *, mode: Mode, judge: Mode, pruning: bool, seed: int, what: str, commit: str | None) -> None:
        self.outcomes: list[Outcome] = []
        self.problems: list[tuple[str, str]] = []
        self._judge = judge
        self._pruning = pruning
        name = mode.name if mode is judge else f"{mode.name}, judged as {judge.name}"
        self._head = {"mode": name, "seed": seed, "run": what, "commit": commit or _commit(), **_versions()}

    def add(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.problems += outcome.problems

    def summary(self, supervisor: Supervisor, seconds: float) -> dict[str, Any]:
        faults = self._counter("faults")
        recoveries = sorted(each for outcome in self.outcomes for each in outcome.recoveries)
        stops = [each for outcome in self.outcomes for each in outcome.stops]
        return {
            **self._head,
            "minutes": round(seconds / 60, 1),
            "periods": len(self.outcomes),
            "transactions": self._sum("transactions"),
            "events": self._sum("events"),
            "duplicates": self._sum("duplicates"),
            "duplicates_by_the_producer": self._sum("own_duplicates"),
            "duplicates_by_fault": dict(self._counter("duplicates_by_fault").most_common()),
            "duplicates_per_kill": _percentiles(sorted(
                each for outcome in self.outcomes for each in outcome.duplicates_per_kill)),
            "aborted_records": self._sum("aborted"),
            **({"pruned_rows": self._sum("pruned"), "pruned_early": self._sum("pruned_early")}
               if self._pruning else {}),
            "status_updates": self._sum("statuses"),
            "faults": faults.total(),
            "faults_by_kind": dict(faults.most_common()),
            "relay_sigkills": len(supervisor.kills),
            "relay_exits": {str(code): count for code, count in sorted(supervisor.exits.items())},
            "max_rss_mib": round(supervisor.peak_mb, 1),
            "recovery_seconds": _percentiles(recoveries),
            "longest_fast_stop_seconds": round(max(stops, default=0.0), 2),
            "invariants": self._invariants(),
            "problems": [f"{invariant}: {text}" for invariant, text in self.problems],
            "passed": not self.problems,
        }

    def _sum(self, name: str) -> int:
        return sum(getattr(outcome, name) for outcome in self.outcomes)

    def _counter(self, name: str) -> Counter[str]:
        return sum((getattr(outcome, name) for outcome in self.outcomes), Counter())

    def _invariants(self) -> dict[str, str]:
        broken = Counter(invariant for invariant, _ in self.problems)
        names = [*_INVARIANTS, *(_INVARIANTS_OF_PRUNING if self._pruning else []),
                 *(_INVARIANTS_OF_ONCE if self._judge.once else [])]
        return {name: f"BROKEN {broken[name]} times" if broken[name] else "held" for name in names}


def to_text(summary: dict[str, Any]) -> str:
    lines = []
    for name, value in summary.items():
        if name in ("problems", "passed"):
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{key} {each}" for key, each in value.items()) or "none"
        lines.append(f"{name.replace('_', ' '):<26} {value}")
    shown = [f"  {problem}" for problem in summary["problems"][:_SHOWN]]
    verdict = "every invariant held" if summary["passed"] else "AN INVARIANT WAS BROKEN"
    return "\n".join([*lines, *shown, verdict])


def write_json(summary: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(summary, indent=1) + "\n")


def _percentiles(values: list[float]) -> dict[str, float | int]:
    if not values:
        return {"count": 0}
    at = statistics.quantiles(values, n=100, method="inclusive") if len(values) > 1 else values * 99
    return {"count": len(values), "p50": round(at[49], 2), "p99": round(at[98], 2),
            "max": round(values[-1], 2)}


def _versions() -> dict[str, str]:
    printed = subprocess.run([relay_program(), "version"], capture_output=True, text=True, check=True)
    return {"versions": "; ".join(" ".join(line.split()) for line in printed.stdout.splitlines())
            + f"; Kafka {KAFKA_VERSION}; Linux {platform.release()}"}


def _commit() -> str:
    git = ["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty", "--abbrev=10"]
    run = subprocess.run(git, capture_output=True, text=True)
    return run.stdout.strip() or "unknown"
