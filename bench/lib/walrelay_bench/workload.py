"""Common parts of all workloads: how to start a system, wait for it, and store the outcome of a run."""

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from walrelay_dev.errors import ServerError

from .environment import SLOT, Environment
from .system import System, Work

_LOOK = 0.2  # seconds between two polls; exact times come from the broker
_FIRST_EVENT = 120.0
LONG = 1800.0


@dataclass
class Outcome:
    """The outcome of one run of one system. Stored in the results unchanged."""

    figures: dict[str, float]
    series: dict[str, list[Any]] = field(default_factory=dict)   # over time
    curves: dict[str, list[Any]] = field(default_factory=dict)   # of latencies: [[fraction, ms], …]
    stages: dict[str, Any] = field(default_factory=dict)         # as returned by stages.attribute()


class Workload(ABC):
    """One kind of work at one size. `setup` is called once, then `run` for each system and round."""

    kind: str                        # as used in System.workloads
    name: str
    title: str
    most_rounds: int | None = None   # limit for workloads in which more rounds add no information
    fewest_rounds = 1
    warms_up = False                 # whether a warm-up run precedes the first workload of this kind

    @property
    @abstractmethod
    def seconds(self) -> float:
        """Estimated duration of a run, used for the time left until a run has been timed."""

    def setup(self, environment: Environment) -> None:
        """Called before the first run."""

    @abstractmethod
    def run(self, environment: Environment, system: System) -> Outcome:
        """One run. It removes everything that it creates."""

    def teardown(self, environment: Environment) -> None:
        """Called after the last run."""
        environment.drop_slot("base")
        environment.sql("TRUNCATE outbox")

    def takes(self, system: type[System]) -> bool:
        return system.workloads is None or not {self.kind, self.name}.isdisjoint(system.workloads)


@contextlib.contextmanager
def prepared(environment: Environment, system: System, work: Work,
             topic: dict[str, str | int] | None = None) -> Iterator[None]:
    """Creates an empty topic and a slot; drops the slot at the end.

    The slot is a copy of `base` if there is a backlog; otherwise it begins at the end of the WAL.
    """
    environment.fresh_topic(topic, partitions=system.partitions, transactions=system.transactions)
    system.prepare(work)
    if system.plugin is not None and work.events:
        environment.copy_slot("base", SLOT, system.plugin)
    elif system.plugin is not None:
        environment.drop_slot(SLOT)
        environment.create_slot(SLOT, system.plugin)
    try:
        system.adopt_slot()
        yield
    finally:
        system.stop()
        system.drop_slots()


@contextlib.contextmanager
def running(environment: Environment, system: System, work: Work) -> Iterator[None]:
    """`prepared`, then starts the system and waits until it has relayed one event."""
    with prepared(environment, system, work):
        system.start(work)
        wait_for(system, _one_event_arrives(environment, work.table or system.table), _FIRST_EVENT, "the first event")
        yield
        environment.sql("TRUNCATE outbox")


def _one_event_arrives(environment: Environment, table: str) -> Callable[[], bool]:
    """Writes one event per second, because kcat holds back the last one."""
    begun, written = time.monotonic(), 0

    def arrived() -> bool:
        nonlocal written
        if time.monotonic() >= begun + written:
            environment.insert_one(table)
            written += 1
        return environment.records() >= 1
    return arrived


def wait_for(system: System, done: Callable[[], bool], seconds: float, what: str) -> None:
    """Raises ServerError if the system has failed or the timeout has expired."""
    deadline = time.monotonic() + seconds
    while not done():
        if (failure := system.failure()) is not None:
            raise ServerError(failure)
        if time.monotonic() > deadline:
            raise ServerError(f"{system.name}: timed out after {seconds:g} s waiting for {what}")
        time.sleep(_LOOK)


def latencies(seen: dict[str, Any]) -> dict[str, float]:
    """Percentiles of the load's measurements, in ms: append_p50, consumer_p999, commit_p50 …"""
    return {f"{name}_{part}": seen[name][part] for name in ("append", "consumer", "commit") if seen[name]
            for part in ("p50", "p90", "p99", "p999", "max")}


def verdict(seen: dict[str, Any]) -> dict[str, float]:
    return {name: seen[name] for name in ("lost", "duplicated", "disordered")}
