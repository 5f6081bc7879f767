"""What all workloads have in common: how a system is put to work, waited for, and what a run leaves."""

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from walrelay_dev.errors import ServerError

from .stage import SLOT, Stage
from .system import System, Work

_LOOK = 0.2  # seconds; exact times come from the broker
_FIRST_EVENT = 120.0
LONG = 1800.0


@dataclass
class Outcome:
    """Of one run of one system. All of it goes into the results as it stands."""

    figures: dict[str, float]
    series: dict[str, list[Any]] = field(default_factory=dict)   # over time
    curves: dict[str, list[Any]] = field(default_factory=dict)   # of a latency: [[part, ms], …]


class Workload(ABC):
    """One kind of work at one size. `setup` comes once, then a run for each system and round."""

    kind: str                        # as System.workloads has it
    name: str
    title: str
    most_rounds: int | None = None   # where more would only take time
    fewest_rounds = 1
    warms_up = False                 # a run comes first that does not count

    @property
    @abstractmethod
    def seconds(self) -> float:
        """About how long a run takes; for the time left, until one was seen."""

    def setup(self, stage: Stage) -> None:
        """Before the first run."""

    @abstractmethod
    def run(self, stage: Stage, system: System) -> Outcome:
        """One run, which leaves nothing behind."""

    def teardown(self, stage: Stage) -> None:
        """After the last run."""
        stage.drop_slot("base")
        stage.sql("TRUNCATE outbox")

    def takes(self, system: type[System]) -> bool:
        return system.workloads is None or not {self.kind, self.name}.isdisjoint(system.workloads)


@contextlib.contextmanager
def prepared(stage: Stage, system: System, work: Work, topic: dict[str, str | int] | None = None) -> Iterator[None]:
    """An empty topic, a slot (a copy of `base` where events wait, else at the end of the log), and in the end none."""
    stage.fresh_topic(topic)
    system.prepare(work)
    if system.plugin is not None and work.events:
        stage.copy_slot("base", SLOT, system.plugin)
    elif system.plugin is not None:
        stage.drop_slot(SLOT)
        stage.create_slot(SLOT, system.plugin)
    try:
        yield
    finally:
        system.stop()
        stage.drop_slot(SLOT)


@contextlib.contextmanager
def at_work(stage: Stage, system: System, work: Work) -> Iterator[None]:
    """`prepared`, started, and seen to have relayed one event."""
    with prepared(stage, system, work):
        system.start(work)
        wait_for(system, _one_event_arrives(stage, system), _FIRST_EVENT, "the first event")
        yield
        stage.sql("TRUNCATE outbox")


def _one_event_arrives(stage: Stage, system: System) -> Callable[[], bool]:
    """Writes another one every second, for one that holds back the last (kcat)."""
    begun, written = time.monotonic(), 0

    def arrived() -> bool:
        nonlocal written
        if time.monotonic() >= begun + written:
            stage.insert_one(system.table)
            written += 1
        return stage.records() >= 1
    return arrived


def wait_for(system: System, done: Callable[[], bool], seconds: float, what: str) -> None:
    """Raises when the system has failed, or the time is over."""
    deadline = time.monotonic() + seconds
    while not done():
        if (failure := system.failure()) is not None:
            raise ServerError(failure)
        if time.monotonic() > deadline:
            raise ServerError(f"{system.name}: waited {seconds:g} s in vain for {what}")
        time.sleep(_LOOK)


def latencies(seen: dict[str, Any]) -> dict[str, float]:
    """Percentiles of what the load saw, in ms: append_p50, consumer_p999, commit_p50 …"""
    return {f"{name}_{part}": seen[name][part] for name in ("append", "consumer", "commit") if seen[name]
            for part in ("p50", "p90", "p99", "p999", "max")}


def verdict(seen: dict[str, Any]) -> dict[str, float]:
    return {name: seen[name] for name in ("lost", "duplicated", "disordered")}
