"""Common base of the integration tests: real servers, the relay, and helper methods for both."""

import itertools
import os
import sys
import unittest
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.kafka_records import Record
from walrelay_dev.postgres import Postgres
from walrelay_dev.postgres_binaries import DEFAULT_MAJOR, MAJORS
from walrelay_dev.process import wait_until

from .database import Database
from .java_partitioner import partition_for
from .kafka_transactions import wait_for_markers
from .outbox import DEBEZIUM, Outbox
from .pgoutput import parse_lsn
from .relay_config import relay_program
from .relay_process import RelayProcess
from .servers import (check_running, new_kafka, new_postgres, require_servers, shared_kafka, shared_postgres,
                      test_folder)

# For tests in which brokers come and go: by default librdkafka waits up to 10 s before it reconnects.
RECONNECT_SOON = {"kafka.librdkafka.reconnect.backoff.max.ms": "500"}

_numbers = itertools.count(1)
_CRASHES = (-6, -8, -11)  # SIGABRT, SIGFPE, SIGSEGV
_INTERNAL_ERRORS = ("WR-5001", "WR-5010", "WR-5011", "WR-5012")


# No broker answers. Without a record to read, the relay streams nevertheless.
NO_BROKER = {"kafka.bootstrap_servers": "127.0.0.1:1", "pipeline.progress": "off"}


class IntegrationTest(unittest.TestCase):
    """Gives each test a database with an outbox table, its publication and slot.

    Its rows have an aggregate type that no other test uses, `self.name`. Other modules use the same broker at
    the same time. Other tests of the module use the same Postgres: names of roles, slots and prepared transactions
    contain `self.name`. A class that disturbs a server or needs a different one sets `postgres_options` or
    `kafka_options`: it then gets its own server.
    """

    postgres_options: ClassVar[dict[str, Any] | None] = None
    kafka_options: ClassVar[dict[str, Any] | None] = None
    payload: ClassVar[str] = "jsonb"
    internal_errors: ClassVar[bool] = False  # whether the tests cause them

    postgres: Postgres
    kafka: KafkaCluster

    @classmethod
    def setUpClass(cls) -> None:
        major = (cls.postgres_options or {}).get("major", DEFAULT_MAJOR)
        require_servers(major)
        cls.postgres = shared_postgres() if cls.postgres_options is None else \
            cls.enterClassContext(new_postgres(**cls.postgres_options))
        cls.kafka = shared_kafka() if cls.kafka_options is None else \
            cls.enterClassContext(new_kafka(**cls.kafka_options))

    def setUp(self) -> None:
        self.name = f"{_module_name(type(self))}_{os.getpid()}_{next(_numbers)}"
        self.slot = f"{self.name}_slot"
        self.topic = f"outbox.event.{self.name}"
        self.relays: list[RelayProcess] = []
        if self.kafka_options is None:
            check_running(self.kafka)
        if self.postgres_options is None:
            check_running(self.postgres)
        elif not self.postgres.running():
            self.postgres.start()
        self.database = Database.create(self.postgres, self.name)
        self.addCleanup(self._drop_database)
        self.prepare()

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        """Prints the last part of each relay's log after a failure."""
        before = len(result.failures) + len(result.errors) if result else 0
        result = super().run(result)
        if result and len(result.failures) + len(result.errors) > before:
            for relay in getattr(self, "relays", []):
                print(f"--- {self.id()}: {relay.log_file}\n{relay.log_text[-6000:]}", file=sys.stderr)
        return result

    def prepare(self) -> None:
        """Creates the outbox table, then its publication, then the slot."""
        self.outbox = Outbox(self.database, self.name, payload=self.payload)
        self.publish("outbox")

    def publish(self, *tables: str) -> None:
        self.database.execute(f"CREATE PUBLICATION walrelay FOR TABLE {', '.join(tables)} "
                              "WITH (publish = 'insert')")
        self.database.create_slot(self.slot)

    def sql(self, text: str, *values: Any) -> list[tuple]:
        return self.database.execute(text, *values)

    # --- the relay ---

    def options(self) -> dict[str, Any]:
        return {"source.dsn": self.database.dsn, "source.slot": self.slot,
                "kafka.bootstrap_servers": self.kafka.bootstrap, "http.listen": "127.0.0.1:0",
                "metrics.slot_poll_interval": "200ms"}

    def new_relay(self, options: dict[str, Any] | None = None, **process: Any) -> RelayProcess:
        """A relay that is not started yet; `options` are added to those of every test."""
        number = len(self.relays) + 1
        relay = RelayProcess(test_folder() / f"{self.name}-relay{number}",
                             self.options() | (options or {}), **process)
        self.relays.append(relay)
        self.addCleanup(self._end, relay)
        return relay

    def start_relay(self, options: dict[str, Any] | None = None, **process: Any) -> RelayProcess:
        return self.new_relay(options, **process).start()

    def expect_exit(self, code: int, error: str, options: dict[str, Any] | None = None) -> str:
        """Starts a relay that exits by itself with this exit code and error; returns the message of the log line."""
        relay = self.start_relay(options)
        line = relay.wait_for_log("failed")
        self.assertEqual((relay.wait_exit(), line["code"]), (code, error), line)
        return line["msg"]

    def expect_refused(self, error: str, options: dict[str, Any]) -> str:
        """Starts a relay that refuses its configuration before it logs; returns what it prints."""
        relay = self.start_relay(options)
        self.assertEqual(relay.wait_exit(), 78, relay.log_text)
        self.assertIn(error, relay.log_text)
        return relay.log_text

    # --- published records ---

    def settle(self, seconds: float = 60) -> None:
        """Waits until the relay has confirmed all events that were committed before this call.

        WAL of other tables behind them may remain, which a relay with a progress record confirms every ten seconds.
        """
        end = self.database.log_end()
        relay = self._last_running()
        relay.wait_until(lambda: self.database.confirmed(self.slot) >= end or self._confirmed_events(relay, end), seconds,
                         "the events before the end of the WAL to be confirmed")
        self._wait_until_visible(relay)

    def settle_wal(self, seconds: float = 60) -> None:
        """Waits until the relay has confirmed all WAL that was written before this call."""
        end = self.database.log_end()
        self._last_running().wait_until(lambda: self.database.confirmed(self.slot) >= end, seconds,
                                        "the slot to be confirmed up to the end of the WAL")
        self._wait_until_visible(self._last_running())

    def _wait_until_visible(self, relay: RelayProcess) -> None:
        """Waits for what brokers do after they acknowledged: every node learns of a new topic, and every partition of
        a committed transaction gets its marker."""
        if len(self.kafka.node_ids) > 1:
            self.kafka.wait_same_topics()
        if "exactly_once" in relay.configuration:
            wait_for_markers(self.kafka, self.slot)

    def _last_running(self) -> RelayProcess:
        return next(each for each in reversed(self.relays) if each.running())

    def _confirmed_events(self, relay: RelayProcess, end: int) -> bool:
        """Whether the relay of the slot says that what is not recorded before `end` has no events."""
        if not relay.logs("listening"):
            return False  # the level of its log hides the address
        status = relay.status()
        progress, slot = status.get("progress", {}), status.get("slot", {})
        return (status.get("relay", {}).get("state") == "streaming" and progress.get("ahead_bytes") == 0
                and slot.get("active_pid") == self.database.slot(self.slot, "active_pid")
                and parse_lsn(status["relay"]["flushed_lsn"]) >= end
                and self.database.confirmed(self.slot) >= parse_lsn(progress["recorded_lsn"]))

    def commit_at(self, when: str, *ids: int, **row: Any) -> None:
        """Inserts rows in one transaction with this commit time, as a database with a wrong clock does."""
        connection = self.database.connect()
        connection.autocommit = True
        cursor = connection.cursor()
        self.sql("SELECT pg_replication_origin_create(%s)", self.name)
        try:
            cursor.execute("SELECT pg_replication_origin_session_setup(%s)", (self.name,))
            cursor.execute("BEGIN")
            cursor.execute("SELECT pg_replication_origin_xact_setup('0/1', %s::timestamptz)", (when,))
            self.outbox.insert(*ids, cursor=cursor, **row)
            cursor.execute("COMMIT")
            cursor.execute("SELECT pg_replication_origin_session_reset()")
        finally:
            connection.close()
            self.sql("SELECT pg_replication_origin_drop(%s)", self.name)

    def published(self, type: str | None = None) -> list[Record]:
        """The records of an aggregate type's topic, in order."""
        return self.kafka.consume(f"outbox.event.{type or self.name}")

    def ids(self, type: str | None = None) -> list[int]:
        """The ids of the published rows, in order."""
        return [int(dict(record.headers)["id"]) for record in self.published(type)]

    def expect_published(self, *ids: int, type: str | None = None, seconds: float = 60) -> None:
        """Checks that exactly these rows are published, in this order, once everything is confirmed."""
        self.settle(seconds)
        self.assertEqual(self.ids(type), list(ids))

    def wait_for_records(self, count: int, topic: str | None = None, seconds: float = 60) -> None:
        with self.kafka.reader(topic or self.topic) as reader:
            reader.wait_for(count, seconds)

    # --- cleanup ---

    def _end(self, relay: RelayProcess) -> None:
        if relay.starts == 0:
            return
        relay.kill()
        code = relay.wait_exit()
        self.assertNotIn(code, _CRASHES, "the relay crashed")
        if not self.internal_errors:
            found = [line for line in relay.logs() if line.get("code") in _INTERNAL_ERRORS]
            self.assertEqual(found, [], "the relay had an internal error")

    def _drop_database(self) -> None:
        if self.postgres.running():
            self.database.drop()


def _module_name(kind: type) -> str:
    """The name of the test module, also of one that runs as a program."""
    return Path(sys.modules[kind.__module__].__file__).stem.removeprefix("test_")


def for_each_major(base: type[IntegrationTest], majors: Sequence[int] = MAJORS,
                   settings: Mapping[str, Any] | None = None) -> Callable[[type], type]:
    """Decorates a mixin class: adds to its module one test class for each major, of the mixin and `base`.

    Each has its own Postgres, with `settings`; its name is that of the mixin and the major.
    """
    def add(mixin: type) -> type:
        for major in majors:
            name = f"{mixin.__name__}{major}"
            options = {"major": major, "tcp": True, "settings": settings or {}}
            found = type(name, (mixin, base), {"__module__": mixin.__module__, "postgres_options": options})
            setattr(sys.modules[mixin.__module__], name, found)
        return mixin
    return add


def main() -> None:
    unittest.main(verbosity=2)


__all__ = ["DEBEZIUM", "RECONNECT_SOON", "IntegrationTest", "Outbox", "Record", "RelayProcess", "for_each_major", "main",
           "partition_for", "relay_program", "wait_until"]
