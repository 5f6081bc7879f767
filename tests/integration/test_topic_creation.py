#!/usr/bin/python3
"""Missing topics that walrelay creates or only checks, as [kafka.topics] says."""

from typing import Any

from walrelay_test.kafka_acls import acl_options, allow, login
from walrelay_test.testcase import IntegrationTest, RelayProcess, main, partition_for

_TYPES, _ROUNDS, _PARTITIONS = 50, 8, 3


class TopicCreationTest(IntegrationTest):
    """A broker that creates no topics, and denies what no ACL allows, except to users without a name."""

    kafka_options = acl_options("writer", properties={"auto.create.topics.enable": "false"})

    def create(self, *rules: dict[str, Any], **more: Any) -> RelayProcess:
        """Starts a relay that creates topics."""
        self.relay = self.start_relay({"kafka.topics.create": "create",
                                       "kafka.topics.rules": list(rules) or None, **more})
        return self.relay

    def expect_blocked(self, code: str, *parts: str) -> dict[str, Any]:
        self.relay.wait_for_state("blocked")
        self.assertIn(code, self.relay.get("/readyz")[1])
        line = self.relay.wait_for_log(code=code)
        for part in parts:
            self.assertIn(part, line["msg"])
        return line

    def test_new_types_under_load_get_topics_by_the_first_matching_rule(self) -> None:
        types = [f"{self.name}.t{number}" for number in range(_TYPES)]
        relay = self.create({"match": f"outbox.event.{self.name}.t1?", "partitions": 1},
                            {"match": "outbox.event.*", "partitions": _PARTITIONS, "replication_factor": 1,
                             "config": {"retention.ms": 604_800_000, "cleanup.policy": "delete"}})
        expected: dict[str, list[int]] = {type: [] for type in types}
        for id in range(_TYPES * _ROUNDS):
            type = types[id % _TYPES]
            self.outbox.insert(id, type=type, key=f"k{id // _TYPES % 3}")
            expected[type].append(id)
        self.settle()
        topics = self.kafka.topics()
        for number, type in enumerate(types):
            partitions = 1 if 10 <= number < 20 else _PARTITIONS
            self.assertEqual(topics[f"outbox.event.{type}"], partitions, type)
            records = self.published(type)
            self.assertEqual(sorted(self._id(each) for each in records), expected[type])
            for key in (b"k0", b"k1", b"k2"):
                of_key = [each for each in records if each.key == key]
                self.assertEqual({each.partition for each in of_key}, {partition_for(key, partitions)})
                self.assertEqual([self._id(each) for each in of_key], sorted(self._id(each) for each in of_key))
        self.assertEqual(self.kafka.topic_config(f"outbox.event.{types[0]}"),
                         {"retention.ms": "604800000", "cleanup.policy": "delete"})
        self.assertEqual(self.kafka.topic_config(f"outbox.event.{types[10]}"), {})
        self.assertEqual(relay.metric("walrelay_kafka_topics_created_total"), _TYPES)
        self.assertEqual([relay.logs(code="WR-4004"), relay.logs("disconnected")], [[], []])

    def test_dead_letter_topic_is_created_by_its_rule(self) -> None:
        letters = f"{self.name}-letters"
        self.create({"match": letters, "partitions": 2}, **{"on_error.null_key": "dead_letter",
                                                            "on_error.dead_letter_topic": letters})
        self.outbox.insert(1, key=None)
        self.outbox.insert(2)
        self.expect_published(2)
        self.assertEqual((self.kafka.topics()[letters], self.kafka.topics()[self.topic]), (2, 1))
        self.assertEqual(len(self.kafka.consume(letters)), 1)

    def test_topic_deleted_under_load_is_created_again(self) -> None:
        self.create({"match": "*", "partitions": 2})
        self.outbox.insert(1)
        self.expect_published(1)
        self.kafka.delete_topic(self.topic)
        for number in range(2, 22):
            self.outbox.insert(number)
        self.settle(120)
        self.assertEqual(list(dict.fromkeys(self.ids())), list(range(2, 22)))
        self.assertEqual(self.kafka.topics()[self.topic], 2)

    def test_denied_creation_is_reported_with_the_acl_and_retried(self) -> None:
        there = f"{self.name}.there"
        self.kafka.create_topic(f"outbox.event.{there}")
        for operation in ("write", "describe"):
            allow(self.kafka.bootstrap, "writer", operation, f"outbox.event.{self.name}", "prefixed")
        self.create(**login(self.kafka, "writer"))
        self.outbox.insert(1, type=there)
        self.outbox.insert(2)
        line = self.expect_blocked("WR-4005", self.topic, "TOPIC_AUTHORIZATION_FAILED")
        self.assertIn(f"--operation Create --operation Write --operation Describe --topic {self.topic};", line["hint"])
        self.assertEqual(self.ids(there), [1])
        allow(self.kafka.bootstrap, "writer", "create", self.topic)
        self.expect_published(2)

    def test_unreachable_replication_factor_is_reported_with_its_rule(self) -> None:
        self.create({"match": "outbox.event.*", "replication_factor": 3})
        self.outbox.insert(1)
        self.expect_blocked("WR-4014", self.topic, "INVALID_REPLICATION_FACTOR", 'rule match = "outbox.event.*"')
        self.assertNotIn(self.topic, self.kafka.topics())
        self.kafka.create_topic(self.topic)
        self.expect_published(1)

    def test_invalid_setting_is_reported_with_its_rule(self) -> None:
        self.create({"match": "*", "config": {"retention.hours": 1}})
        self.outbox.insert(1)
        self.expect_blocked("WR-4014", "INVALID_CONFIG", "retention.hours", 'rule match = "*"')

    @staticmethod
    def _id(record: Any) -> int:
        return int(dict(record.headers)["id"])


class TopicCheckTest(IntegrationTest):
    """The tests' broker, which creates topics on demand."""

    def test_missing_topic_blocks_until_an_operator_creates_it(self) -> None:
        relay = self.start_relay({"kafka.topics.create": "check",
                                  "kafka.topics.rules": [{"match": "outbox.*", "partitions": 6}],
                                  "kafka.librdkafka.topic.metadata.refresh.interval.ms": "100"})
        self.outbox.insert(1)
        relay.wait_for_state("blocked")
        line = relay.wait_for_log(code="WR-4004")
        self.assertIn(self.topic, line["msg"])
        self.assertIn(f"kafka-topics.sh --bootstrap-server BROKER --create --topic {self.topic} --partitions 6;",
                      line["hint"])
        self.assertNotIn(self.topic, self.kafka.topics())
        self.kafka.create_topic(self.topic)
        self.expect_published(1)
        self.assertEqual(relay.logs("topic_created"), [])


if __name__ == "__main__":
    main()
