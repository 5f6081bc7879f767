#!/usr/bin/python3
"""Drill: docs/guides/topics.md, partitions that are added to a topic while rows are published."""

from walrelay_test.runbook import RunbookCase, check_all_typed
from walrelay_test.testcase import main, partition_for

PAGE = "guides/topics"
BEFORE, AFTER = 12, 24


def tearDownModule() -> None:  # noqa: N802
    check_all_typed()


class AddedPartitionsTest(RunbookCase):
    def test_keys_move_and_no_event_is_missing(self) -> None:
        self.kafka.create_topic(self.topic, partitions=BEFORE)
        relay = self.start_with_proof(options={"kafka.librdkafka.topic.metadata.refresh.interval.ms": "1000"})
        keys = [f"k{number}" for number in range(50)]
        for id, key in enumerate(keys):
            self.outbox.insert(id, key=key)
        self.settle()
        add, look = self.blocks(PAGE, "Add partitions")
        # Kafka's script is not installed: the admin client sends the request that it sends.
        self.assertRegex(add.text, rf"^kafka-topics\.sh --bootstrap-server BROKER --alter --topic \S+ --partitions {AFTER}$")
        self.type(add, only="walrelay")
        self.kafka.add_partitions(self.topic, AFTER)
        line = relay.wait_for_log("partitions_changed", topic=self.topic)
        self.assertEqual((line["code"], line["before"], line["now"]), ("WR-4011", BEFORE, AFTER))
        self.type(look)
        for id, key in enumerate(keys):
            self.outbox.insert(100 + id, key=key)
        self.settle()
        self.assertEqual(sorted(self.ids()), [*range(50), *range(100, 150)])
        for record in self.published():
            partitions = BEFORE if int(dict(record.headers)["id"]) < 100 else AFTER
            self.assertEqual(record.partition, partition_for(record.key, partitions))


if __name__ == "__main__":
    main()
