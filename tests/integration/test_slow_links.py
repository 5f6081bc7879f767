#!/usr/bin/python3
"""Links that are slow, or deliver byte by byte: nothing is lost, swapped, or there twice; nobody gives up.

The rates are those that such a link can carry.
"""

from linked import KafkaLinkTest, PostgresLinkTest
from testcase import main


class SlowPostgresLinkTest(PostgresLinkTest):
    def expect_undisturbed(self, seed: int, rate: float) -> None:
        """It is one connection throughout."""
        relay = self.start_relay()
        with self.load(seed, rate=rate) as workload:
            relay.wait_until(lambda: workload.committed > 5 * rate, 120, "transactions")
        self.assertEqual(self.expect_no_problem(seconds=120).duplicates, 0)
        self.assertEqual(relay.logs("disconnected"), [])

    def test_half_a_second_more_give_or_take_400_ms(self) -> None:
        self.link.delay(0.5, 0.4)
        self.expect_undisturbed(421, rate=100)

    def test_64_kilobytes_a_second(self) -> None:
        self.link.throttle(64_000)
        self.expect_undisturbed(422, rate=50)

    def test_a_byte_at_a_time(self) -> None:
        self.link.slice()
        self.expect_undisturbed(423, rate=10)

    def test_a_few_bytes_at_a_time(self) -> None:
        self.link.slice(50)
        self.expect_undisturbed(424, rate=100)


class SlowKafkaLinkTest(KafkaLinkTest):
    def expect_undisturbed(self, seed: int, rate: float) -> None:
        """It is one producer throughout."""
        relay = self.start_relay()
        with self.load(seed, rate=rate) as workload:
            relay.wait_until(lambda: workload.committed > 5 * rate, 120, "transactions")
        self.assertEqual(self.expect_no_problem(seconds=120).duplicates, 0)
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 1)

    def test_half_a_second_more_give_or_take_400_ms(self) -> None:
        self.links[1].delay(0.5, 0.4)
        self.expect_undisturbed(441, rate=50)

    def test_answers_that_never_come_within_half_a_second(self) -> None:
        self.links[1].delay(0.3)
        self.expect_undisturbed(445, rate=50)

    def test_64_kilobytes_a_second(self) -> None:
        self.links[1].throttle(64_000)
        self.expect_undisturbed(442, rate=50)

    def test_a_byte_at_a_time(self) -> None:
        self.links[1].slice()
        self.expect_undisturbed(443, rate=10)


if __name__ == "__main__":
    main()
