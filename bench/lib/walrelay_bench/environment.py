"""The servers of a measurement, and the data that the workloads write to them."""

import os
import shutil
from pathlib import Path

from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.paths import REPOSITORY
from walrelay_dev.postgres import Postgres
from walrelay_dev.process import wait_until

from .topic import Topic

TOPIC = "outbox.event.order"
PARTITIONS = 6
SLOT = "bench"
PUBLICATION = "walrelay"

_TABLE = """
CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregate_type text NOT NULL,
                     aggregate_id text NOT NULL, event_type text NOT NULL, payload jsonb NOT NULL,
                     created_at timestamptz NOT NULL DEFAULT now(), trace_id text);
CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert');
CREATE TABLE ledger (id bigint GENERATED ALWAYS AS IDENTITY, entry text NOT NULL);
CREATE PROCEDURE fill(events int, pad int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..events LOOP
    INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, trace_id)
    VALUES ('order', 'order-' || i % 9973, 'OrderPlaced',
            jsonb_build_object('n', i, 'pad', repeat('x', pad)), md5(i::text));
    COMMIT;
  END LOOP;
END $$;
CREATE PROCEDURE be_busy(seconds float) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..seconds * 100 LOOP
    INSERT INTO ledger (entry) SELECT repeat('x', 1000) FROM generate_series(1, 50);
    COMMIT;
    PERFORM pg_sleep(0.01);
  END LOOP;
END $$;
"""


class Environment:
    """A Postgres and a Kafka server, configured as in production: durable, and with full JIT compilation.

    Preparing a workload commits asynchronously; measured writes commit synchronously. All systems
    connect by TCP, the writers by the Unix socket.
    """

    def __init__(self) -> None:
        self.postgres = Postgres(tcp=True, settings={
            "shared_buffers": "256MB", "max_wal_size": "16GB", "checkpoint_timeout": "30min",
            "max_replication_slots": 20, "max_wal_senders": 10})
        self.kafka = KafkaCluster(1, partitions=PARTITIONS, optimise=True, heap_mb=768,
                                  properties={"log.retention.bytes": 4 << 30, "message.max.bytes": 4 << 20})
        self._topic: Topic | None = None

    def __enter__(self) -> "Environment":
        self.postgres.__enter__()
        try:
            self.kafka.__enter__()
        except BaseException:
            self.postgres.__exit__()
            raise
        self._allow_wal2json()
        self.sql(_TABLE)
        return self

    def _allow_wal2json(self) -> None:
        """Servers since 17.11 load only the output plugins that a setting names; earlier ones do not know it."""
        name = "output_plugin_libraries"
        if self.sql(f"SELECT 1 FROM pg_settings WHERE name = '{name}'"):
            self.postgres.settings[name] = "pgoutput, wal2json"
            self.postgres.restart("fast")

    def __exit__(self, *_: object) -> None:
        self._close_topic()
        self.kafka.__exit__()
        self.postgres.__exit__()

    # --- connection parameters of systems and tools ---

    @property
    def dsn(self) -> str:
        """The DSN for systems."""
        return self.postgres.dsn(host="tcp")

    @property
    def writer_dsn(self) -> str:
        return self.postgres.dsn()

    def scratch(self, name: str) -> Path:
        """An empty folder, which is deleted with the environment."""
        folder = self.postgres.data.parent / "scratch" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    # --- Postgres ---

    def sql(self, text: str, timeout: float = 3600) -> str:
        return self.postgres.psql(text, timeout=timeout)

    def create_slot(self, name: str, plugin: str = "pgoutput") -> None:
        self.sql(f"SELECT pg_create_logical_replication_slot('{name}', '{plugin}')")

    def copy_slot(self, source: str, name: str, plugin: str) -> None:
        """Starts each run at the same position: every system reads exactly the same WAL."""
        self.drop_slot(name)
        self.sql(f"SELECT pg_copy_logical_replication_slot('{source}', '{name}', false, '{plugin}')")

    def drop_slot(self, name: str) -> None:
        wait_until(lambda: self.sql(f"SELECT NOT active FROM pg_replication_slots WHERE slot_name = '{name}'") != "f",
                   60, f"slot {name} to be free")
        self.sql(f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{name}'")

    def fill(self, events: int, payload: int) -> str:
        """Writes `events` one-row transactions; returns the WAL position after them."""
        self.sql(f"SET synchronous_commit = off; CALL fill({events}, {max(1, payload - 40)})")
        return self.wal_end()

    def settle(self, table: str) -> None:
        """Runs the maintenance that the server would otherwise start during a run."""
        self.sql(f"VACUUM (ANALYZE) {table}; CHECKPOINT")

    def wal_end(self) -> str:
        # Emits a WAL record, so that a client can reach the position.
        return self.sql("SELECT pg_logical_emit_message(true, 'bench', 'end'); SELECT pg_current_wal_flush_lsn()"
                        ).splitlines()[-1]

    def is_confirmed(self, position: str | None) -> bool:
        """Whether SLOT is confirmed up to a position that wal_end() has returned."""
        return self.sql(f"SELECT confirmed_flush_lsn >= '{position}' FROM pg_replication_slots "
                        f"WHERE slot_name = '{SLOT}'") == "t"

    def insert_one(self, table: str) -> None:
        self.sql(f"INSERT INTO {table} (aggregate_type, aggregate_id, event_type, payload) "
                 "VALUES ('order', 'first', 'OrderPlaced', '{}')")

    # --- Kafka ---

    def fresh_topic(self, config: dict[str, str | int] | None = None, *, transactions: bool = False) -> None:
        """Creates an empty TOPIC whose records carry the time of the broker's append. `transactions`: they will be
        written in transactions."""
        self._close_topic()
        if TOPIC in self.kafka.topics():
            self.kafka.delete_topic(TOPIC)
        self.kafka.create_topic(TOPIC, PARTITIONS, config={"message.timestamp.type": "LogAppendTime", **(config or {})})
        self._topic = Topic(self.kafka.bootstrap, TOPIC, PARTITIONS, transactions=transactions)
        wait_until(lambda: self.topic.try_count() == 0, 60, "the partitions to have their leaders")

    @property
    def topic(self) -> Topic:
        assert self._topic is not None, "call fresh_topic() first"
        return self._topic

    def records(self) -> int:
        """The number of records appended to the topic."""
        return self.topic.count()

    def _close_topic(self) -> None:
        if self._topic is not None:
            self._topic.close()
            self._topic = None


def program(name: str) -> Path:
    """A program in $WALRELAY_BUILD_DIR, or in the release build if that is not set."""
    path = Path(os.environ.get("WALRELAY_BUILD_DIR", REPOSITORY / "build/bench")) / name
    if not path.exists():
        raise SystemExit(f"{path} does not exist; run: scripts/dev build bench")
    return path
