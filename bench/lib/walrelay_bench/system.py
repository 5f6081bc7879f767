"""The interface of a system under measurement, and where the systems are found.

Each is a folder of bench/peers with a README, its configuration, and a system.py that defines a
class `Peer`. To add one: a folder, and the methods below that are abstract.
"""

import importlib.util
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .program import Program
from .stage import Stage

PEERS = Path(__file__).resolve().parents[2] / "peers"


@dataclass(frozen=True)
class Work:
    """What lies before a system when it is started."""

    events: int             # that wait; 0: they will be written while it runs
    payload: int = 300      # bytes of each
    end: str | None = None  # LSN behind the last of them


class System(ABC):
    """One system, between the servers of one stage. Started again after `kill` it goes on where it was.

    `workloads` names what it takes part in, kinds or single ones, None being all of them: a limit has no kills.
    """

    title: str                           # as tables have it
    workloads: Sequence[str] | None = None
    plugin: str | None = "pgoutput"      # of its slot, stage.SLOT; None: it has none
    table = "outbox"                     # where writers are to write
    relays = True                        # each event becomes a record of stage.TOPIC

    def __init__(self, name: str, stage: Stage) -> None:
        self.name = name
        self.stage = stage
        self.folder = PEERS / name
        self.scratch = stage.scratch(name)  # for its files

    @property
    def dsn(self) -> str:
        """How it reaches Postgres: by TCP, all that are compared."""
        return self.stage.dsn

    def prepare(self, work: Work) -> None:
        """Before a run, unmeasured. What waits is in table outbox, and behind the slot."""

    @abstractmethod
    def start(self, work: Work) -> None:
        """Returns when the processes have been started, not when they are at work."""

    @abstractmethod
    def stop(self) -> None:
        """In good order. Also when it has ended by itself."""

    @abstractmethod
    def kill(self) -> None:
        """SIGKILL to all of it."""

    @abstractmethod
    def pids(self) -> list[int]:
        """Of its processes that run or were not collected yet; those of Postgres and Kafka not counted."""

    def caught_up(self, work: Work) -> bool:
        """Whether all of `work.events` are where they belong."""
        return self.stage.records() >= work.events

    def failure(self) -> str | None:
        """Why it will never catch up: it ended, and should not have."""
        return None

    def close(self) -> None:
        """After the last run."""

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Of its parts, by name."""
        return {}


class Programs(System):
    """A system of one or several child processes; the first of them is the one that ends the others."""

    def __init__(self, name: str, stage: Stage) -> None:
        super().__init__(name, stage)
        self._running: list[Program] = []

    @abstractmethod
    def launch(self, work: Work) -> list[Program]:
        """Starts them."""

    @property
    def log(self) -> Path:
        return self.scratch / "log"

    def start(self, work: Work) -> None:
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
        return None if self.alive() else f"{self.name} has ended: {self.log.read_text()[-2000:]}"


def names() -> list[str]:
    """walrelay first, as what all others are compared with."""
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
