"""The outcome of a period of a run."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Healed:
    """A fault ended at `at_ms`, when the WAL of Postgres ended at `lsn`."""

    began_ms: float
    at_ms: float
    lsn: int


@dataclass
class Outcome:
    """The outcome of one period. Each of `problems` names the broken invariant."""

    faults: Counter[str] = field(default_factory=Counter)
    transactions: int = 0
    events: int = 0
    duplicates: int = 0
    own_duplicates: int = 0  # the part of `duplicates` caused by the producer: see Check
    statuses: int = 0
    settled_seconds: float = 0.0
    recoveries: list[float] = field(default_factory=list)
    stops: list[float] = field(default_factory=list)
    healed: list[Healed] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)

    def problem(self, invariant: str, text: str) -> None:
        self.problems.append((invariant, text))
