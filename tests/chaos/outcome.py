"""The outcome of a period of a run."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Injected:
    """A fault that began and ended."""

    name: str
    began_ms: float
    ended_ms: float


@dataclass
class Outcome:
    """The outcome of one period. Each of `problems` names the broken invariant."""

    faults: Counter[str] = field(default_factory=Counter)
    transactions: int = 0
    events: int = 0
    duplicates: int = 0
    own_duplicates: int = 0  # the part of `duplicates` caused by the producer: see Check
    aborted: int = 0  # records that only readers of uncommitted records see
    duplicates_by_fault: Counter[str] = field(default_factory=Counter)
    duplicates_per_kill: list[int] = field(default_factory=list)  # of each SIGKILL without other faults
    pruned: int = 0  # rows
    pruned_early: int = 0  # of them, those that Kafka did not have, or that were too young
    statuses: int = 0
    settled_seconds: float = 0.0
    recoveries: list[float] = field(default_factory=list)
    stops: list[float] = field(default_factory=list)
    injected: list[Injected] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)

    def problem(self, invariant: str, text: str) -> None:
        self.problems.append((invariant, text))
