#!/usr/bin/python3
"""An idle outbox next to busy tables: the slot retains no WAL, and the relay does not load the server."""

import time

from walrelay_test.once_case import OnceCase
from walrelay_test.pgoutput import parse_lsn
from walrelay_test.progress_case import ProgressCase
from walrelay_test.testcase import IntegrationTest, main

MEGABYTE = 1 << 20


class IdleOutboxTest(IntegrationTest):
    postgres_options = {}  # nothing else may write WAL

    def setUp(self) -> None:
        super().setUp()
        self.sql("CREATE TABLE busy (id bigserial, filler text)")
        self.relay = self.start_relay()

    def write_elsewhere(self, megabytes: int) -> None:
        for _ in range(megabytes):
            self.sql("INSERT INTO busy (filler) SELECT repeat('x', 1000) FROM generate_series(1, 1000)")

    def stop_confirmed(self) -> None:
        """A relay that stops confirms what it has read."""
        end = self.database.log_end()
        self.settle()
        self.assertEqual(self.relay.stop(), 0)
        self.assertGreaterEqual(self.database.confirmed(self.slot), end)

    def test_wal_of_a_busy_table_is_confirmed(self) -> None:
        before = self.database.log_end()
        self.write_elsewhere(50)
        self.assertGreater(self.database.log_end() - before, 50 * MEGABYTE)
        self.settle_wal()
        self.assertEqual(self.ids(), [])
        self.assertIsNone(self.relay.metric("walrelay_events_received_total"))

    def test_wal_of_a_busy_database_is_confirmed(self) -> None:
        self.postgres.psql("CREATE TABLE busy AS SELECT repeat('x', 1000) "
                           "FROM generate_series(1, 30000)")
        self.addCleanup(self.postgres.psql, "DROP TABLE busy")
        self.stop_confirmed()

    def test_rolled_back_rows_are_confirmed(self) -> None:
        with self.database.transaction(end="ROLLBACK") as cursor:
            self.outbox.insert(*range(1000), cursor=cursor)
        self.stop_confirmed()
        self.assertEqual(self.ids(), [])

    def test_wal_is_released(self) -> None:
        self.write_elsewhere(40)

        def retained() -> int:  # restart_lsn advances once the server has logged a snapshot of running transactions
            self.sql("CHECKPOINT")
            return int(self.sql("SELECT pg_current_wal_flush_lsn() - restart_lsn "
                                "FROM pg_replication_slots WHERE slot_name = %s", self.slot)[0][0])
        self.relay.wait_until(lambda: retained() < MEGABYTE, 60, "the WAL to be released")

    def test_traffic_between_two_events_is_confirmed_before_the_second(self) -> None:
        self.outbox.insert(1)
        self.write_elsewhere(5)
        self.settle()
        self.outbox.insert(2)
        self.expect_published(1, 2)

    def test_keepalives_do_not_loop_between_server_and_relay(self) -> None:
        self.outbox.insert(1)
        self.settle()
        self.write_elsewhere(1)
        self.settle()
        # A client that answers every keepalive gets the next one immediately: tens of thousands per second.
        self.assertLess(self.relay.metric("walrelay_replication_messages_total", type="keepalive"), 500)
        self.assertLess(self.relay.metric("walrelay_replication_status_updates_total"), 500)


class IdleRecordsTest(ProgressCase):
    def test_wal_of_a_busy_table_is_recorded_rarely(self) -> None:
        self.sql("CREATE TABLE busy (id int)")
        relay = self.start_streaming()
        self.outbox.insert(1)
        self.settle()
        before, started = self.count(), time.monotonic()
        for step in range(15):
            self.sql("INSERT INTO busy VALUES (%s)", step)
            end = self.database.log_end()
            relay.wait_until(lambda: parse_lsn(relay.status()["relay"]["flushed_lsn"]) >= end, 60, "the WAL to be read")
        self.assertLessEqual(self.count() - before, (time.monotonic() - started) / 10 + 2)
        self.assertEqual(relay.stop(), 0)
        self.assertGreaterEqual(self.database.confirmed(self.slot), end)

    def count(self) -> float:
        return self.relays[0].metric("walrelay_progress_records_total") or 0


class IdleTransactionsTest(IdleRecordsTest, OnceCase):
    """Each record is a transaction."""


class LagMetricTest(IntegrationTest):
    def test_lag_is_measured_while_nothing_streams(self) -> None:
        self.outbox.insert(1)
        relay = self.start_relay({"kafka.bootstrap_servers": "127.0.0.1:1"})
        relay.wait_until(lambda: (relay.metric("walrelay_slot_lag_bytes") or 0) > 0, 60, "a slot lag")
        self.sql("SELECT pg_logical_emit_message(false, '', repeat('x', 1000000))")
        relay.wait_until(lambda: (relay.metric("walrelay_slot_lag_bytes") or 0) > 1_000_000, 60,
                         "a lag of a megabyte")
        self.assertEqual(relay.metric("walrelay_slot_wal_status", status="reserved"), 1)


if __name__ == "__main__":
    main()
