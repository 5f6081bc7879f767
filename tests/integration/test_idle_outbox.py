#!/usr/bin/python3
"""An outbox without a row beside tables full of them: the log is not retained, the server not bothered."""

from testcase import IntegrationTest, main

MEGABYTE = 1 << 20


class IdleOutboxTest(IntegrationTest):
    def setUp(self) -> None:
        super().setUp()
        self.sql("CREATE TABLE busy (id bigserial, filler text)")
        self.relay = self.start_relay()

    def write_elsewhere(self, megabytes: int) -> None:
        for _ in range(megabytes):
            self.sql("INSERT INTO busy (filler) SELECT repeat('x', 1000) FROM generate_series(1, 1000)")

    def test_busy_table_beside_it_is_confirmed(self) -> None:
        before = self.database.log_end()
        self.write_elsewhere(50)
        self.assertGreater(self.database.log_end() - before, 50 * MEGABYTE)
        self.settle()
        self.assertEqual(self.ids(), [])
        self.assertIsNone(self.relay.metric("walrelay_events_received_total"))

    def test_busy_database_beside_it_is_confirmed(self) -> None:
        self.postgres.psql("CREATE TABLE busy AS SELECT repeat('x', 1000) "
                           "FROM generate_series(1, 30000)")
        self.addCleanup(self.postgres.psql, "DROP TABLE busy")
        self.settle()

    def test_rolled_back_rows_are_confirmed(self) -> None:
        with self.database.transaction(end="ROLLBACK") as cursor:
            self.outbox.insert(*range(1000), cursor=cursor)
        self.settle()
        self.assertEqual(self.ids(), [])

    def test_log_is_given_free(self) -> None:
        self.write_elsewhere(40)

        def retained() -> int:  # restart_lsn moves when the server has logged what runs
            self.sql("CHECKPOINT")
            return int(self.sql("SELECT pg_current_wal_flush_lsn() - restart_lsn "
                                "FROM pg_replication_slots WHERE slot_name = %s", self.slot)[0][0])
        self.relay.wait_until(lambda: retained() < MEGABYTE, 60, "the log to be given free")

    def test_traffic_between_two_events_is_confirmed_with_the_first(self) -> None:
        self.outbox.insert(1)
        self.write_elsewhere(5)
        self.settle()
        self.outbox.insert(2)
        self.expect_published(1, 2)

    def test_server_and_relay_do_not_answer_each_other_without_end(self) -> None:
        self.outbox.insert(1)
        self.settle()
        self.write_elsewhere(1)
        self.settle()
        # Whoever answers every keepalive gets the next at once, tens of thousands a second.
        self.assertLess(self.relay.metric("walrelay_replication_messages_total", type="keepalive"), 500)
        self.assertLess(self.relay.metric("walrelay_replication_status_updates_total"), 500)


class LagMetricTest(IntegrationTest):
    def test_lag_is_measured_while_nothing_streams(self) -> None:
        self.outbox.insert(1)
        relay = self.start_relay({"kafka.bootstrap_servers": "127.0.0.1:1"})
        relay.wait_until(lambda: (relay.metric("walrelay_slot_lag_bytes") or 0) > 0, 60, "a lag")
        self.sql("SELECT pg_logical_emit_message(false, '', repeat('x', 1000000))")
        relay.wait_until(lambda: (relay.metric("walrelay_slot_lag_bytes") or 0) > 1_000_000, 60,
                         "a lag of a megabyte")
        self.assertEqual(relay.metric("walrelay_slot_wal_status", status="reserved"), 1)


if __name__ == "__main__":
    main()
