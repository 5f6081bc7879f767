"""The servers of a measurement, and the data that the workloads write to them."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from walrelay_dev.certificates import Authority, BrokerKeystore
from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.paths import REPOSITORY
from walrelay_dev.postgres import Postgres
from walrelay_dev.process import wait_until

from .topic import Topic

TOPIC = "outbox.event.order"
PARTITIONS = 6
SLOT = "bench"
PUBLICATION = "walrelay"
SHARDED = "sharded"  # the table that Environment.shard() creates, and its publication
PASSWORD = "bench"   # of the user of the same name, for the listener with TLS and SASL

_TABLE = """
CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregate_type text NOT NULL,
                     aggregate_id text NOT NULL, event_type text NOT NULL, payload jsonb NOT NULL,
                     created_at timestamptz NOT NULL DEFAULT now(), trace_id text);
CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert');
CREATE TABLE ledger (id bigint GENERATED ALWAYS AS IDENTITY, entry text NOT NULL);
CREATE PROCEDURE be_busy(seconds float) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..seconds * 100 LOOP
    INSERT INTO ledger (entry) SELECT repeat('x', 1000) FROM generate_series(1, 50);
    COMMIT;
    PERFORM pg_sleep(0.01);
  END LOOP;
END $$;
"""

# Writes one-row transactions. {table} and {key} are SQL; the procedure is temporary.
_FILL = """
CREATE PROCEDURE pg_temp.fill(events int, pad int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..events LOOP
    INSERT INTO {table} (aggregate_type, aggregate_id, event_type, payload, trace_id)
    VALUES ('order', 'order-' || {key}, 'OrderPlaced',
            jsonb_build_object('n', i, 'pad', repeat('x', pad)), md5(i::text));
    COMMIT;
  END LOOP;
END $$;
"""
# The number of the aggregate of event i: by turns, one for half of the events, or Zipf's distribution of exponent 1.
KEYS = {
    "even": "i % 9973",
    "hot": "CASE WHEN i % 2 = 0 THEN 0 ELSE i % 9973 END",
    "zipf": "floor(power(9973, random()))::int",
}


class Environment:
    """A Postgres and a Kafka server, configured as in production: durable, and with full JIT compilation.

    Preparing a workload commits asynchronously; measured writes commit synchronously. All systems
    connect by TCP, the writers by the Unix socket.
    """

    def __init__(self, *, record_stages: bool = False) -> None:
        """`record_stages`: see bench/tools/stages.cc. It costs time of its own."""
        self.record_stages = record_stages
        self.postgres = Postgres(tcp=True, settings={
            "shared_buffers": "256MB", "max_wal_size": "16GB", "checkpoint_timeout": "30min",
            "max_replication_slots": 50, "max_wal_senders": 50})
        self._secrets = TemporaryDirectory()
        authority = Authority(Path(self._secrets.name))
        keystore = BrokerKeystore(authority.folder / "kafka.pem", authority.issue("kafka", 100))
        authority.folder.chmod(0o755)  # the broker has another user
        self.certificate = authority.certificate
        listener = "listener.name.secured."
        self.kafka = KafkaCluster(1, partitions=PARTITIONS, optimise=True, heap_mb=768, secured="SASL_SSL", properties={
            "log.retention.bytes": 4 << 30, "message.max.bytes": 4 << 20, **keystore.kafka_options["properties"],
            f"{listener}sasl.enabled.mechanisms": "PLAIN",
            f"{listener}plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
                                                 f'user_bench="{PASSWORD}";'})
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
        self._secrets.cleanup()

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

    def fill(self, events: int, payload: int, *, table: str = "outbox", keys: str = "even") -> str:
        """Writes `events` one-row transactions; returns the WAL position after them. `keys` is one of KEYS."""
        self.sql(f"SET synchronous_commit = off; {_FILL.format(table=table, key=KEYS[keys])} "
                 f"CALL pg_temp.fill({events}, {max(1, payload - 40)})")
        return self.wal_end()

    def shard(self, count: int) -> None:
        """Recreates table SHARDED, partitioned by hash of the key; it and each partition have a publication."""
        self.unshard(count)
        self.sql(f"CREATE TABLE {SHARDED} (LIKE outbox INCLUDING DEFAULTS, PRIMARY KEY (id, aggregate_id)) "
                 "PARTITION BY HASH (aggregate_id)")
        for number in range(count):
            name, _ = shard_names(number)
            self.sql(f"CREATE TABLE {name} PARTITION OF {SHARDED} "
                     f"FOR VALUES WITH (MODULUS {count}, REMAINDER {number});"
                     f"CREATE PUBLICATION {name} FOR TABLE {name} WITH (publish = 'insert')")
        self.sql(f"CREATE PUBLICATION {SHARDED} FOR TABLE {SHARDED} "
                 "WITH (publish = 'insert', publish_via_partition_root = true)")

    def unshard(self, count: int) -> None:
        self.sql("".join(f"DROP PUBLICATION IF EXISTS {shard_names(number)[0]};" for number in range(count))
                 + f"DROP PUBLICATION IF EXISTS {SHARDED}; DROP TABLE IF EXISTS {SHARDED}")

    def settle(self, table: str) -> None:
        """Runs the maintenance that the server would otherwise start during a run."""
        self.sql(f"VACUUM (ANALYZE) {table}; CHECKPOINT")

    def wal_end(self) -> str:
        # The end of the last transaction: walrelay confirms what is behind it seconds later. Emits a WAL record that
        # follows, so that every client can reach the position.
        return self.sql("SELECT pg_current_wal_insert_lsn(); SELECT pg_logical_emit_message(true, 'bench', 'end')"
                        ).splitlines()[0]

    def is_confirmed(self, position: str | None) -> bool:
        """Whether SLOT is confirmed up to a position that wal_end() has returned."""
        return self.sql(f"SELECT confirmed_flush_lsn >= '{position}' FROM pg_replication_slots "
                        f"WHERE slot_name = '{SLOT}'") == "t"

    def insert_one(self, table: str) -> None:
        self.sql(f"INSERT INTO {table} (aggregate_type, aggregate_id, event_type, payload) "
                 "VALUES ('order', 'first', 'OrderPlaced', '{}')")

    # --- Kafka ---

    def fresh_topic(self, config: Mapping[str, str | int] | None = None, *, partitions: int = PARTITIONS,
                    transactions: bool = False) -> None:
        """Creates an empty TOPIC whose records carry the time of the broker's append. `transactions`: they will be
        written in transactions."""
        self._close_topic()
        if TOPIC in self.kafka.topics():
            self.kafka.delete_topic(TOPIC)
        self.kafka.create_topic(TOPIC, partitions, config={"message.timestamp.type": "LogAppendTime", **(config or {})})
        self._topic = Topic(self.kafka.bootstrap, TOPIC, partitions, transactions=transactions)
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


def shard_names(number: int) -> tuple[str, str]:
    """The name of the table and of the publication of a shard, and that of its slot."""
    return f"{SHARDED}_{number}", f"{SLOT}_{number}"


def program(name: str) -> Path:
    """A program in $WALRELAY_BUILD_DIR, or in the release build if that is not set."""
    path = Path(os.environ.get("WALRELAY_BUILD_DIR", REPOSITORY / "build/bench")) / name
    if not path.exists():
        raise SystemExit(f"{path} does not exist; run: scripts/dev build bench")
    return path
