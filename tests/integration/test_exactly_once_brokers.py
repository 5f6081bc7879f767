#!/usr/bin/python3
"""Exactly-once delivery while brokers fail that coordinate the transactions: one broker, and three."""

from typing import Any

from walrelay_test.kafka_transactions import coordinator
from walrelay_test.once_case import OnceVerifiedTest
from walrelay_test.relay_process import RelayProcess
from walrelay_test.testcase import RECONNECT_SOON, main
from walrelay_test.workload import Workload

RATE = 150


class BrokersCase(OnceVerifiedTest):
    def options(self) -> dict[str, Any]:
        return super().options() | {"kafka.transaction_timeout": "10s"} | RECONNECT_SOON

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.kafka.start)

    def work(self, relay: RelayProcess, workload: Workload, transactions: int = 100) -> None:
        """Waits until the workload has committed more transactions."""
        goal = workload.committed + transactions
        relay.wait_until(lambda: workload.committed >= goal, 60, "more transactions")

    def suspend(self, relay: RelayProcess, workload: Workload, node: int) -> None:
        self.kafka.pause_node(node)
        try:
            self.work(relay, workload, 3 * RATE)
        finally:
            self.kafka.resume_node(node)


class OneBrokerTest(BrokersCase):
    # A killed broker can rejoin only after its session has expired, by default 9 s.
    kafka_options = {"isolated_controller": True, "properties": {"broker.session.timeout.ms": 2000}}

    def test_killed_broker_repeats_nothing(self) -> None:
        relay = self.start_recording()
        with self.load(seed=700, rate=RATE) as workload:
            self.work(relay, workload)
            self.kafka.kill_node(1)
            self.kafka.start_node(1)
            self.expect_progress(relay, workload)
        self.expect_only_once(120)

    def test_suspended_broker_repeats_nothing(self) -> None:
        relay = self.start_recording()
        with self.load(seed=701, rate=RATE) as workload:
            self.work(relay, workload)
            self.suspend(relay, workload, 1)
            self.expect_progress(relay, workload)
        self.expect_only_once(120)

    def test_relay_that_is_killed_together_with_the_broker_repeats_nothing(self) -> None:
        relay = self.start_recording()
        with self.load(seed=702, rate=RATE) as workload:
            self.work(relay, workload)
            self.kafka.kill_node(1)
            relay.kill()
            self.kafka.start_node(1)
            relay.start()
            self.expect_progress(relay, workload)
        self.expect_only_once(120)


class ThreeBrokersTest(BrokersCase):
    # Failures are detected within seconds, so that tests do not wait for minutes.
    kafka_options = {"nodes": 3, "properties": {"broker.session.timeout.ms": 2000,
                                                "broker.heartbeat.interval.ms": 500,
                                                "replica.lag.time.max.ms": 3000}}

    def test_killed_and_suspended_coordinators_repeat_nothing(self) -> None:
        relay = self.start_recording()
        with self.load(seed=703, rate=RATE) as workload:
            self.work(relay, workload)
            self.kafka.kill_node(coordinator(self.kafka, self.pipeline))
            self.expect_progress(relay, workload)  # the other two are enough
            self.kafka.start()
            self.kafka.wait_in_sync()
            self.work(relay, workload)
            self.suspend(relay, workload, coordinator(self.kafka, self.pipeline))
            self.expect_progress(relay, workload)
        self.kafka.wait_in_sync()
        self.expect_only_once(120)


if __name__ == "__main__":
    main()
