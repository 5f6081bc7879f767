#!/usr/bin/python3
"""Too few in-sync replicas for the progress topic only: it is named as the reason, and nothing is lost."""

from typing import Any

from walrelay_test.progress_case import ProgressCase
from walrelay_test.testcase import RECONNECT_SOON, main


class ReplicasTest(ProgressCase):
    # Failures are detected within seconds, so that tests do not wait for minutes.
    kafka_options = {"nodes": 3, "properties": {"broker.session.timeout.ms": 2000,
                                                "broker.heartbeat.interval.ms": 500,
                                                "replica.lag.time.max.ms": 3000}}

    def prepare(self) -> None:
        super().prepare()
        self.addCleanup(self.kafka.start)

    def expect_named(self, options: dict[str, Any], *codes: str) -> None:
        """Expects the topic in the state, or one of `codes`."""
        def named() -> bool:
            state = relay.get("/readyz?verbose")[1]
            return any(reason in state for reason in (self.progress_topic, *codes))

        relay = self.start_streaming(options | RECONNECT_SOON)
        self.outbox.insert(1)
        self.expect_published(1)
        self.kafka.alter_topic_config(self.progress_topic, {"min.insync.replicas": 3})
        self.kafka.kill_node(3)
        self.outbox.insert(2)
        confirmed = self.database.confirmed(self.slot)
        relay.wait_until(named, 90, "the reason in the state")
        self.assertEqual(self.database.confirmed(self.slot), confirmed)
        self.kafka.start()
        self.kafka.wait_in_sync()
        relay.wait_ready(120)
        self.outbox.insert(3)
        self.settle(120)
        self.assertEqual(self.first_ids(), [1, 2, 3])

    def test_auto(self) -> None:
        self.expect_named({"pipeline.progress": "auto"})

    def test_required(self) -> None:
        self.expect_named({})

    def test_exactly_once(self) -> None:
        # A coordinator that has to abort the transaction cannot write its marker into the topic either.
        self.expect_named({"pipeline.mode": "exactly_once", "kafka.transaction_timeout": "20s"}, "WR-4025")
        self.assertEqual(self.ids(), [1, 2, 3])


if __name__ == "__main__":
    main()
