#!/usr/bin/python3
"""Slow links and links that deliver byte by byte: nothing is lost, reordered or duplicated, nothing disconnects.

The workload's rates are low enough for each link.
"""

from typing import Any

from walrelay_test.linked import KafkaLinkTest, PostgresLinkTest
from walrelay_test.testcase import main


class SlowPostgresLinkTest(PostgresLinkTest):
    def options(self) -> dict[str, Any]:
        # The relay asks a silent server for a reply after half of it, and a round trip takes up to 1.8 s.
        return super().options() | {"source.wal_sender_timeout": "10s"}

    def expect_undisturbed(self, seed: int, rate: float) -> None:
        """Checks that the relay keeps one connection."""
        relay = self.start_relay()
        with self.load(seed, rate=rate) as workload:
            relay.wait_until(lambda: workload.committed > 5 * rate, 120, "transactions")
        self.assertEqual(self.expect_no_problem(seconds=120).duplicates, 0)
        self.assertEqual(relay.logs("disconnected"), [])

    def test_500_ms_delay_with_400_ms_jitter_disturbs_nothing(self) -> None:
        self.link.delay(0.5, 0.4)
        self.expect_undisturbed(421, rate=100)

    def test_64_kilobytes_per_second_disturb_nothing(self) -> None:
        self.link.throttle(64_000)
        self.expect_undisturbed(422, rate=50)

    def test_one_byte_at_a_time_disturbs_nothing(self) -> None:
        self.link.slice()
        self.expect_undisturbed(423, rate=10)

    def test_a_few_bytes_at_a_time_disturb_nothing(self) -> None:
        self.link.slice(50)
        self.expect_undisturbed(424, rate=100)


class SlowKafkaLinkTest(KafkaLinkTest):
    def expect_undisturbed(self, seed: int, rate: float) -> None:
        """Checks that the relay keeps one producer."""
        relay = self.start_relay()
        with self.load(seed, rate=rate) as workload:
            relay.wait_until(lambda: workload.committed > 5 * rate, 120, "transactions")
        self.assertEqual(self.expect_no_problem(seconds=120).duplicates, 0)
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 1)

    def test_500_ms_delay_with_400_ms_jitter_disturbs_nothing(self) -> None:
        self.links[1].delay(0.5, 0.4)
        self.expect_undisturbed(441, rate=50)

    def test_responses_slower_than_half_a_second_disturb_nothing(self) -> None:
        self.links[1].delay(0.3)
        self.expect_undisturbed(445, rate=50)

    def test_64_kilobytes_per_second_disturb_nothing(self) -> None:
        self.links[1].throttle(64_000)
        self.expect_undisturbed(442, rate=50)

    def test_one_byte_at_a_time_disturbs_nothing(self) -> None:
        self.links[1].slice()
        self.expect_undisturbed(443, rate=10)


if __name__ == "__main__":
    main()
