#!/usr/bin/python3
"""What a real broker makes of sequences with holes, of repetitions, and of a producer that it forgot."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from testcase import IntegrationTest, main  # first: it knows where the others are

from kafka_frames import KafkaFrames
from kafka_proxies import KafkaProxies

_REFUSED = "OutOfOrderSequenceException"


class LostFrameTest(IntegrationTest):
    """One key, so one partition; requests are given up after 2 s, so that a loss is noticed soon."""

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
        """Row by row, so that each is a request of its own as long as the way is short."""
        def insert() -> bool:
            self.inserted += 1
            self.outbox.insert(self.inserted)
            return done()
        self.relay.wait_until(insert, 60, "what rows are inserted for")

    def refusals(self) -> int:
        return self.kafka.node(1).log.read_text().count(_REFUSED)

    def expect_all_in_order(self, seconds: float = 60) -> list[int]:
        """At least once each; returns all of what is there."""
        self.settle(seconds)
        ids = self.ids()
        self.assertEqual(list(dict.fromkeys(ids)), list(range(1, self.inserted + 1)))
        return ids

    def test_batch_behind_a_lost_one_is_refused_and_both_come_again_in_order(self) -> None:
        self.links[1].delay(0.05)  # several requests are under way
        for _ in range(3):
            refusals = self.refusals()
            self.frames.lose_requests(1)
            self.insert_until(lambda: self.refusals() > refusals)
            self.expect_all_in_order()
        self.assertEqual(self.frames.lost_requests, 3)

    def test_batch_whose_answer_was_lost_is_known_again(self) -> None:
        refusals = self.refusals()
        for _ in range(10):
            lost = self.frames.lost_answers
            self.frames.lose_answers(1)
            self.insert_until(lambda: self.frames.lost_answers > lost)
            self.links[1].cut(reset=True)  # nobody is to wait for it
            ids = self.expect_all_in_order()
        self.assertEqual(len(ids), self.inserted, "nothing comes twice")
        self.assertEqual(self.relay.metric("walrelay_kafka_producers_started_total"), 1)
        self.assertEqual(self.refusals(), refusals)


class ForgetfulBrokerTest(IntegrationTest):
    """A broker loses the end of a log that it has acknowledged, as after an unclean election."""

    kafka_options = {"properties": {"broker.session.timeout.ms": 2000}}

    def lose_last_batch(self) -> None:
        """Cuts it off the log of the only partition; and what the broker remembers of producers."""
        self.kafka.kill_node(1)
        folder = self.kafka.node(1).folder / "data" / f"{self.topic}-0"
        log = folder / "00000000000000000000.log"
        log.write_bytes(_without_last_batch(log))
        for snapshot in folder.glob("*.snapshot"):
            snapshot.unlink()
        self.kafka.start_node(1)

    def test_line_stops_at_the_hole_and_goes_on_with_a_new_producer(self) -> None:
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
        # What was acknowledged and lost is beyond any producer's help; all else is there, in order.
        self.expect_published(1, 2, 3, 4, 6, 7, seconds=120)
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 2)
        self.assertIn(_REFUSED, self.kafka.node(1).log.read_text())


def _without_last_batch(log: Path) -> bytes:
    """Each batch begins with its offset (8 bytes) and the length of what follows (4)."""
    data = log.read_bytes()
    at = last = 0
    while at < len(data):
        last = at
        at += 12 + struct.unpack_from(">i", data, at + 8)[0]
    return data[:last]


if __name__ == "__main__":
    main()
