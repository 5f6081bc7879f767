#!/usr/bin/python3
"""Tests of the Kafka Connect worker and Debezium, with which other tests compare walrelay."""

import unittest

from walrelay_dev.connect import ConnectWorker
from walrelay_dev.debezium import outbox_connector
from walrelay_dev.errors import ServerError
from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.postgres import Postgres
from walrelay_dev.process import wait_until
from walrelay_test.database import Database
from walrelay_test.outbox import DEBEZIUM, Outbox
from walrelay_test.servers import new_connect, new_kafka, new_postgres, require_servers


class ConnectTest(unittest.TestCase):
    postgres: Postgres
    kafka: KafkaCluster
    worker: ConnectWorker

    @classmethod
    def setUpClass(cls) -> None:
        require_servers(with_connect=True)
        cls.postgres = cls.enterClassContext(new_postgres(tcp=True))
        cls.kafka = cls.enterClassContext(new_kafka(heap_mb=384))
        cls.worker = cls.enterClassContext(new_connect(cls.kafka))

    def start(self, name: str) -> Outbox:
        """Creates a database, an outbox, a slot and a connector, all named `name`."""
        database = Database.create(self.postgres, name)
        self.addCleanup(database.drop)
        outbox = Outbox(database, name, columns=DEBEZIUM)
        database.execute("CREATE PUBLICATION p FOR TABLE outbox")
        database.create_slot(name)
        self.worker.create_connector(
            name, outbox_connector(self.postgres, name, slot=name, publication="p"))
        self.worker.wait_running(name)
        return outbox

    def test_each_connector_of_a_worker_publishes_its_own_rows(self) -> None:
        for name in ("first", "second"):
            outbox = self.start(name)
            outbox.insert(1, 2, 3)
        for name in ("first", "second"):
            with self.kafka.reader(f"outbox.event.{name}") as reader:
                reader.wait_for(3, 60)
            self.worker.delete_connector(name)
            self.assertEqual(len(self.kafka.consume(f"outbox.event.{name}")), 3)
        self.assertEqual(self.worker.connectors(), [])

    def test_failed_task_shows_its_stack_trace(self) -> None:
        outbox = self.start("failing")
        self.assertIsNone(self.worker.failure("failing"))
        outbox.database.execute("ALTER TABLE outbox RENAME COLUMN payload TO body")
        outbox.database.execute(
            "INSERT INTO outbox (aggregatetype, aggregateid, body) VALUES ('x', '1', '{}')")
        trace = wait_until(lambda: self.worker.failure("failing"), 60, "the task to fail")
        self.assertIn("payload", trace)
        self.worker.delete_connector("failing")

    def test_invalid_configuration_is_rejected_with_the_reason(self) -> None:
        with self.assertRaisesRegex(ServerError, "topic.prefix"):
            self.worker.create_connector("wrong", {
                "connector.class": "io.debezium.connector.postgresql.PostgresConnector"})

    def test_memory_of_the_jvm_is_reported(self) -> None:
        self.assertGreater(self.worker.memory_mb(), 50)


if __name__ == "__main__":
    unittest.main()
