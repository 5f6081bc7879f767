"""Resource usage of a run over time: a thread samples the system and the servers a few times a second."""

import os
import re
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .environment import SLOT, Environment
from .program import Cost, cost_of, cpu_of_tree, processes_but, stolen_cpu

_INTERVAL = 0.25
_RARELY = 4  # samples between two calls of _sample_slowly


@dataclass(frozen=True)
class Sample:
    at: float            # time.time()
    cpu_seconds: float   # of the system's processes, including exited ones
    rss_mib: float
    records: int | None  # in the topic; None while no broker answers
    retained: int        # bytes of WAL that the slot retains


class Usage:
    """CPU seconds since the beginning, of processes that may start and exit meanwhile."""

    def __init__(self) -> None:
        self._first: dict[int, float] = {}
        self._last: dict[int, float] = {}

    @property
    def cpu_seconds(self) -> float:
        return sum(last - self._first[pid] for pid, last in self._last.items())

    def sample(self, pids: Iterable[int], *, beginning: bool = False) -> list[Cost]:
        """Their costs now. A process that did not exist at the beginning counts from its start."""
        costs = []
        for pid in pids:
            if (cost := cost_of(pid)) is not None:
                self._first.setdefault(pid, cost.cpu_seconds if beginning else 0)
                self._last[pid] = cost.cpu_seconds
                costs.append(cost)
        return costs


class Meter:
    """Measures while its `with` block runs. `pids` returns the current processes of the system."""

    def __init__(self, environment: Environment, pids: Callable[[], list[int]]) -> None:
        self.samples: list[Sample] = []
        self.peak_rss_mib = 0.0
        self._environment = environment
        self._pids = pids
        self._own, self._kafka, self._others = Usage(), Usage(), Usage()
        self._wire = Wire(environment)
        self._closing = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._postmaster = int((environment.postgres.data / "postmaster.pid").read_text().split("\n")[0])

    def __enter__(self) -> "Meter":
        import psycopg2
        self._connection = psycopg2.connect(self._environment.writer_dsn)
        self._connection.autocommit = True
        self._started = time.time()
        self._before = self._totals()
        self._sample(beginning=True)
        self._sample_slowly(beginning=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._thread.join()
        self._sample()
        self._sample_slowly()
        self.seconds = time.time() - self._started
        self._used = {name: after - self._before[name] for name, after in self._totals().items()}
        self._connection.close()
        if self._failure is not None:
            raise self._failure

    def between(self, start: float, end: float) -> list[Sample]:
        """The samples of a part of the run. `start` and `end` are values of time.time()."""
        return [each for each in self.samples if start <= each.at <= end]

    def costs(self, events: int) -> dict[str, float]:
        """The figures that every run has: usage by the system, by the servers, and by other processes."""
        own, kafka = self._own.cpu_seconds, self._kafka.cpu_seconds
        foreign = self._others.cpu_seconds + self._used["stolen"]
        millions = max(events, 1) / 1e6
        return {
            "cpu_s_per_million": own / millions,
            "cpu_percent": 100 * own / self.seconds,
            "postgres_cpu_s_per_million": self._used["postgres"] / millions,
            "kafka_cpu_s_per_million": kafka / millions,
            "peak_rss_mib": self.peak_rss_mib,
            "steady_rss_mib": statistics.median(each.rss_mib for each in self.samples[len(self.samples) // 2:]),
            "wal_retained_mib": max(each.retained for each in self.samples) / (1 << 20),
            "bytes_from_postgres_per_event": self._wire.from_postgres / max(events, 1),
            "bytes_to_kafka_per_event": self._wire.to_kafka / max(events, 1),
            "foreign_cpu_percent": 100 * foreign / (self.seconds * (os.cpu_count() or 1)),
        }

    def series(self) -> dict[str, list[Any]]:
        """For plots: seconds from the beginning, and the sampled values."""
        return {"seconds": [round(each.at - self._started, 2) for each in self.samples],
                "rss_mib": [round(each.rss_mib, 1) for each in self.samples],
                "records": [each.records for each in self.samples],
                "wal_retained_mib": [round(each.retained / (1 << 20), 2) for each in self.samples]}

    def _run(self) -> None:
        try:
            number = 0
            while not self._closing.wait(_INTERVAL):
                self._sample()
                if (number := number + 1) % _RARELY == 0:
                    self._sample_slowly()
        except BaseException as error:  # raised again by __exit__
            self._failure = error

    def _sample(self, *, beginning: bool = False) -> None:
        costs = self._own.sample(self._pids(), beginning=beginning)
        self._kafka.sample(self._brokers(), beginning=beginning)
        self.peak_rss_mib = max(self.peak_rss_mib, sum(each.peak_rss_mib for each in costs))
        self.samples.append(Sample(time.time(), self._own.cpu_seconds, sum(each.rss_mib for each in costs),
                                   self._environment.topic.try_count(), self._retained()))

    # The CPU usage of the whole machine is not usable here: the kernel charges a whole tick to the process that runs at
    # the tick, and a load that is synchronous with the ticks is charged twice, or not at all. For single processes the
    # kernel keeps exact times.
    def _sample_slowly(self, *, beginning: bool = False) -> None:
        self._wire.sample(self._pids(), beginning=beginning)
        self._others.sample(processes_but([os.getpid(), self._postmaster, *self._brokers()]), beginning=beginning)

    def _retained(self) -> int:
        with self._connection.cursor() as cursor:
            cursor.execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) FROM pg_replication_slots "
                           "WHERE slot_name = %s", [SLOT])
            row = cursor.fetchone()
        return int(row[0]) if row is not None and row[0] is not None else 0

    def _brokers(self) -> list[int]:
        kafka = self._environment.kafka
        files = [kafka.node(number).folder / "pid" for number in kafka.node_ids]
        return [int(file.read_text().split()[0]) for file in files if file.exists()]

    def _totals(self) -> dict[str, float]:
        """CPU seconds so far of the processes that exist from the beginning to the end."""
        return {"stolen": stolen_cpu(), "postgres": cpu_of_tree(self._postmaster)}


class Wire:
    """Bytes on the system's TCP connections since the beginning, as the kernel counts them."""

    def __init__(self, environment: Environment) -> None:
        self._postgres = environment.postgres.port
        config = environment.kafka.config
        self._kafka = {*config.ports, *config.secured_ports}
        self._first: dict[tuple[str, str, str], int] = {}  # local address, peer address, counter name
        self._last: dict[tuple[str, str, str], int] = {}

    @property
    def from_postgres(self) -> int:
        return self._sum("bytes_received", {self._postgres})

    @property
    def to_kafka(self) -> int:
        return self._sum("bytes_sent", self._kafka)

    def _sum(self, count: str, ports: set[int]) -> int:
        return sum(last - self._first[key] for key, last in self._last.items()
                   if key[2] == count and _port(key[1]) in ports)

    def sample(self, pids: list[int], *, beginning: bool = False) -> None:
        """Misses connections that open and close between two calls, and the last bytes of closed connections."""
        run = subprocess.run(["ss", "-tinHpO", "state", "established"], capture_output=True, text=True)
        for line in run.stdout.splitlines():
            words = line.split()
            if len(words) < 4 or not any(f"pid={pid}," in line for pid in pids):
                continue
            for name, count in re.findall(r"\b(bytes_sent|bytes_received):(\d+)", line):
                key = (words[2], words[3], name)
                self._first.setdefault(key, int(count) if beginning else 0)
                self._last[key] = int(count)


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])
