#!/usr/bin/python3
"""Kafka is unavailable for longer than wal_sender_timeout: the relay waits and keeps sending status updates."""

from walrelay_test.testcase import IntegrationTest, main

ROWS = 60_000
LONGEST_MB = 64


class BackPressureTest(IntegrationTest):
    """About 120 MB of rows arrive while the broker is unavailable, with a window of 16 MiB."""

    postgres_options = {}  # the volume of WAL would delay other readers
    # A killed broker can rejoin only after its session has expired, by default 9 s.
    kafka_options = {"properties": {"broker.session.timeout.ms": 2000}}
    payload = "text"

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.kafka.start)
        self.addCleanup(self.kafka.resume_node, 1)
        self.kafka.create_topic(self.topic)
        self.relay = self.start_relay({"source.wal_sender_timeout": "4s"})
        self.outbox.insert(0)
        self.settle()
        self.walsender = self.database.walsender(self.slot)

    def insert_rows(self, transactions: int) -> None:
        size = ROWS // transactions
        for first in range(1, ROWS, size):
            self.sql("INSERT INTO outbox SELECT i, %s, i %% 50, 'made', repeat('x', 2000) "
                     "FROM generate_series(%s, %s) i", self.name, first, first + size - 1)

    def wait_past_the_timeout_of_postgres(self) -> None:
        def backpressure() -> float:
            return self.relay.metric("walrelay_produce_backpressure_seconds_total") or 0
        self.relay.wait_until(lambda: backpressure() > 12, 60, "12 s of back-pressure")

    def expect_still_connected_and_small(self) -> None:
        self.assertEqual(self.database.walsender(self.slot), self.walsender)
        self.assertEqual(self.relay.logs("disconnected"), [])
        self.assertLess(self.relay.memory_mb(), LONGEST_MB)

    def expect_all_published(self) -> None:
        self.settle(120)
        self.assertEqual(self.ids(), list(range(ROWS + 1)))
        self.assertLess(self.relay.memory_mb(), LONGEST_MB)

    def test_relay_stays_connected_while_the_broker_hangs(self) -> None:
        self.kafka.pause_node(1)
        self.insert_rows(transactions=60)
        self.wait_past_the_timeout_of_postgres()
        self.expect_still_connected_and_small()
        self.relay.wait_for_state("degraded")
        # Records that wait for too long, or brokers that do not answer: whichever is noticed first.
        self.assertRegex(self.relay.get("/readyz")[1], "WR-4008|WR-4001")
        self.kafka.resume_node(1)
        self.expect_all_published()

    def test_relay_stays_connected_while_the_broker_is_dead(self) -> None:
        self.kafka.kill_node(1)
        self.insert_rows(transactions=60)
        self.wait_past_the_timeout_of_postgres()
        self.expect_still_connected_and_small()
        self.assertIn("WR-4001", self.relay.get("/readyz")[1])
        self.kafka.start_node(1)
        self.expect_all_published()

    def test_relay_stays_connected_while_the_broker_hangs_during_one_large_transaction(self) -> None:
        self.kafka.pause_node(1)
        self.insert_rows(transactions=1)
        self.wait_past_the_timeout_of_postgres()
        self.expect_still_connected_and_small()
        self.kafka.resume_node(1)
        self.expect_all_published()

    def test_nothing_is_confirmed_while_nothing_is_acknowledged(self) -> None:
        self.kafka.pause_node(1)
        self.outbox.insert(-1)
        first = self.database.log_end()  # WAL of others before this position may be confirmed
        self.insert_rows(transactions=60)
        self.wait_past_the_timeout_of_postgres()
        self.assertLess(self.database.confirmed(self.slot), first)
        self.kafka.resume_node(1)
        self.settle(120)


if __name__ == "__main__":
    main()
