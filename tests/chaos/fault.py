"""What a fault is, and what it is given to work with."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from supervisor import Supervisor
from system import System
from workload import Workload

LONGEST_SECONDS = 120.0  # for whatever must happen at some time on a busy machine


@dataclass
class Context:
    """What a fault needs: its own chance, drawn from the seed, and how long it is to last."""

    system: System
    workload: Workload
    chance: random.Random
    seconds: float
    stops: list[float] = field(default_factory=list)  # how long each fast stop of Postgres took

    @property
    def supervisor(self) -> Supervisor:
        return self.system.supervisor

    def last(self) -> None:
        time.sleep(self.seconds)

    def note(self, text: str) -> None:
        self.system.journal.note(f"  {text}")


@dataclass(frozen=True)
class Fault:
    """Two faults may overlap unless they touch the same thing.

    It lasts from `shortest` to `longest` seconds, and about `healing` more.
    """

    name: str
    weight: int
    touches: frozenset[str]
    shortest: float
    longest: float
    inflict: Callable[[Context], None]
    healing: float
    nodes: int  # of Kafka, at least
