"""Workloads in which a backlog of events exists when the system is started."""

import time

from .environment import SHARDED, SLOT, Environment
from .meter import Meter
from .system import System, Work
from .workload import LONG, Outcome, Workload, prepared, wait_for

_KEY_WORDS = {"even": "", "hot": ", half of them of one key", "zipf": ", with keys in Zipf's distribution"}
_QUIET = 2.0  # seconds without a record after which the run is complete


class Drain(Workload):
    """One-row transactions after the slot's position; ends when the last one is in the topic."""

    kind = "drain"
    table = "outbox"
    warms_up = True

    def __init__(self, name: str, events: int, *, payload: int = 300, keys: str = "even") -> None:
        self.name = name
        self.events = events
        self.payload = payload
        self.title = f"a backlog of {events:,} one-row transactions of {self.payload:,} bytes" + _KEY_WORDS[keys]
        self._keys = keys

    @property
    def seconds(self) -> float:
        return 5 + self.events / 30_000

    def setup(self, environment: Environment) -> None:
        environment.create_slot("base")
        self.end = self.write(environment)
        environment.settle(self.table)

    def write(self, environment: Environment) -> str:
        """Writes the backlog; returns the WAL position after it."""
        return environment.fill(self.events, self.payload, table=self.table, keys=self._keys)

    @property
    def work(self) -> Work:
        return Work(self.events, self.payload, self.end)

    def run(self, environment: Environment, system: System) -> Outcome:
        with prepared(environment, system, self.work, self.topic()):
            with Meter(environment, system.pids) as meter:
                started = time.time()
                system.start(self.work)
                wait_for(system, lambda: system.caught_up(self.work), LONG, "the end of the backlog")
                ended = time.time()
            if system.relays:
                ended = environment.topic.last_append()
        figures = {"seconds": ended - started, "events_per_s": self.events / (ended - started)}
        if system.relays:
            figures["events_per_s_running"] = self.events / max(0.001, ended - environment.topic.first_append())
        return Outcome(figures | meter.costs(self.events), meter.series())

    def topic(self) -> dict[str, str | int]:
        return {}


class ShardedDrain(Drain):
    """A backlog in a table that is partitioned by hash of the key: read by one slot, or by one slot per partition."""

    kind = "shards"
    table = SHARDED

    def __init__(self, name: str, events: int, shards: int) -> None:
        super().__init__(name, events)
        self.shards = shards
        self.title = f"a backlog of {events:,} one-row transactions in {shards} partitions by hash of the key"

    def setup(self, environment: Environment) -> None:
        environment.shard(self.shards)
        super().setup(environment)

    @property
    def work(self) -> Work:
        return Work(self.events, self.payload, self.end, self.shards)

    def teardown(self, environment: Environment) -> None:
        super().teardown(environment)
        environment.unshard(self.shards)


class Transaction(Drain):
    """One transaction of many rows: memory must not depend on its size."""

    kind = "transaction"

    def __init__(self, name: str, events: int, *, payload: int = 100) -> None:
        super().__init__(name, events, payload=payload)
        self.title = f"one transaction of {events:,} rows of {self.payload} bytes"

    def write(self, environment: Environment) -> str:
        self._write_rows(environment, self.events)
        return environment.wal_end()

    def _write_rows(self, environment: Environment, rows: int) -> None:
        environment.sql(f"""
            INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload)
            SELECT 'order', 'order-' || i % 9973, 'OrderPlaced',
                   jsonb_build_object('n', i, 'pad', repeat('x', {self.payload - 30}))
            FROM generate_series(1, {rows}) i""")


class Gigabyte(Transaction):
    """One transaction of rows of 1 MiB."""

    kind = "gigabyte"
    warms_up = False
    most_rounds = 1

    def __init__(self, name: str, events: int) -> None:
        super().__init__(name, events, payload=1 << 20)
        self.title = f"one transaction of {events:,} rows of 1 MiB"

    @property
    def seconds(self) -> float:
        return 30

    def write(self, environment: Environment) -> str:
        environment.sql(f"""
            ALTER TABLE outbox ALTER payload SET STORAGE EXTERNAL;
            INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload)
            SELECT 'order', 'order-' || i % 97, 'OrderPlaced',
                   to_jsonb((SELECT string_agg(md5(i::text || j), '') FROM generate_series(1, 32768) j))
            FROM generate_series(1, {self.events}) i;
            ALTER TABLE outbox ALTER payload SET STORAGE EXTENDED""")
        return environment.wal_end()

    def topic(self) -> dict[str, str | int]:
        return {"max.message.bytes": 4 << 20, "retention.bytes": 256 << 20}


class Topics(Drain):
    """A backlog over many topics: once the brokers create them on demand, once they exist when the system starts."""

    kind = "topics"

    def __init__(self, name: str, events: int, topics: int) -> None:
        super().__init__(name, events)
        self.title = f"a backlog of {events:,} one-row transactions over {topics} topics"
        self._types = [f"many-{number}" for number in range(topics)]

    def write(self, environment: Environment) -> str:
        environment.sql(f"""
            SET synchronous_commit = off;
            DO $$ BEGIN
              FOR i IN 1..{self.events} LOOP
                INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload)
                VALUES ('many-' || (i::bigint * 7919) % {len(self._types)}, 'key-' || i % 9973, 'OrderPlaced',
                        jsonb_build_object('n', i, 'pad', repeat('x', {self.payload - 40})));
                COMMIT;
              END LOOP;
            END $$""")
        return environment.wal_end()

    def run(self, environment: Environment, system: System) -> Outcome:
        self._delete_topics(environment)
        with prepared(environment, system, self.work), Meter(environment, system.pids) as meter:
            created = self._drain(environment, system)
            system.stop()
            environment.copy_slot("base", SLOT, str(system.plugin))
            system.adopt_slot()
            known = self._drain(environment, system)
        self._delete_topics(environment)
        return Outcome({"new_topics_s": created, "known_topics_s": known} | meter.costs(2 * self.events))

    def _drain(self, environment: Environment, system: System) -> float:
        started = time.time()
        system.start(self.work)
        wait_for(system, lambda: environment.is_confirmed(self.end), LONG, "the end of the backlog")
        return time.time() - started

    def _delete_topics(self, environment: Environment) -> None:
        environment.kafka.delete_topics(f"outbox.event.{each}" for each in self._types)


class Recover(Transaction):
    """Rows that no slot streams: only systems that read the table take it."""

    kind = "recover"

    def __init__(self, name: str, events: int, published: int) -> None:
        super().__init__(name, events, payload=300)
        self.title = f"{events:,} rows without a slot" + (f", {published:,} of them in the topic" if published else "")
        self.published = published

    def setup(self, environment: Environment) -> None:
        """Each run writes its rows."""

    def run(self, environment: Environment, system: System) -> Outcome:
        environment.sql("TRUNCATE outbox")
        with prepared(environment, system, Work(0)):
            if self.published:
                self._write_rows(environment, self.published)
                self._recover(environment, system)
            self._write_rows(environment, self.events - self.published)
            figures = self._recover(environment, system)
            missing = self.events - environment.records()
        return Outcome(figures | {"lost": max(0, missing), "duplicated": max(0, -missing)})

    def takes(self, system: type[System]) -> bool:
        return system.workloads is not None and super().takes(system)

    def _recover(self, environment: Environment, system: System) -> dict[str, float]:
        work = Work(self.events, self.payload)
        environment.settle("outbox")
        system.prepare(work)
        with Meter(environment, system.pids) as meter:
            started = time.time()
            system.start(work)
            wait_for(system, lambda: system.caught_up(work), LONG, "the end of the recovery")
            ended = time.time()
        system.stop()
        environment.drop_slot(SLOT)
        return {"events_per_s": self.events / (ended - started)} | meter.costs(self.events)


class KillDrain(Drain):
    """A SIGKILL half-way through a backlog, and an immediate restart."""

    kind = "kill-drain"
    warms_up = False

    def __init__(self, name: str, events: int) -> None:
        super().__init__(name, events)
        self.title = f"SIGKILL half-way through a backlog of {events:,}"

    def run(self, environment: Environment, system: System) -> Outcome:
        with prepared(environment, system, self.work), Meter(environment, system.pids) as meter:
            system.start(self.work)
            wait_for(system, lambda: environment.records() > self.events // 2, LONG, "half of the backlog")
            system.kill()
            system.start(self.work)
            wait_for(system, lambda: system.caught_up(self.work), LONG, "the rest of the backlog")
            while time.time() - environment.topic.last_append() < _QUIET:
                time.sleep(0.2)
            duplicated = system.records() - self.events
        return Outcome({"duplicated": duplicated} | meter.costs(self.events), meter.series())


class Start(Drain):
    """From the start of the process to the first record in the topic."""

    kind = "start"
    fewest_rounds = 5

    def __init__(self, name: str, events: int) -> None:
        super().__init__(name, events)
        self.title = f"start of the process → the first record is in the topic, {events:,} events waiting"

    def run(self, environment: Environment, system: System) -> Outcome:
        with prepared(environment, system, self.work):
            started = time.time()
            system.start(self.work)
            wait_for(system, lambda: environment.records() >= 1, 120, "the first record")
            first = environment.topic.first_append()
            system.kill()
        return Outcome({"first_event_ms": (first - started) * 1000})
