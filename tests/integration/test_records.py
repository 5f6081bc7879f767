#!/usr/bin/python3
"""All parts of a record except its value: key, partition, headers, timestamp, topic."""

import time

from walrelay_test.testcase import IntegrationTest, main, partition_for, wait_until

JANUARY = "2020-01-02 03:04:05.678"
JANUARY_MS = 1_577_934_245_678


class KeyTest(IntegrationTest):
    def test_partition_matches_the_java_partitioner(self) -> None:
        self.kafka.create_topic(self.topic, partitions=7)
        self.start_relay()
        keys = ["", "a", "é", "key-0", *(f"order-{number}" for number in range(100))]
        for number, key in enumerate(keys):
            self.outbox.insert(number, key=key)
        self.settle()
        self.assertEqual({record.key.decode(): record.partition for record in self.published()},
                         {key: partition_for(key.encode(), 7) for key in keys})

    def test_partition_column_sets_the_partition(self) -> None:
        self.sql("ALTER TABLE outbox ADD part int")
        self.kafka.create_topic(self.topic, partitions=4)
        self.start_relay({"source.placement": [{"column": "part", "to": "partition"}]})
        for number in range(8):
            self.outbox.insert(number, more={"part": number % 4})
        self.outbox.insert(8, more={"part": None})
        self.settle()
        partitions = {int(dict(record.headers)["id"]): record.partition for record in self.published()}
        self.assertEqual(partitions, {number: number % 4 for number in range(8)}
                         | {8: partition_for(b"k", 4)})


class HeaderTest(IntegrationTest):
    def test_any_column_can_be_a_header(self) -> None:
        self.sql("ALTER TABLE outbox ADD tenant text, ADD raw bytea, ADD at date")
        self.start_relay({"source.placement": [
            {"column": "tenant", "to": "header"}, {"column": "raw", "to": "header", "as": "Raw é"},
            {"column": "at", "to": "header"}, {"column": "tenant", "to": "header", "as": "again"}]})
        self.outbox.insert(1, more={"tenant": "a,b=\u00e9", "raw": b"\0\xff", "at": "2020-02-03"})
        self.outbox.insert(2, more={"tenant": "", "raw": None, "at": None})
        self.settle()
        usual = ("event_type", b"made")
        tenant = "a,b=\u00e9".encode()
        self.assertEqual([record.headers for record in self.published()], [
            [("id", b"1"), usual, ("tenant", tenant), ("Raw é", b"\0\xff"), ("at", b"2020-02-03"),
             ("again", tenant)],
            [("id", b"2"), usual, ("tenant", b""), ("Raw é", None), ("at", None), ("again", b"")]])


class TimestampTest(IntegrationTest):
    def timestamps(self) -> list[int]:
        self.settle()
        return [record.timestamp_ms for record in self.published()]

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def test_default_timestamp_is_the_commit_time(self) -> None:
        before = self.now_ms()
        self.outbox.insert(1)
        after = self.now_ms()
        self.start_relay()
        (timestamp,) = self.timestamps()
        self.assertTrue(before <= timestamp <= after, (before, timestamp, after))

    def test_now_is_the_publishing_time(self) -> None:
        self.outbox.insert(1)
        before = self.now_ms()
        self.start_relay({"route.timestamp": "now"})
        (timestamp,) = self.timestamps()
        self.assertGreaterEqual(timestamp, before)

    def test_column_with_time_zone_sets_the_timestamp(self) -> None:
        self.sql("ALTER TABLE outbox ADD created_at timestamptz")
        self.outbox.insert(1, more={"created_at": f"{JANUARY}+00"})
        self.outbox.insert(2, more={"created_at": f"{JANUARY}999+00"})
        self.start_relay({"route.timestamp": "column:created_at"})
        self.assertEqual(self.timestamps(), [JANUARY_MS, JANUARY_MS])

    def test_column_without_time_zone_is_utc(self) -> None:
        self.sql("ALTER TABLE outbox ADD created_at timestamp")
        self.sql(f"ALTER DATABASE {self.name} SET timezone = 'Asia/Kathmandu'")
        self.outbox.insert(1, more={"created_at": JANUARY})
        self.start_relay({"route.timestamp": "column:created_at"})
        self.assertEqual(self.timestamps(), [JANUARY_MS])

    def test_column_of_milliseconds_sets_the_timestamp(self) -> None:
        self.sql("ALTER TABLE outbox ADD created_at bigint")
        self.outbox.insert(1, more={"created_at": JANUARY_MS})
        self.start_relay({"route.timestamp": "column:created_at"})
        self.assertEqual(self.timestamps(), [JANUARY_MS])

    def test_null_column_falls_back_to_the_commit_time(self) -> None:
        self.sql("ALTER TABLE outbox ADD created_at timestamptz")
        before = self.now_ms()
        self.outbox.insert(1, more={"created_at": None})
        after = self.now_ms()
        self.start_relay({"route.timestamp": "column:created_at"})
        (timestamp,) = self.timestamps()
        self.assertTrue(before <= timestamp <= after, (before, timestamp, after))

    def test_commit_time_is_a_header(self) -> None:
        self.start_relay({"route.commit_time_header": "ce_time"})
        self.commit_at(f"{JANUARY}001+00", 1)
        self.settle()
        record, = self.published()
        self.assertEqual(record.headers[-1], ("ce_time", f"{JANUARY.replace(' ', 'T')}001Z".encode()))

    def test_settings_of_the_role_do_not_change_what_is_read(self) -> None:
        self.sql("ALTER TABLE outbox ADD created_at timestamptz")
        self.sql(f"ALTER DATABASE {self.name} SET datestyle = 'SQL, DMY';"
                 f"ALTER DATABASE {self.name} SET bytea_output = 'escape';"
                 f"ALTER DATABASE {self.name} SET timezone = 'Asia/Kathmandu'")
        self.sql("ALTER TABLE outbox ALTER payload TYPE bytea USING NULL")
        self.outbox.insert(1, payload=b"\0\xff", more={"created_at": f"{JANUARY}+00"})
        self.start_relay({"route.timestamp": "column:created_at"})
        self.assertEqual(self.timestamps(), [JANUARY_MS])
        self.assertEqual(self.published()[0].value, b"\0\xff")


class RetentionTest(IntegrationTest):
    """Brokers that delete old records at once."""

    kafka_options = {"properties": {"log.retention.check.interval.ms": 200, "log.initial.task.delay.ms": 200}}

    def test_old_events_are_kept_with_the_time_of_publishing(self) -> None:
        deleted = f"{self.name}_deleted"
        for topic in (self.topic, f"outbox.event.{deleted}"):
            self.kafka.create_topic(topic, config={"retention.ms": 3_600_000})
        now = self.start_relay({"route.timestamp": "now", "route.commit_time_header": "committed"})
        self.commit_at(f"{JANUARY}+00", 1)
        self.settle()
        self.assertEqual(now.stop(), 0)
        self.assertEqual(now.logs("deleted_at_once"), [])
        # Once these are deleted, the brokers have looked at the others as well.
        relay = self.start_relay()
        self.commit_at(f"{JANUARY}+00", 2, type=deleted)
        warning = relay.wait_for_log("deleted_at_once")
        self.assertEqual((warning["topic"], warning["kept"]), (f"outbox.event.{deleted}", "1 h"))
        self.settle()
        wait_until(lambda: not self.published(deleted), 60, "Kafka to delete the record with its commit time")
        self.assertEqual([dict(record.headers)["committed"] for record in self.published()],
                         [b"2020-01-02T03:04:05.678000Z"])


class TopicTest(IntegrationTest):
    def test_topic_is_built_from_template_and_regex(self) -> None:
        self.start_relay({"route.regex": r"(?<domain>\w+)\.(?<routedByValue>\w+)",
                          "route.topic": self.name + ".${domain}_$2"})
        self.outbox.insert(1, type="shop.order")
        self.outbox.insert(2, type=f"{self.name}-unmatched")
        self.settle()
        for topic, id in ((f"{self.name}.shop_order", b"1"), (f"{self.name}-unmatched", b"2")):
            self.assertEqual([dict(record.headers)["id"] for record in self.kafka.consume(topic)], [id])

    def test_first_record_of_a_new_topic_does_not_wait_a_second(self) -> None:
        relay = self.start_relay(events=True)
        self.outbox.insert(1)
        self.settle()
        for number in (2, 3, 4):
            self.outbox.insert(number, type=f"{self.name}.{number}")
            self.settle()
        latencies_us = sorted(event["latency_us"] for event in relay.acknowledged()[1:])
        self.assertEqual(len(latencies_us), 3)
        self.assertLess(latencies_us[0], 900_000)

    def test_batches_may_be_compressed(self) -> None:
        for number, codec in enumerate(("gzip", "lz4", "snappy", "zstd")):
            relay = self.start_relay({"kafka.compression": codec})
            self.outbox.insert(number, payload='{"a": "%s"}' % ("x" * 10_000))
            self.settle()
            relay.stop()
        self.assertEqual(self.ids(), [0, 1, 2, 3])
        self.assertEqual({len(record.value) for record in self.published()}, {10_009})


class PrintedEventTest(IntegrationTest):
    def test_acknowledged_events_are_printed_without_payload(self) -> None:
        relay = self.start_relay(events=True)
        self.outbox.insert(1, payload='{"secret": "payload"}')
        self.settle()
        (event,) = relay.acknowledged()
        self.assertEqual((event["topic"], event["partition"], event["offset"], event["key"]),
                         (self.topic, 0, 0, "k"))
        self.assertEqual(event["headers"], [["id", "1"], ["event_type", "made"]])
        self.assertNotIn("payload", str(event) + relay.log_text)


if __name__ == "__main__":
    main()
