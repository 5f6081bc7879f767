#!/usr/bin/python3
"""How a real broker handles sequence gaps, duplicates, and a producer whose state it has lost."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from walrelay_test.kafka_frames import KafkaFrames
from walrelay_test.kafka_proxies import KafkaProxies
from walrelay_test.testcase import IntegrationTest, main

_REFUSED = "OutOfOrderSequenceException"


class LostFrameTest(IntegrationTest):
    """One key, so one partition; requests time out after 2 s, so that a loss is detected soon."""

    kafka_options = {"proxied": True}

    def setUp(self) -> None:
        self.frames = KafkaFrames()
        self.links = self.enterContext(KafkaProxies(self.kafka, tap=self.frames.tap))
        super().setUp()
        self.kafka.create_topic(self.topic)
        self.inserted = 0
        self.relay = self.start_relay()
        self.insert_until(lambda: self.frames.produced >= 5)
        self.settle()

    def options(self) -> dict[str, Any]:
        return super().options() | {"kafka.bootstrap_servers": self.links.bootstrap,
                                    "kafka.librdkafka.socket.timeout.ms": "2000"}

    def insert_until(self, done: Callable[[], bool]) -> None:
        """Inserts row by row, so that each row is a separate request as long as latency is low."""
        def insert() -> bool:
            self.inserted += 1
            self.outbox.insert(self.inserted)
            return done()
        self.relay.wait_until(insert, 60, "the expected effect of the inserted rows")

    def refusals(self) -> int:
        return self.kafka.node(1).log.read_text().count(_REFUSED)

    def expect_all_in_order(self, seconds: float = 60) -> list[int]:
        """Checks that each row is published at least once, in order; returns all published ids."""
        self.settle(seconds)
        ids = self.ids()
        self.assertEqual(list(dict.fromkeys(ids)), list(range(1, self.inserted + 1)))
        return ids

    def test_batch_after_a_lost_one_is_refused_and_both_are_resent_in_order(self) -> None:
        self.links[1].delay(0.05)  # so that several requests are in flight
        for _ in range(3):
            refusals = self.refusals()
            self.frames.lose_requests(1)
            self.insert_until(lambda: self.refusals() > refusals)
            self.expect_all_in_order()
        self.assertEqual(self.frames.lost_requests, 3)

    def test_batch_whose_response_was_lost_is_deduplicated(self) -> None:
        refusals = self.refusals()
        for _ in range(10):
            lost = self.frames.lost_answers
            self.frames.lose_answers(1)
            self.insert_until(lambda: self.frames.lost_answers > lost)
            self.links[1].cut(reset=True)  # so that the client does not wait for it
            ids = self.expect_all_in_order()
        self.assertEqual(len(ids), self.inserted, "no duplicates")
        self.assertEqual(self.relay.metric("walrelay_kafka_producers_started_total"), 1)
        self.assertEqual(self.refusals(), refusals)


    def hang(self, wait: Callable[[], bool], what: str) -> None:
        self.frames.hang_producer()
        lost = self.frames.lost_requests
        self.insert_until(lambda: self.frames.lost_requests > lost)
        self.relay.wait_until(wait, 60, what)

    def producers(self) -> float:
        return self.relay.metric("walrelay_kafka_producers_started_total")

    def test_client_that_hangs_while_brokers_answer_another_one_is_replaced(self) -> None:
        self.hang(lambda: self.producers() == 2, "another producer")
        self.expect_all_in_order()
        line = self.relay.logs("kafka_client_stalled")[0]
        self.assertEqual(line["code"], "WR-4037")
        self.assertRegex(line["client"], r"broker \S+ NodeId 1 in state .*waitresp_cnt: \d")
        self.assertEqual(self.relay.metric("walrelay_kafka_clients_stalled_total"), 1)
        self.relay.wait_for_state("streaming")

    def test_client_is_kept_while_no_broker_answers_another_one_either(self) -> None:
        self.links[1].hold("client")
        connections = self.links[1].accepted + 5  # of the producer, and of each client that examines
        self.hang(lambda: self.links[1].accepted >= connections, "further connections")
        self.assertEqual(self.producers(), 1)
        self.assertIn("WR-4001", self.relay.get("/readyz")[1])
        self.links.heal()
        self.frames.begin_producer()
        self.expect_all_in_order()
        self.assertEqual(self.producers(), 1)


class ForgetfulBrokerTest(IntegrationTest):
    """A broker loses acknowledged records at the end of a partition, as after an unclean election."""

    kafka_options = {"properties": {"broker.session.timeout.ms": 2000}}

    def lose_last_batch(self) -> None:
        """Truncates the log of the only partition and deletes the broker's producer state."""
        self.kafka.kill_node(1)
        folder = self.kafka.node(1).folder / "data" / f"{self.topic}-0"
        log = folder / "00000000000000000000.log"
        log.write_bytes(_without_last_batch(log))
        for snapshot in folder.glob("*.snapshot"):
            snapshot.unlink()
        self.kafka.start_node(1)

    def test_publishing_continues_in_order_with_a_new_producer_after_a_sequence_gap(self) -> None:
        self.kafka.create_topic(self.topic)
        relay = self.start_relay()
        for number in range(1, 6):
            self.outbox.insert(number)
            self.settle()
        self.lose_last_batch()
        self.assertEqual(self.ids(), [1, 2, 3, 4])
        self.outbox.insert(6, 7)
        stopped = relay.wait_for_log("producer_restarted")
        self.assertEqual(stopped["code"], "WR-4002", stopped)
        # No producer can recover record 5, which was acknowledged and lost; all others are published in order.
        self.expect_published(1, 2, 3, 4, 6, 7, seconds=120)
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 2)
        self.assertIn(_REFUSED, self.kafka.node(1).log.read_text())


def _without_last_batch(log: Path) -> bytes:
    """Each batch begins with its offset (8 bytes) and the length of the rest (4 bytes)."""
    data = log.read_bytes()
    at = last = 0
    while at < len(data):
        last = at
        at += 12 + struct.unpack_from(">i", data, at + 8)[0]
    return data[:last]


if __name__ == "__main__":
    main()
