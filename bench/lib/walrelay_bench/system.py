"""The interface of a system under measurement, and the loader of the systems.

Each system is a folder of bench/peers with a README, its configuration, and a system.py that defines a
class `Peer`. To add a system, create a folder and implement the abstract methods below.
"""

import importlib.util
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import stages
from .environment import PARTITIONS, SHARDED, SLOT, Environment
from .program import Program

PEERS = Path(__file__).resolve().parents[2] / "peers"


@dataclass(frozen=True)
class Work:
    """The backlog that exists when a system is started."""

    events: int             # in the backlog; 0: events are written while the system runs
    payload: int = 300      # bytes per event
    end: str | None = None  # LSN after the last event
    shards: int = 0         # the events are in table SHARDED, which has this many partitions; 0: in the system's table

    @property
    def table(self) -> str | None:
        return SHARDED if self.shards else None


class System(ABC):
    """One system, connected to the servers of one environment. If started after `kill`, it continues where it was.

    `workloads` lists the kinds or names of the workloads that the system runs; None means all. For example, a system
    that only measures a limit does not run `kills`.
    """

    title: str                           # the heading in tables
    workloads: Sequence[str] | None = None
    plugin: str | None = "pgoutput"      # output plugin of its slot, environment.SLOT; None: it has no slot
    table = "outbox"                     # the table to write to
    relays = True                        # whether each event becomes a record of environment.TOPIC
    partitions = PARTITIONS              # of the topic
    transactions = False                 # whether it writes them in transactions of Kafka

    def __init__(self, name: str, environment: Environment) -> None:
        self.name = name
        self.environment = environment
        self.folder = PEERS / name
        self.scratch = environment.scratch(name)  # folder for its files

    @property
    def stages(self) -> Path | None:
        """The file with the stages of each event, if they are recorded."""
        return None

    @property
    def dsn(self) -> str:
        """Connection to Postgres: TCP for all systems that are compared."""
        return self.environment.dsn

    def prepare(self, work: Work) -> None:
        """Called before a run and not measured. The backlog is in table outbox and in the slot's WAL."""

    def adopt_slot(self) -> None:
        """Called when the slot exists, and not measured."""

    def drop_slots(self) -> None:
        """Called after a run."""
        self.environment.drop_slot(SLOT)

    @abstractmethod
    def start(self, work: Work) -> None:
        """Starts the processes. Returns before they relay events."""

    @abstractmethod
    def stop(self) -> None:
        """Shuts the system down gracefully. Also called if it has exited by itself."""

    @abstractmethod
    def kill(self) -> None:
        """Sends SIGKILL to all processes."""

    @abstractmethod
    def pids(self) -> list[int]:
        """Its processes that run or were not reaped yet, without those of Postgres and Kafka."""

    def caught_up(self, work: Work) -> bool:
        """Whether all `work.events` have been relayed; with transactions: confirmed to the slot."""
        if self.transactions:
            return self.environment.is_confirmed(work.end)
        return self.environment.records() >= work.events

    def records(self) -> int:
        """The number of records in the topic that consumers of committed records see."""
        return self.environment.topic.committed() if self.transactions else self.environment.records()

    def failure(self) -> str | None:
        """The reason why the system cannot catch up: it exited unexpectedly. None if it runs."""
        return None

    def close(self) -> None:
        """Called after the last run."""

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Versions of its components, by name."""
        return {}


class Programs(System):
    """A system of one or several child processes; when the first one exits, the others exit as well."""

    has_stages = False  # whether `stages` can be recorded: one process that uses libpq and librdkafka

    def __init__(self, name: str, environment: Environment) -> None:
        super().__init__(name, environment)
        self._running: list[Program] = []

    @abstractmethod
    def launch(self, work: Work) -> list[Program]:
        """Starts the processes."""

    @property
    def log(self) -> Path:
        return self.scratch / "log"

    @property
    def stages(self) -> Path | None:
        return self.scratch / "stages" if self.has_stages and self.environment.record_stages else None

    def env(self) -> dict[str, str] | None:
        return stages.environment(self.stages) if self.stages is not None else None

    def start(self, work: Work) -> None:
        if self.stages is not None:
            self.stages.write_bytes(b"")
        self._running = self.launch(work)

    def stop(self) -> None:
        for each in self._running:
            each.end()

    def kill(self) -> None:
        for each in self._running:
            each.end(signal.SIGKILL)

    def pids(self) -> list[int]:
        return [each.pid for each in self._running]

    def alive(self) -> bool:
        return all(each.alive() for each in self._running)

    def failure(self) -> str | None:
        return None if self.alive() else f"{self.name} has exited: {self.log.read_text()[-2000:]}"


def names() -> list[str]:
    """All systems; walrelay, the reference of all comparisons, is first."""
    found = sorted(path.parent.name for path in PEERS.glob("*/system.py"))
    return sorted(found, key=lambda name: name != "walrelay")


def load(name: str) -> type[System]:
    """The class of bench/peers/NAME."""
    module = f"walrelay_bench.peers.{name}"
    if module not in sys.modules:
        spec = importlib.util.spec_from_file_location(module, PEERS / name / "system.py")
        assert spec is not None and spec.loader is not None
        sys.modules[module] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[module])
    return sys.modules[module].Peer
