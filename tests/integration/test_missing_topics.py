#!/usr/bin/python3
"""Missing topics that brokers do not create: publishing is blocked until the topics exist."""

from walrelay_test.testcase import IntegrationTest, main


class MissingTopicTest(IntegrationTest):
    kafka_options = {"properties": {"auto.create.topics.enable": "false"}}

    def expect_blocked(self) -> None:
        self.relay.wait_for_state("blocked")
        status, page = self.relay.get("/readyz")
        self.assertEqual(status, 503)
        self.assertIn("WR-4004", page)

    def test_publishing_is_blocked_until_the_topic_exists_and_continues_in_order(self) -> None:
        other = f"{self.name}.other"
        self.kafka.create_topic(f"outbox.event.{other}")
        self.relay = self.start_relay({"source.wal_sender_timeout": "2s"})
        self.outbox.insert(1, type=other)
        self.outbox.insert(2)
        self.outbox.insert(3, type=other)
        self.outbox.insert(4)
        self.expect_blocked()
        self.assertEqual(self.ids(other), [1])
        self.kafka.create_topic(self.topic)
        self.expect_published(2, 4)
        self.assertEqual(self.ids(other), [1, 3])
        self.assertEqual(self.relay.logs("disconnected"), [])

    def test_relay_waits_for_a_topic_deleted_under_load(self) -> None:
        self.kafka.create_topic(self.topic)
        self.relay = self.start_relay()
        self.outbox.insert(1)
        self.settle()
        self.kafka.delete_topic(self.topic)
        for number in range(2, 22):
            self.outbox.insert(number)
        self.relay.wait_for_state("blocked", "degraded")
        self.kafka.create_topic(self.topic)
        self.settle(120)
        self.assertEqual(list(dict.fromkeys(self.ids())), list(range(2, 22)))

    def test_relay_creates_no_topic_where_brokers_do_not(self) -> None:
        self.relay = self.start_relay()
        self.outbox.insert(1)
        self.expect_blocked()
        self.assertNotIn(self.topic, self.kafka.topics())


class TopicsOnDemandTest(IntegrationTest):
    """Brokers that create topics on demand, as the tests' brokers do."""

    def test_many_new_types_of_a_transaction_are_no_error(self) -> None:
        relay = self.start_relay()
        types = [f"{self.name}.t{number}" for number in range(100)]
        with self.database.transaction() as cursor:
            for id in range(300):
                self.outbox.insert(id, cursor=cursor, type=types[id % 100])
        self.settle()
        topics = self.kafka.topics()
        self.assertEqual([type for type in types if f"outbox.event.{type}" not in topics], [])
        self.assertEqual(self.ids(types[-1]), [99, 199, 299])
        self.assertEqual([relay.logs(code="WR-4004"), relay.logs("blocked")], [[], []])

    def test_relay_creates_no_topic_where_configuration_forbids_it(self) -> None:
        relay = self.start_relay({"kafka.librdkafka.allow.auto.create.topics": "false",
                                  "kafka.librdkafka.topic.metadata.refresh.interval.ms": "100"})
        self.outbox.insert(1)
        relay.wait_for_state("blocked")
        self.assertIn("WR-4004", relay.get("/readyz")[1])
        self.assertNotIn(self.topic, self.kafka.topics())
        self.kafka.create_topic(self.topic)
        self.expect_published(1)


if __name__ == "__main__":
    main()
