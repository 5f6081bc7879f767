"""The servers that everything is measured on, and the work that is put before them."""

import subprocess
from pathlib import Path

from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.paths import REPOSITORY
from walrelay_dev.postgres import Postgres
from walrelay_dev.process import wait_until

TOPIC = "outbox.event.order"
PARTITIONS = 6
PAYLOAD = 300

_TABLE = """
CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregate_type text NOT NULL,
                     aggregate_id text NOT NULL, event_type text NOT NULL, payload jsonb NOT NULL,
                     created_at timestamptz NOT NULL DEFAULT now(), trace_id text);
CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert');
CREATE PROCEDURE fill(events int, pad int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..events LOOP
    INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, trace_id)
    VALUES ('order', 'order-' || i % 9973, 'OrderPlaced',
            jsonb_build_object('n', i, 'pad', repeat('x', pad)), md5(i::text));
    COMMIT;
  END LOOP;
END $$;
"""


class Stage:
    """A Postgres and a Kafka, as one would run them: durable, and with compilers that optimise.

    What only loads the database for a scenario commits asynchronously; what is measured does not.
    """

    def __init__(self) -> None:
        self.postgres = Postgres(15, settings={
            "shared_buffers": "256MB", "max_wal_size": "16GB", "checkpoint_timeout": "30min",
            "max_replication_slots": 20, "max_wal_senders": 10})
        self.kafka = KafkaCluster(1, partitions=PARTITIONS, optimise=True, heap_mb=768,
                                  properties={"log.retention.bytes": 4 << 30, "message.max.bytes": 4 << 20})

    def __enter__(self) -> "Stage":
        self.postgres.__enter__()
        try:
            self.kafka.__enter__()
        except BaseException:
            self.postgres.__exit__()
            raise
        self.sql(_TABLE)
        return self

    def __exit__(self, *_: object) -> None:
        self.kafka.__exit__()
        self.postgres.__exit__()

    @property
    def dsn(self) -> str:
        return self.postgres.dsn()

    def sql(self, text: str, timeout: float = 3600) -> str:
        return self.postgres.psql(text, timeout=timeout)

    def create_slot(self, name: str) -> None:
        self.sql(f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")

    def copy_slot(self, source: str, name: str) -> None:
        """The same position for each run: every system drains the very same log."""
        self.drop_slot(name)
        self.sql(f"SELECT pg_copy_logical_replication_slot('{source}', '{name}')")

    def new_slot(self, name: str) -> None:
        """A slot that begins at the present end of the log."""
        self.drop_slot(name)
        self.create_slot(name)

    def drop_slot(self, name: str) -> None:
        query = f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{name}'"
        wait_until(lambda: self.sql(f"SELECT NOT active FROM pg_replication_slots WHERE slot_name = '{name}'") != "f",
                   60, f"slot {name} to be free")
        self.sql(query)

    def fill(self, events: int, pad: int = PAYLOAD - 40) -> str:
        """That many one-row transactions; returns the end of the log behind them."""
        self.sql(f"SET synchronous_commit = off; CALL fill({events}, {pad})")
        return self.wal_end()

    def wal_end(self) -> str:
        # A record of its own, so that the position is one that a client can reach.
        return self.sql("SELECT pg_logical_emit_message(true, 'bench', 'end'); SELECT pg_current_wal_flush_lsn()"
                        ).splitlines()[-1]

    def confirmed(self, slot: str, position: str) -> bool:
        return self.sql(f"SELECT confirmed_flush_lsn >= '{position}' FROM pg_replication_slots "
                        f"WHERE slot_name = '{slot}'") == "t"

    def fresh_topic(self, name: str = TOPIC, config: dict[str, str | int] | None = None) -> None:
        if name in self.kafka.topics():
            self.kafka.delete_topic(name)
        self.kafka.create_topic(name, PARTITIONS, config=config)

    def records(self, topic: str = TOPIC) -> int:
        """How many records the topic holds, from its partitions' offsets."""
        from confluent_kafka import Consumer, TopicPartition
        consumer = Consumer({"bootstrap.servers": self.kafka.bootstrap, "group.id": "bench"})
        try:
            bounds = [consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
                      for partition in range(PARTITIONS)]
        finally:
            consumer.close()
        return sum(high - low for low, high in bounds)


def commit() -> str:
    """What was measured: the commit, with + when the tree differs from it."""
    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(REPOSITORY), *arguments], capture_output=True, text=True).stdout.strip()
    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")


def binary(name: str) -> Path:
    """A program of the release build."""
    path = REPOSITORY / "build/release" / name
    if not path.exists():
        raise SystemExit(f"{path} is missing: scripts/dev build release")
    return path
