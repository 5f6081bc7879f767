#!/usr/bin/python3
"""Transactions of any size need little memory: a million rows, a gibibyte."""

import hashlib

from walrelay_test.testcase import IntegrationTest, main

MILLION = 1_000_000
KEYS = 1000
MEBIBYTE = 1 << 20


class LargeTransactionTest(IntegrationTest):
    postgres_options = {}  # the volume of WAL would delay other readers
    kafka_options = {}
    payload = "text"

    def tearDown(self) -> None:
        self.kafka.delete_topic(self.topic)

    def test_million_rows_take_no_more_than_64_mebibytes(self) -> None:
        self.kafka.create_topic(self.topic, partitions=6)
        relay = self.start_relay()
        self.sql("INSERT INTO outbox SELECT i, %s, i %% %s, 'made', '{\"n\": ' || i || '}' "
                 "FROM generate_series(0, %s) i", self.name, KEYS, MILLION - 1)
        self.settle(300)
        self.assertLessEqual(relay.memory_mb(), 64)
        expected = {str(key).encode(): key for key in range(KEYS)}
        for record in self.kafka.stream(self.topic, timeout=120):
            number = expected[record.key]
            self.assertEqual(record.value, b'{"n": %d}' % number)
            expected[record.key] = number + KEYS
        self.assertEqual(set(expected.values()), set(range(MILLION, MILLION + KEYS)))

    def test_gibibyte_takes_no_more_than_128_mebibytes(self) -> None:
        self.kafka.create_topic(self.topic, config={"max.message.bytes": 2 * MEBIBYTE})
        self.sql("ALTER TABLE outbox ALTER payload SET STORAGE EXTERNAL")  # not compressed
        relay = self.start_relay({"kafka.max_record_bytes": "2MiB"})
        self.sql("INSERT INTO outbox SELECT i, %s, 'k', 'made', repeat(md5(i::text), %s) "
                 "FROM generate_series(1, 1024) i", self.name, MEBIBYTE // 32)
        self.settle(300)
        self.assertLessEqual(relay.memory_mb(), 128)
        numbers = []
        for record in self.kafka.stream(self.topic, timeout=120):
            number = int(dict(record.headers)["id"])
            payload = hashlib.md5(str(number).encode()).hexdigest().encode() * (MEBIBYTE // 32)
            self.assertTrue(record.value == payload, f"the payload of row {number}")
            numbers.append(number)
        self.assertEqual(numbers, list(range(1, 1025)))


if __name__ == "__main__":
    main()
