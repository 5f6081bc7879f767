#!/usr/bin/python3
"""Tests of what the tests ask brokers about transactions, with a producer of the client library."""

import unittest

from walrelay_dev.errors import ServerError
from walrelay_dev.kafka_records import UNCOMMITTED, library
from walrelay_dev.process import wait_until
from walrelay_test.kafka_transactions import coordinator, delete_records, ends, state_of, transactions, wait_until_ended
from walrelay_test.servers import new_kafka, require_servers


class TransactionsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        require_servers()
        cls.kafka = cls.enterClassContext(new_kafka())
        cls.kafka.create_topic("t")

    def producer(self, id: str):
        producer = library().Producer({"bootstrap.servers": self.kafka.bootstrap, "transactional.id": id})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce("t", id)
        producer.flush(30)
        return producer

    def values(self, **options: str) -> list[bytes]:
        return [record.value for record in self.kafka.consume("t", **options)]

    def test_open_transaction_is_listed_and_holds_readers_back(self) -> None:
        producer = self.producer("held")
        self.assertEqual(state_of(self.kafka, "held"), "Ongoing")
        ((stable, high),) = ends(self.kafka, "t").values()
        self.assertLess(stable, high)
        self.assertNotIn(b"held", self.values())
        self.assertIn(b"held", self.values(isolation=UNCOMMITTED))
        producer.commit_transaction(30)
        self.assertEqual(wait_until_ended(self.kafka, "held"), "CompleteCommit")
        ((stable, high),) = ends(self.kafka, "t").values()
        self.assertEqual(stable, high)
        self.assertIn(b"held", self.values())

    def test_aborted_records_are_visible_only_to_readers_of_all_records(self) -> None:
        self.producer("dropped").abort_transaction(30)
        self.assertEqual(wait_until_ended(self.kafka, "dropped"), "CompleteAbort")
        self.assertNotIn(b"dropped", self.values())
        self.assertIn(b"dropped", self.values(isolation=UNCOMMITTED))

    def test_ids_are_found_by_a_part(self) -> None:
        for id in ("orders.1", "orders.2"):
            self.producer(id).commit_transaction(30)
        self.assertEqual(coordinator(self.kafka, "ders.1"), 1)
        self.assertEqual(state_of(self.kafka, "other"), "")
        self.assertLessEqual({"orders.1", "orders.2"}, transactions(self.kafka).keys())
        with self.assertRaises(ServerError):
            state_of(self.kafka, "orders")

    def test_deleted_records_are_gone(self) -> None:
        self.kafka.create_topic("emptied")
        producer = library().Producer({"bootstrap.servers": self.kafka.bootstrap})
        producer.produce("emptied", b"x")
        producer.flush(30)
        delete_records(self.kafka, "emptied")
        wait_until(lambda: self.kafka.consume("emptied") == [], 30, "an empty topic")


if __name__ == "__main__":
    unittest.main()
