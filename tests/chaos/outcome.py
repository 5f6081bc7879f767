"""What a period of a run has shown."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Healed:
    """A fault was over at `at_ms`, and the log of Postgres ended at `lsn` then."""

    began_ms: float
    at_ms: float
    lsn: int


@dataclass
class Outcome:
    """What a period has shown. `problems` are by invariant."""

    faults: Counter[str] = field(default_factory=Counter)
    transactions: int = 0
    events: int = 0
    duplicates: int = 0
    own_duplicates: int = 0  # of them, the producer's: see Check
    statuses: int = 0
    settled_seconds: float = 0.0
    recoveries: list[float] = field(default_factory=list)
    stops: list[float] = field(default_factory=list)
    healed: list[Healed] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)

    def problem(self, invariant: str, text: str) -> None:
        self.problems.append((invariant, text))
