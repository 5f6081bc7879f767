#!/usr/bin/python3
"""SIGSTOP of the only relay: briefly, past wal_sender_timeout, and long enough for a takeover by another relay.

(With another relay that takes over meanwhile: test_standby.)
"""

import time

from walrelay_test.testcase import main
from walrelay_test.verified import VerifiedTest


class SuspensionTest(VerifiedTest):
    def options(self) -> dict[str, object]:
        return super().options() | {"source.wal_sender_timeout": "2s"}

    def suspend(self, seed: int, seconds: float) -> None:
        """Suspends the relay under load; everything written meanwhile must be published afterwards."""
        self.relay = self.start_relay()
        self.relay.wait_ready()
        with self.load(seed, rate=200) as workload:
            self.relay.wait_until(lambda: workload.committed > 200, 60, "transactions")
            self.relay.pause()
            time.sleep(seconds)
            self.paused_until = workload.committed
            self.relay.resume()
            self.relay.wait_until(lambda: workload.committed > self.paused_until + 200, 60,
                                  "more transactions")
        self.verdict_after = self.expect_no_problem()
        self.assertEqual(self.relay.starts, 1)
        self.assertTrue(self.relay.running())

    def producers(self) -> float | None:
        return self.relay.metric("walrelay_kafka_producers_started_total")

    def test_suspension_shorter_than_every_timeout_disturbs_nothing(self) -> None:
        self.suspend(461, 0.7)
        self.assertEqual(self.relay.logs("disconnected"), [])
        self.assertEqual(self.verdict_after.duplicates, 0)

    def test_suspension_past_wal_sender_timeout_repeats_nothing(self) -> None:
        self.suspend(462, 5)
        self.relay.wait_for_log("disconnected")
        self.assertEqual(self.verdict_after.repeated, [])
        self.assertEqual(self.producers(), 1)

    def test_suspension_long_enough_for_a_takeover_restarts_the_producer(self) -> None:
        self.suspend(463, 14)
        self.assertEqual(self.relay.wait_for_log("producer_restarted")["code"], "WR-5004")
        self.assertEqual(self.producers(), 2)

    def test_repeated_suspensions_lose_nothing(self) -> None:
        relay = self.start_relay()
        with self.load(seed=464, rate=200):
            for _ in range(10):
                relay.wait_ready()
                relay.pause()
                relay.wait_until(lambda: not self.database.slot(self.slot, "active"), 60, "a free slot")
                relay.resume()
        self.expect_no_problem()


if __name__ == "__main__":
    main()
