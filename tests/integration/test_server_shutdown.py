#!/usr/bin/python3
"""pg_ctl stop -m fast: the server waits for its walsenders, and the relay never delays it."""

import time

from walrelay_dev.patience import patient
from walrelay_test.testcase import NO_BROKER, IntegrationTest, main

LONGEST_SECONDS = 5
PAYLOAD = '"%s"' % ("x" * 2000)


class ServerShutdownTest(IntegrationTest):
    postgres_options = {}
    kafka_options = {}
    payload = "text"

    def stop_kafka(self) -> None:
        self.kafka.pause_node(1)
        self.addCleanup(self.kafka.resume_node, 1)

    def insert_many(self, first: int, last: int) -> None:
        self.sql("INSERT INTO outbox SELECT i, %s, 'k', 'made', %s FROM generate_series(%s, %s) i",
                 self.name, PAYLOAD, first, last)

    def expect_quick_stop(self) -> None:
        started = time.monotonic()
        self.postgres.stop("fast", timeout=60)
        self.assertLess(time.monotonic() - started, patient(LONGEST_SECONDS))

    def expect_all_published_after(self, last: int) -> None:
        """Restarts both servers; checks that the first occurrences of rows 1 to `last` are in order."""
        self.kafka.resume_node(1)
        self.postgres.start()
        self.settle()
        self.assertEqual(list(dict.fromkeys(self.ids())), list(range(1, last + 1)))
        self.assertEqual(self.relays[0].starts, 1)

    def start_with_one_row(self, options: dict[str, object] | None = None) -> None:
        self.relay = self.start_relay(options)
        self.outbox.insert(1)
        self.settle()

    def test_server_stops_quickly_with_everything_acknowledged(self) -> None:
        self.start_with_one_row()
        self.expect_quick_stop()
        self.expect_all_published_after(1)

    def test_server_stops_quickly_with_a_row_in_flight(self) -> None:
        self.start_with_one_row()
        self.stop_kafka()
        self.outbox.insert(2)
        self.relay.wait_until(lambda: self.relay.metric("walrelay_inflight_records"), 60, "a row in flight")
        self.expect_quick_stop()
        self.expect_all_published_after(2)

    def test_server_stops_quickly_with_a_full_window_and_a_backlog(self) -> None:
        self.start_with_one_row({"pipeline.max_in_flight_records": 100})
        self.stop_kafka()
        for first in range(2, 20_002, 1000):
            self.insert_many(first, first + 999)
        self.relay.wait_until(
            lambda: (self.relay.metric("walrelay_produce_backpressure_seconds_total") or 0) > 1, 60,
            "back-pressure")
        self.expect_quick_stop()
        self.expect_all_published_after(20_001)

    def test_server_stops_quickly_in_the_middle_of_a_large_transaction(self) -> None:
        self.start_with_one_row({"pipeline.max_in_flight_records": 100})
        self.stop_kafka()
        self.insert_many(2, 20_001)
        self.relay.wait_until(
            lambda: (self.relay.metric("walrelay_produce_backpressure_seconds_total") or 0) > 1, 60,
            "back-pressure")
        self.expect_quick_stop()
        self.expect_all_published_after(20_001)

    def test_server_stops_quickly_while_a_row_waits_for_its_topic(self) -> None:
        self.relay = self.start_relay()
        self.relay.wait_ready()
        self.stop_kafka()
        self.outbox.insert(1)
        self.relay.wait_for_state("degraded")
        self.expect_quick_stop()
        self.expect_all_published_after(1)

    def test_server_stops_quickly_while_publishing_is_blocked(self) -> None:
        self.start_with_one_row()
        self.outbox.insert(2, key=None)
        self.insert_many(3, 20_000)
        self.relay.wait_for_state("blocked")
        self.expect_quick_stop()
        self.postgres.start()
        self.relay.wait_for_state("blocked")
        self.assertEqual(self.ids(), [1])

    def test_server_stops_quickly_while_a_standby_waits(self) -> None:
        self.start_with_one_row()
        self.start_relay().wait_for_state("standby")
        self.expect_quick_stop()
        self.postgres.start()
        self.outbox.insert(2)
        self.settle()
        # Before Postgres 17 a restart loses the last confirmed position, which the standby never knew.
        self.assertEqual(list(dict.fromkeys(self.ids())), [1, 2])

    def test_server_stops_quickly_when_kafka_was_never_reachable(self) -> None:
        relay = self.start_relay(NO_BROKER)
        self.outbox.insert(1)
        relay.wait_for_state("degraded")
        self.expect_quick_stop()


if __name__ == "__main__":
    main()
