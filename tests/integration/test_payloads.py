#!/usr/bin/python3
"""Payloads: the record's value is the column's bytes for every type, in text and binary mode of the stream."""

import random

from walrelay_test.testcase import IntegrationTest, main

EVERY_BYTE = bytes(range(256))


class PayloadTest(IntegrationTest):
    """The payload in text mode, the default of Postgres."""

    binary = False

    def options(self) -> dict[str, object]:
        return super().options() | {"source.binary": self.binary}

    def publish_payloads(self, type: str, *payloads: object) -> list[bytes | None]:
        """Publishes these payloads from a column of this type; returns the record values."""
        self.sql(f"ALTER TABLE outbox ALTER payload TYPE {type} USING NULL")
        self.start_relay()
        for number, payload in enumerate(payloads):
            self.outbox.insert(number, payload=payload)
        self.settle()
        self.assertEqual(self.ids(), list(range(len(payloads))))
        return [record.value for record in self.published()]

    def test_text_is_untouched(self) -> None:
        texts = ["", " ", "plain", "é\t\n\r\\ \"'", "\u2028\U0001F600", "\x01\x7f", "x" * 100_000]
        self.assertEqual(self.publish_payloads("text", *texts), [text.encode() for text in texts])

    def test_varchar_is_untouched(self) -> None:
        self.assertEqual(self.publish_payloads("varchar(10)", "a b "), [b"a b "])

    def test_json_is_untouched(self) -> None:
        texts = ['{ "b":1.0,  "a":1e400, "a":2 }', "[]", "null", '"\\u0000\\ud83d\\ude00é"',
                 "123456789012345678901234567890.10", "[" * 500 + "]" * 500]
        self.assertEqual(self.publish_payloads("json", *texts), [text.encode() for text in texts])

    def test_jsonb_is_as_postgres_prints_it(self) -> None:
        texts = ['{ "b":1.0,  "a":1e3, "a":2 }', "[]", "null", '"é\\n"', "12345678901234567890.10"]
        published = self.publish_payloads("jsonb", *texts)
        printed = self.sql("SELECT payload::text FROM outbox ORDER BY id")
        self.assertEqual(published, [text.encode() for (text,) in printed])
        self.assertEqual(published[0], b'{"a": 2, "b": 1.0}')

    def test_bytea_is_published_as_bytes(self) -> None:
        values = [b"", b"\0", EVERY_BYTE, b"\\x41", EVERY_BYTE * 400]
        self.assertEqual(self.publish_payloads("bytea", *values), values)

    def test_null_is_a_record_without_value_and_empty_is_not(self) -> None:
        self.assertEqual(self.publish_payloads("text", None, "", None), [None, b"", None])

    def test_number_is_published_as_text(self) -> None:
        self.assertEqual(self.publish_payloads("bigint", -5, 9223372036854775807),
                         [b"-5", b"9223372036854775807"])

    def test_uuid_is_published_as_text(self) -> None:
        uuid = "7b7c9a52-30a9-4a71-a5a4-9c0a5e0c4b11"
        self.assertEqual(self.publish_payloads("uuid", uuid), [uuid.encode()])

    def test_toasted_payload_of_10_megabytes_arrives_whole(self) -> None:
        self.kafka.create_topic(self.topic, config={"max.message.bytes": 16 << 20})
        text = '{"a": "%s"}' % random.Random(1).randbytes(5_000_000).hex()
        self.start_relay({"kafka.max_record_bytes": "12MiB"})
        self.outbox.insert(1, payload=text)
        self.outbox.insert(2)
        self.expect_published(1, 2)
        self.assertEqual(self.published()[0].value, text.encode())


class BinaryPayloadTest(PayloadTest):
    """The same in binary mode: source.binary = true."""

    binary = True

    def test_type_without_a_known_binary_form_blocks_publishing(self) -> None:
        self.sql("ALTER TABLE outbox ALTER payload TYPE numeric USING NULL")
        relay = self.start_relay()
        self.outbox.insert(1, payload=1)
        relay.wait_for_state("blocked")
        self.assertIn("WR-3002", relay.get("/readyz")[1])


class TextOnlyPayloadTest(IntegrationTest):
    def test_any_type_is_published_as_postgres_prints_it(self) -> None:
        self.sql("CREATE TYPE colour AS ENUM ('red'); CREATE DOMAIN short AS varchar(3);"
                 "CREATE TYPE pair AS (a int, b text)")
        self.start_relay()
        cases = {"numeric": "1.50", "int[]": "{1,NULL,3}", "colour": "red", "short": "abc",
                 "pair": '(1,"a b")', "timestamptz": "2020-01-02 03:04:05.678+00", "interval": "1 day",
                 "xml": "<a/>", "boolean": "t", "float8": "0.1"}
        for number, (type, text) in enumerate(cases.items()):
            self.sql(f"ALTER TABLE outbox ALTER payload TYPE {type} USING NULL")
            self.outbox.insert(number, payload=text)
        self.settle()
        self.assertEqual([record.value.decode() for record in self.published()], list(cases.values()))


class SqlAsciiTest(IntegrationTest):
    """A database without a known encoding: bytes are published unchanged."""

    payload = "text"

    def test_bytes_that_are_not_utf8_are_published(self) -> None:
        self.database.drop()
        self.postgres.psql(f"CREATE DATABASE {self.name} ENCODING 'SQL_ASCII' TEMPLATE template0")
        self.prepare()
        self.start_relay()
        self.sql(f"INSERT INTO outbox VALUES (1, '{self.name}', 'k', 'made', E'\\xE9\\x80')")
        self.expect_published(1)
        self.assertEqual(self.published()[0].value, b"\xE9\x80")


if __name__ == "__main__":
    main()
