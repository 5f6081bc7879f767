#!/usr/bin/python3
"""Exactly-once delivery by two instances, and by one that is suspended: neither repeats an event."""

import time
from typing import Any

from walrelay_test.once_case import OnceVerifiedTest
from walrelay_test.relay_process import RelayProcess
from walrelay_test.testcase import main, wait_until

TRANSACTION_SECONDS = 10  # the least
RATE = 180  # transactions a second, with about 1,000 events


class InstancesCase(OnceVerifiedTest):
    # The brokers look for transactions that are open for too long once a second, by default every 10 s.
    kafka_options = {"properties": {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000}}

    def options(self) -> dict[str, Any]:
        return super().options() | {"kafka.transaction_timeout": f"{TRANSACTION_SECONDS}s"}

    def expect_more(self, relay: RelayProcess, seconds: float = 60) -> None:
        """Waits until the relay has published more events."""
        def published() -> float:
            return relay.metric("walrelay_events_published_total") or 0
        before = published()
        relay.wait_until(lambda: published() > before, seconds, "more events")


class SuspensionTest(InstancesCase):
    def test_relay_that_is_suspended_beyond_its_timeout_recovers(self) -> None:
        relay = self.start_recording()
        with self.load(seed=600, rate=RATE):
            self.expect_more(relay)
            self.wait_for_open_transaction(relay)
            wait_until(lambda: self.transaction() == "CompleteAbort", 4 * TRANSACTION_SECONDS, "the brokers' abort")
            relay.resume()
            self.expect_more(relay)
        self.expect_only_once()
        self.assertEqual((relay.starts, relay.running()), (1, True))

    def test_short_suspensions_inside_transactions_repeat_nothing(self) -> None:
        relay = self.start_recording({"source.wal_sender_timeout": "2s"})
        with self.load(seed=601, rate=RATE):
            for seconds in (0.5, 1, 4):
                self.expect_more(relay)
                self.wait_for_open_transaction(relay)
                time.sleep(seconds)  # is suspended
                relay.resume()
            self.expect_more(relay)
        self.expect_only_once()
        self.assertEqual(relay.starts, 1)


class StandbyTest(InstancesCase):
    def options(self) -> dict[str, Any]:
        return super().options() | {"source.wal_sender_timeout": "2s"}

    def setUp(self) -> None:
        super().setUp()
        self.first = self.start_recording()
        self.second = self.start_relay()
        self.second.wait_for_state("standby")

    def test_standby_claims_nothing(self) -> None:
        with self.load(seed=602, rate=RATE):
            self.expect_more(self.first)
            third = self.start_relay()
            third.wait_for_state("standby")
            self.expect_more(self.first)
            self.assertEqual([each.state() for each in (self.second, third)], ["standby", "standby"])
        self.assertEqual(self.first.metric("walrelay_kafka_producers_started_total"), 1)
        self.assertEqual(self.first.logs(code="WR-4021"), [])
        third.kill()
        self.second.kill()
        self.expect_only_once()

    def test_takeovers_from_killed_holders_repeat_nothing(self) -> None:
        with self.load(seed=603, rate=RATE):
            for holder, other in [(self.first, self.second), (self.second, self.first)] * 2:
                self.expect_more(holder)
                holder.kill()
                self.expect_more(other)
                holder.start()
                holder.wait_for_state("standby")
        self.second.kill()
        self.expect_only_once()

    def test_holder_that_was_suspended_for_long_repeats_nothing(self) -> None:
        self.take_over_and_back(604, TRANSACTION_SECONDS + 1)
        self.assertEqual(self.first.wait_for_log("producer_restarted")["code"], "WR-5004")

    def test_holder_that_was_suspended_briefly_is_fenced_when_it_continues(self) -> None:
        self.take_over_and_back(605, 0)
        # Either a record is refused first, or a request that concerns the transaction.
        self.assertIn(self.first.wait_for_log("producer_restarted")["code"], ("WR-4021", "WR-4023"))

    def take_over_and_back(self, seed: int, seconds: float) -> None:
        """Suspends the first relay inside a transaction, for `seconds` or until the second one publishes."""
        with self.load(seed=seed, rate=RATE):
            self.expect_more(self.first)
            self.wait_for_open_transaction(self.first)
            until = time.monotonic() + seconds
            self.expect_more(self.second)
            time.sleep(max(0.0, until - time.monotonic()))  # is suspended
            self.first.resume()
            self.first.wait_for_state("standby")
            self.expect_more(self.second)
            self.second.kill()
            self.expect_more(self.first)
        self.expect_only_once()


if __name__ == "__main__":
    main()
