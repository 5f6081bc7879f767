"""The system under test: Postgres, three brokers, proxies on both links, the supervised relay."""

import itertools
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fault_log import FaultLog
from mode import Mode
from pruning import Pruning
from supervisor import Supervisor
from walrelay_dev.process import wait_until
from walrelay_test.database import Database
from walrelay_test.kafka_proxies import KafkaProxies
from walrelay_test.relay_process import RelayProcess
from walrelay_test.replication_tap import ReplicationRecord
from walrelay_test.servers import new_kafka, new_postgres, test_folder
from walrelay_test.tcp_proxy import TcpProxy
from walrelay_test.workload import Workload

CANARY = "canary-of-the-database"  # the password, which must not appear anywhere
PARTITIONS = 6
_TRANSACTIONS = "__transaction_state"  # the coordinators of transactions lead its partitions
_START_SECONDS = 60.0

# Brokers detect failures soon, so that an hour has many of them; the relay does not depend on these values.
_KAFKA_PROPERTIES = {
    "broker.session.timeout.ms": 2000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 3000,
    "controller.quorum.election.timeout.ms": 500,
    "controller.quorum.fetch.timeout.ms": 1000,
    "log.segment.delete.delay.ms": 1000,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
}


class System:
    """A context manager. Only the relay connects through the proxies; all other clients connect directly."""

    def __init__(self, fault_log: FaultLog, mode: Mode, *, nodes: int, major: int, keep: float | None = None,
                 by_age: bool = False) -> None:
        """`keep`: the relay prunes rows that are older, in seconds; with `by_age`, a job that requires no proof."""
        self.fault_log = fault_log
        self.mode = mode
        self.record = ReplicationRecord()
        self.pruning: Pruning | None = None
        self._keep = keep
        self._by_age = by_age
        self.postgres = new_postgres(major, tcp=True, password=CANARY)
        self.kafka = new_kafka(nodes=nodes, proxied=True, properties=_KAFKA_PROPERTIES,
                               isolated_controller=mode.once)
        self.broker_links = KafkaProxies(self.kafka)
        self._stack = ExitStack()
        self._relays = itertools.count(1)

    def __enter__(self) -> "System":
        with ExitStack() as stack:
            stack.enter_context(self.postgres)
            stack.enter_context(self.kafka)
            self.postgres_link = stack.enter_context(TcpProxy(self.postgres.port, tap=self.record.tap))
            stack.enter_context(self.broker_links)
            self.database = Database.create(self.postgres, "chaos")
            self._prepare()
            if self._keep is not None:
                self.pruning = stack.enter_context(Pruning(self.connect(), self._keep, self._by_age))
            self.supervisor = stack.enter_context(Supervisor(self.new_relay(), self.fault_log))
            # Killed before its first record, the relay would not know that it had created the slot.
            wait_until(self._has_record, _START_SECONDS, "the first progress record")
            if self.pruning is not None:
                wait_until(lambda: self.pruning.has_begun(self.kafka, self.progress_topic), _START_SECONDS,
                           "the beginning of the proof")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def slot(self) -> str:
        return "chaos_slot"

    @property
    def pipeline(self) -> str:
        return "chaos"

    @property
    def progress_topic(self) -> str:
        return f"walrelay.progress.{self.pipeline}"

    @property
    def relay_prunes(self) -> bool:
        return self.pruning is not None and not self._by_age

    def topics(self, type: str) -> list[str]:
        """All topics that the relay depends on."""
        return [*Workload.topics(type), self.progress_topic, *([_TRANSACTIONS] if self.mode.once else [])]

    def connect(self) -> Database:
        """The same database for another thread."""
        return Database(self.postgres, self.database.name)

    def new_relay(self) -> RelayProcess:
        return RelayProcess(test_folder() / f"relay{next(self._relays)}", self._options())

    def create_topics(self, type: str) -> None:
        for topic in Workload.topics(type):
            self.kafka.create_topic(topic, PARTITIONS, config={
                "message.timestamp.type": "LogAppendTime", "retention.ms": -1})

    def delete_topics(self, type: str) -> None:
        for topic in Workload.topics(type):
            self.kafka.delete_topic(topic)

    def heal(self) -> None:
        """Ends all remaining effects of faults."""
        self.postgres_link.heal()
        self.broker_links.heal()
        for node in self.kafka.node_ids:
            self.kafka.resume_node(node)
        self.kafka.start()
        if not self.postgres.running():
            self.postgres.start()
        self.supervisor.resume()

    def relay_folders(self) -> list[Path]:
        return sorted(test_folder().glob("relay*"))

    def remove_old_logs(self) -> None:
        """Removes the logs of relays that have exited, so that a run of hours does not fill the disk."""
        for folder in self.relay_folders():
            for path in folder.glob("*-*.*"):
                if path.stem.split("-")[-1] != str(self.supervisor.relay.starts) \
                        or folder != self.supervisor.relay.folder:
                    path.unlink()

    def logs(self) -> list[Path]:
        """The logs of the servers, for the analysis of a failure."""
        return [self.postgres.log, *(self.kafka.node(node).log for node in self.kafka.node_ids)]

    def _prepare(self) -> None:
        Workload.create_tables(self.database)
        self.database.execute("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")

    def _has_record(self) -> bool:
        return self.progress_topic in self.kafka.topics() and bool(self.kafka.consume(self.progress_topic))

    def _options(self) -> dict[str, Any]:
        return {"source.dsn": f"host=127.0.0.1 port={self.postgres_link.port} user=postgres "
                              f"dbname={self.database.name}",
                "source.password": CANARY, "source.slot": self.slot, "source.create_slot": True,
                "pipeline.id": self.pipeline,
                "source.wal_sender_timeout": "5s",
                "kafka.bootstrap_servers": self.broker_links.bootstrap,
                "http.listen": "127.0.0.1:0", "metrics.slot_poll_interval": "1s",
                "source.on_gap": "exit",  # a gap is a failure, and the supervisor detects it by the exit
                **self.mode.options, **(self.pruning.options if self.pruning else {})}
