"""A fault, and the context in which it runs."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from supervisor import Supervisor
from system import System
from walrelay_test.workload import Workload

LONGEST_SECONDS = 120.0  # deadline for any expected condition on a busy machine


@dataclass
class Context:
    """The inputs of a fault: a random generator derived from the seed, and a duration."""

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
        self.system.fault_log.note(f"  {text}")


@dataclass(frozen=True)
class Fault:
    """Two faults may overlap unless they touch the same component.

    It lasts from `shortest` to `longest` seconds, and healing takes about `healing` seconds more.
    """

    name: str
    weight: int
    touches: frozenset[str]
    shortest: float
    longest: float
    inject: Callable[[Context], None]
    healing: float
    nodes: int  # minimum number of Kafka nodes
    transactions: bool  # only if the relay publishes in Kafka transactions
    pruning: bool  # only if the relay prunes
