#!/usr/bin/python3
"""Topics get more partitions, or are deleted and recreated, while they are written to."""

from typing import Any

from walrelay_test.testcase import IntegrationTest, RelayProcess, main, partition_for
from walrelay_test.verified import PARTITIONS, VerifiedTest
from walrelay_test.workload import Workload

# Every second instead of every minute.
REFRESH_OFTEN = {"kafka.librdkafka.topic.metadata.refresh.interval.ms": "1000"}


class AddedPartitionsTest(VerifiedTest):
    def options(self) -> dict[str, Any]:
        return super().options() | REFRESH_OFTEN

    def test_keys_move_to_their_new_partitions_in_order(self) -> None:
        """The verifier orders a key's records in its old partition before those in its new one.

        So a record that was sent to the old partition after the change breaks the order.
        """
        relay = self.start_relay()
        topics = Workload.topics(self.name)
        with self.load(901, rate=300) as workload:
            self.expect_progress(relay, workload)
            for topic in topics:
                self.earlier_partitions[topic] = [PARTITIONS]
                self.kafka.add_partitions(topic, 2 * PARTITIONS)
            for topic in topics:
                line = relay.wait_for_log("partitions_changed", topic=topic)
                self.assertEqual((line["code"], line["before"], line["now"]),
                                 ("WR-4011", PARTITIONS, 2 * PARTITIONS))
            self.expect_progress(relay, workload)
        self.assertEqual(self.expect_no_problem().duplicates, 0)
        self.expect_old_partitions_were_finished_first()
        self.assertEqual(relay.metric("walrelay_kafka_partition_count_changes_total"), len(topics))
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 1)

    def expect_old_partitions_were_finished_first(self) -> None:
        """By the broker's clock: all records of the old partitions were appended before a key moved."""
        records = self.kafka.consume(rf"^outbox\.event\.{self.name}\.")
        moved = 0
        for topic in Workload.topics(self.name):
            old, new = [], []
            for record in (each for each in records if each.topic == topic):
                before, now = (partition_for(record.key, count) for count in (PARTITIONS, 2 * PARTITIONS))
                if before != now:
                    (old if record.partition == before else new).append(record.timestamp_ms)
            moved += len(new)
            self.assertLessEqual(max(old), min(new), topic)
        self.assertGreater(moved, 0)


class NewPartitionTest(IntegrationTest):
    def test_row_for_a_new_partition_waits_for_the_records_in_flight(self) -> None:
        """The metadata with the new count arrives before the acknowledgements: the partition is not missing."""
        self.sql("ALTER TABLE outbox ADD part int")
        self.kafka.create_topic(self.topic, partitions=1)
        relay = self.start_relay({"on_error.value": "skip",
                                  "source.placement": [{"column": "part", "to": "partition"}]})
        self.outbox.insert(*range(1, 11), more={"part": 0})
        self.settle()
        end = 11
        for partitions in range(2, 6):
            self.kafka.add_partitions(self.topic, partitions)
            with self.database.transaction() as cursor:
                self.outbox.insert(*range(end, end + 50), cursor=cursor, more={"part": 0})
                self.outbox.insert(*range(end + 50, end + 60), cursor=cursor, more={"part": partitions - 1})
            end += 60
            self.settle()
            self.assertEqual(sorted(self.ids()), list(range(1, end)))
        self.assertEqual(relay.logs("row_skipped"), [])


class RecreatedTopicTest(IntegrationTest):
    kafka_options = {"properties": {"auto.create.topics.enable": "false"}}

    def options(self) -> dict[str, Any]:
        return super().options() | REFRESH_OFTEN

    def insert(self, first: int, last: int) -> None:
        """Inserts rows with ids from `first` to `last`, over 20 keys."""
        for number in range(first, last + 1):
            self.outbox.insert(number, key=f"key-{number % 20}")

    def expect_all(self, first: int, last: int, partitions: int) -> None:
        """Checks the current topic: every event is in the partition of its key, in order."""
        records = self.kafka.consume(self.topic)
        ids = [int(dict(record.headers)["id"]) for record in records]
        self.assertEqual(sorted(set(ids)), list(range(first, last + 1)))
        by_key: dict[bytes, list[int]] = {}
        for record, number in zip(records, ids):
            self.assertEqual(record.partition, partition_for(record.key, partitions), record)
            if number not in by_key.setdefault(record.key, []):
                by_key[record.key].append(number)
        for key, numbers in by_key.items():
            self.assertEqual(numbers, sorted(numbers), key)

    def recreate(self, before: int, after: int) -> RelayProcess:
        self.kafka.create_topic(self.topic, before)
        relay = self.start_relay()
        self.insert(1, 100)
        self.settle()
        self.kafka.delete_topic(self.topic)
        self.insert(101, 200)
        relay.wait_for_state("blocked", "degraded")
        self.kafka.create_topic(self.topic, after)
        self.settle(120)
        self.insert(201, 300)
        self.settle(120)
        self.expect_all(101, 300, after)
        return relay

    def test_recreated_topic_may_have_fewer_partitions(self) -> None:
        self.recreate(6, 2)

    def test_recreated_topic_may_have_more_partitions(self) -> None:
        self.recreate(2, 6)

    def test_recreated_topic_may_have_as_many_partitions(self) -> None:
        self.recreate(3, 3)

    def test_topic_recreated_while_idle_may_have_fewer_partitions(self) -> None:
        self.kafka.create_topic(self.topic, 6)
        relay = self.start_relay()
        self.insert(1, 100)
        self.settle()
        self.kafka.delete_topic(self.topic)
        self.kafka.create_topic(self.topic, 2)
        self.insert(101, 200)
        self.settle(120)
        self.expect_all(101, 200, 2)
        self.assertEqual(relay.logs("failed"), [])


if __name__ == "__main__":
    main()
