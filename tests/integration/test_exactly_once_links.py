#!/usr/bin/python3
"""Exactly-once delivery over bad links: requests and responses are lost, or arrive late.

A request to end a transaction that arrives in the next one must not commit a part of it (KAFKA-17754).
WALRELAY_LATE_ENDS is the number of attempts, by default 10.
"""

import os
from collections.abc import Callable
from typing import Any

from walrelay_dev.kafka_records import library
from walrelay_test.kafka_proxies import KafkaProxies
from walrelay_test.kafka_transactions import coordinator
from walrelay_test.late_end_txn import LateEndTxn
from walrelay_test.linked import KafkaLinkTest
from walrelay_test.once_case import OnceCase, OnceVerifiedTest
from walrelay_test.relay_process import RelayProcess
from walrelay_test.tcp_proxy import TcpProxy
from walrelay_test.testcase import RECONNECT_SOON, main

ATTEMPTS = int(os.environ.get("WALRELAY_LATE_ENDS", "10"))
NONE = 0  # no error
FENCED = {47, 90}  # INVALID_PRODUCER_EPOCH, PRODUCER_FENCED


class LinkTest(KafkaLinkTest, OnceVerifiedTest):
    """Requests and responses are lost, also those that end a transaction, and librdkafka sends them again."""

    def disturb(self, seed: int, work: Callable[[TcpProxy, RelayProcess], object]) -> None:
        relay = self.start_recording({"kafka.librdkafka.socket.timeout.ms": "1000"})
        with self.load(seed, rate=150) as workload:
            for _ in range(3):
                self.expect_progress(relay, workload, 20)
                accepted = self.links[1].accepted
                work(self.links[1], relay)
                relay.wait_until(lambda: self.links[1].accepted > accepted, 60, "another connection")
                self.links.heal()
            self.expect_progress(relay, workload)
        self.expect_only_once()

    def test_reset_connections_repeat_nothing(self) -> None:
        self.disturb(800, lambda link, _: link.cut(reset=True))

    def test_lost_responses_repeat_nothing(self) -> None:
        self.disturb(801, lambda link, _: link.hold("client"))

    def test_lost_requests_repeat_nothing(self) -> None:
        self.disturb(802, lambda link, _: link.hold("server"))


class LateEndTest(OnceCase):
    kafka_options = {"proxied": True}

    def setUp(self) -> None:
        self.late = LateEndTxn()
        self.links = self.enterContext(KafkaProxies(self.kafka, tap=lambda: self.late.tap()))
        super().setUp()

    def options(self) -> dict[str, Any]:
        return super().options() | {"kafka.bootstrap_servers": self.links.bootstrap,
                                    "kafka.librdkafka.socket.timeout.ms": "1000"} | RECONNECT_SOON

    def deliver(self, part: str) -> int:
        return self.late.deliver(self.kafka.config.ports[coordinator(self.kafka, part) - 1])

    def test_producer_without_a_defence_commits_what_it_aborts(self) -> None:
        """Shows that the test finds the anomaly on these brokers."""
        self.kafka.create_topic(self.topic)
        producer = library().Producer({"bootstrap.servers": self.links.bootstrap, "transactional.id": self.name,
                                       "socket.timeout.ms": 1000, "reconnect.backoff.max.ms": 500, "log_level": 0})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(self.topic, b"first")
        producer.flush(30)
        self.late.arm()
        producer.commit_transaction(30)
        producer.begin_transaction()
        producer.produce(self.topic, b"aborted")
        producer.flush(30)
        self.late.wait_until_next_is_open()
        self.assertEqual(self.deliver(self.name), NONE)
        self.late.resume()
        with self.assertRaises(library().KafkaException):  # nothing is open any more
            producer.abort_transaction(30)
        self.assertEqual([record.value for record in self.kafka.consume(self.topic)], [b"first", b"aborted"])

    def test_late_end_of_a_transaction_is_refused(self) -> None:
        self.late.last_topic = self.progress_topic
        relay = self.start_recording()
        errors = set()
        for attempt in range(ATTEMPTS):
            self.late.arm()
            self.outbox.insert(2 * attempt)
            self.late.wait_until_taken()
            self.outbox.insert(2 * attempt + 1)  # is published as soon as the commit is answered
            self.late.wait_until_next_is_open()
            errors.add(self.deliver(self.pipeline))
            relay.wait_for_log("producer_renewed", code="WR-4024")  # its commit was in doubt
            relay.kill()
            self.late.resume()
            relay.start()
        self.expect_once(*range(2 * ATTEMPTS))
        self.assertLessEqual(errors, FENCED)


if __name__ == "__main__":
    main()
