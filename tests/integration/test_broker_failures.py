#!/usr/bin/python3
"""Broker failures under load: no event is lost, reordered or confirmed early."""

import random
import time
from typing import Any

from walrelay_test.testcase import RECONNECT_SOON, IntegrationTest, main
from walrelay_test.verified import VerifiedTest


class BrokerRestartTest(VerifiedTest):
    # A killed broker can rejoin only after its session has expired, by default 9 s.
    kafka_options = {"properties": {"broker.session.timeout.ms": 2000}}

    def options(self) -> dict[str, Any]:
        return super().options() | RECONNECT_SOON

    def test_killed_and_restarted_broker_loses_nothing(self) -> None:
        relay = self.start_relay()
        with self.load(seed=80, rate=200) as workload:
            for _ in range(3):
                goal = workload.committed + 200
                relay.wait_until(lambda: workload.committed >= goal, 60, "more transactions")
                self.kafka.kill_node(1)
                self.kafka.start_node(1)
        self.expect_no_problem(seconds=120)

    def test_repeatedly_hung_broker_causes_no_duplicate(self) -> None:
        chance = random.Random(81)
        self.start_relay()
        with self.load(seed=81, rate=200):
            for _ in range(20):
                self.kafka.pause_node(1)
                time.sleep(chance.uniform(0.05, 0.6))
                self.kafka.resume_node(1)
                time.sleep(chance.uniform(0, 0.2))
        self.assertEqual(self.expect_no_problem(seconds=120).duplicates, 0)

    def test_clean_broker_stop_loses_nothing(self) -> None:
        relay = self.start_relay()
        with self.load(seed=82, rate=200) as workload:
            self.kafka.stop()
            relay.wait_for_state("degraded")
            self.assertGreater(workload.committed, 0)
            self.kafka.start()
        self.expect_no_problem(seconds=120)
        relay.wait_ready()

    def test_relay_that_starts_before_kafka_waits_for_it(self) -> None:
        self.kafka.stop()
        relay = self.start_relay()
        with self.load(seed=83, rate=200):
            relay.wait_for_state("degraded")
        self.kafka.start()
        self.assertEqual(self.expect_no_problem(seconds=120).duplicates, 0)


class RecordLimitTest(IntegrationTest):
    """The topic's record limit is lower than the relay's limit."""

    payload = "text"

    def test_publishing_is_blocked_by_a_refused_record_until_kafka_accepts_it(self) -> None:
        self.kafka.create_topic(self.topic, config={"max.message.bytes": 1500})
        relay = self.start_relay()
        self.outbox.insert(1)
        self.settle()
        for number in range(2, 42):
            self.outbox.insert(number, payload="x" * (5000 if number == 20 else 100))
        relay.wait_for_state("blocked")
        self.assertIn("WR-3006", relay.get("/readyz")[1])
        self.kafka.alter_topic_config(self.topic, {"max.message.bytes": 1_000_000})
        self.settle(120)
        self.assertEqual(list(dict.fromkeys(self.ids())), list(range(1, 42)))
        relay.wait_ready()

    def test_other_topics_keep_their_order_while_publishing_is_blocked(self) -> None:
        other = f"{self.name}.other"
        self.kafka.create_topic(self.topic, config={"max.message.bytes": 1500})
        relay = self.start_relay()
        self.outbox.insert(1)
        self.outbox.insert(2, type=other)
        self.settle()
        for number in range(3, 100):
            if number % 3 == 0:
                self.outbox.insert(number, payload="x" * (5000 if number == 30 else 100))
            else:
                self.outbox.insert(number, type=other)
        relay.wait_for_state("blocked")
        self.kafka.alter_topic_config(self.topic, {"max.message.bytes": None})
        self.settle(120)
        self.assertEqual(list(dict.fromkeys(self.ids())), [1, *range(3, 100, 3)])
        self.assertEqual(list(dict.fromkeys(self.ids(other))),
                         [2, *(number for number in range(3, 100) if number % 3)])


if __name__ == "__main__":
    main()
