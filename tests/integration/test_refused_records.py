#!/usr/bin/python3
"""Records that brokers refuse: the row is reported, on_error applies to it, and nothing is repeated."""

import collections
from typing import Any

from walrelay_test.testcase import IntegrationTest, RelayProcess, main, partition_for

ROWS = 2000
BIG = 1001  # the row whose record exceeds its topic's limit
PARTITIONS = 3


class RefusedRecordsTest(IntegrationTest):
    payload = "text"

    def insert_around_a_large_row(self) -> None:
        """Inserts 2,000 rows in one transaction, one of them too large for the topic, and ten rows after it."""
        self.kafka.create_topic(self.topic, partitions=PARTITIONS, config={"max.message.bytes": 20_000})
        with self.database.transaction() as cursor:
            for number in range(1, ROWS + 1):
                size = 50_000 if number == BIG else 50
                self.outbox.insert(number, key=f"k{number % 20}", payload="x" * size, cursor=cursor)
        for number in range(ROWS + 1, ROWS + 11):
            self.outbox.insert(number, key=f"k{number % 20}")

    def appended(self) -> collections.Counter[int]:
        return collections.Counter(self.ids())

    def wait_until_offered_again(self, relay: RelayProcess, times: int) -> None:
        """Waits until the blocked row's record has been sent `times` more times, each time by a new producer."""
        def producers() -> float:
            return relay.metric("walrelay_kafka_producers_started_total")
        goal = producers() + times
        relay.wait_until(lambda: producers() >= goal, 120, "new producers")

    def expect_order(self) -> None:
        """Checks that the first occurrences of each key's events are in the order of their rows."""
        first: dict[str, list[int]] = {}
        seen: set[int] = set()
        for record in self.published():
            number = int(dict(record.headers)["id"])
            if number not in seen:
                seen.add(number)
                first.setdefault(record.key, []).append(number)
        for key, numbers in first.items():
            self.assertEqual(numbers, sorted(numbers), key)

    def test_blocked_row_is_reported_and_does_not_flood_the_topic(self) -> None:
        self.insert_around_a_large_row()
        relay = self.start_relay()
        relay.wait_for_state("blocked")
        where = relay.wait_for_log("blocked")["where"]
        self.assertIn(f"table=public.outbox id={BIG} key=k{BIG % 20}", where)
        self.assertRegex(where, "lsn=[0-9A-F]+/[0-9A-F]+ xid=[0-9]+")
        status, body = relay.get("/readyz?verbose")
        self.assertEqual(status, 503)
        self.assertIn("WR-3006", body)
        self.assertIn(f"id={BIG} ", body)
        before = self.appended()
        self.wait_until_offered_again(relay, times=4)
        self.assertEqual(self.appended(), before)
        self.assertLessEqual(max(before.values()), 3)
        # Records of other partitions were in flight with the refused one; its own partition has none after it.
        partition = partition_for(f"k{BIG % 20}".encode(), PARTITIONS)
        after = [record for record in self.published() if int(dict(record.headers)["id"]) > BIG]
        self.assertNotIn(partition, {record.partition for record in after})
        self.kafka.alter_topic_config(self.topic, {"max.message.bytes": 1_000_000})
        self.settle(120)
        self.assertEqual(sorted(self.appended()), list(range(1, ROWS + 11)))
        self.assertLessEqual(max(self.appended().values()), 3)
        self.expect_order()
        relay.wait_ready()

    def test_refused_record_becomes_a_dead_letter(self) -> None:
        self.insert_around_a_large_row()
        relay = self.start_relay({"on_error.too_large": "dead_letter",
                                  "on_error.dead_letter_topic": f"{self.name}.dead"})
        self.settle(120)
        self.assertEqual(sorted(self.appended()),
                         [number for number in range(1, ROWS + 11) if number != BIG])
        self.expect_order()
        (letter,) = self.kafka.consume(f"{self.name}.dead")
        self.assertEqual(dict(letter.headers)["walrelay.code"], b"WR-3006")
        self.assertEqual(relay.metric("walrelay_dead_letters_total", code="WR-3006"), 1)

    def test_skip_omits_only_the_refused_row(self) -> None:
        self.insert_around_a_large_row()
        relay = self.start_relay({"on_error.too_large": "skip"})
        self.settle(120)
        self.assertEqual(sorted(self.appended()),
                         [number for number in range(1, ROWS + 11) if number != BIG])
        self.assertLessEqual(max(self.appended().values()), 3)
        line = relay.wait_for_log("row_skipped")
        self.assertEqual(line["code"], "WR-3006")
        self.assertIn(f"id={BIG} ", line["row"])

    def refused(self, config: dict[str, Any], options: dict[str, Any] | None = None,
                **bad: Any) -> RelayProcess:
        """Inserts rows 1 to 3 in one transaction; the topic refuses row 2."""
        self.kafka.create_topic(self.topic, config=config)
        relay = self.start_relay(options)
        with self.database.transaction() as cursor:
            self.outbox.insert(1, cursor=cursor)
            self.outbox.insert(2, cursor=cursor, **bad)
            self.outbox.insert(3, cursor=cursor)
        return relay

    def test_refused_commit_time_blocks_under_every_policy(self) -> None:
        """A clock that is ahead is not the fault of any row: nothing is skipped or dead-lettered."""
        self.kafka.create_topic(self.topic)
        relay = self.start_relay({"on_error.refused": "skip", "on_error.value": "skip", "on_error.topic": "skip",
                                  "on_error.too_large": "skip"})
        self.outbox.insert(1)
        self.expect_published(1)
        self.commit_at("infinity", 2, 3)
        relay.wait_for_state("blocked")
        line = relay.wait_for_log("blocked")
        self.assertEqual(line["code"], "WR-4030")
        self.assertIn("id=2 ", line["where"])
        page = relay.get("/readyz?verbose")[1]
        self.assertIn("ahead of this machine's clock", page)
        self.assertIn("message.timestamp.after.max.ms", page)
        self.assertNotIn("skip", page)
        self.assertEqual(self.ids(), [1])
        self.kafka.alter_topic_config(self.topic, {"message.timestamp.after.max.ms": 2 ** 63 - 1})
        self.outbox.insert(4)
        self.expect_published(1, 2, 3, 4, seconds=120)
        self.assertEqual(relay.logs("row_skipped"), [])

    def test_time_of_the_insert_is_not_the_fault_of_the_row(self) -> None:
        self.sql("ALTER TABLE outbox ADD happened timestamptz DEFAULT now() + interval '3 hours'")
        self.kafka.create_topic(self.topic)
        relay = self.start_relay({"route.timestamp": "column:happened", "on_error.refused": "dead_letter",
                                  "on_error.dead_letter_topic": f"{self.name}.dead"})
        self.commit_at((self.sql("SELECT now() + interval '3 hours'")[0][0]).isoformat(), 1)
        relay.wait_for_state("blocked")
        self.assertEqual(relay.wait_for_log("blocked")["code"], "WR-4030")
        relay.stop()
        self.start_relay({"route.timestamp": "now"})
        self.expect_published(1)

    def test_limit_that_no_record_meets_is_not_the_fault_of_the_row(self) -> None:
        self.kafka.create_topic(self.topic, config={"max.message.bytes": 20})
        relay = self.start_relay({"on_error.too_large": "skip"})
        self.outbox.insert(1, 2)
        relay.wait_for_state("blocked")
        self.assertEqual(relay.wait_for_log("blocked")["code"], "WR-4031")
        self.kafka.alter_topic_config(self.topic, {"max.message.bytes": None})
        self.expect_published(1, 2, seconds=120)

    def test_invalid_timestamp_blocks_publishing(self) -> None:
        self.sql("ALTER TABLE outbox ADD happened timestamptz DEFAULT now()")
        relay = self.refused({"message.timestamp.before.max.ms": 3_600_000},
                             {"route.timestamp": "column:happened", "on_error.value": "skip"},
                             more={"happened": "2020-01-01"})
        relay.wait_for_state("blocked")
        self.assertIn("WR-4003", relay.get("/readyz")[1])
        self.assertIn("id=2 ", relay.wait_for_log("blocked")["where"])
        self.kafka.alter_topic_config(self.topic, {"message.timestamp.before.max.ms": None})
        self.expect_published(1, 2, 3, seconds=120)

    def test_invalid_record_is_skipped_when_configured(self) -> None:
        relay = self.refused({"cleanup.policy": "compact"},
                             {"route.compatibility": "debezium", "on_error.refused": "skip"}, key=None)
        self.expect_published(1, 3)
        line = relay.wait_for_log("row_skipped")
        self.assertEqual(line["code"], "WR-4003")
        self.assertIn("id=2 ", line["row"])


if __name__ == "__main__":
    main()
