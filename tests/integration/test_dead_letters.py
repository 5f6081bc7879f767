#!/usr/bin/python3
"""`walrelay dead-letters`: lists the rows in the dead-letter topic, shows one, and publishes them after a fix."""

import json
import subprocess
from typing import Any

from walrelay_dev.kafka_records import library
from walrelay_dev.patience import patient
from walrelay_test.protobuf_types import message_type
from walrelay_test.relay_config import to_toml
from walrelay_test.servers import test_folder
from walrelay_test.testcase import IntegrationTest, Record, main, relay_program

MARK = "walrelay.retried"
POLICIES = {f"on_error.{cause}": "dead_letter" for cause in ("null_route", "null_key", "topic", "too_large", "value")}


class DeadLettersTest(IntegrationTest):
    def prepare(self) -> None:
        super().prepare()
        self.dead = f"{self.name}.dead"
        self.policies = POLICIES | {"on_error.dead_letter_topic": self.dead}

    def letters(self, *arguments: str, code: int = 0, settings: dict[str, Any] | None = None) -> str:
        """Runs the command; returns its standard output. Standard error is in self.errors."""
        path = test_folder() / f"{self.name}-letters.toml"
        path.write_text(to_toml(self.options() | self.policies | (settings or {})))
        run = subprocess.run([relay_program(), "dead-letters", arguments[0], "-c", str(path), *arguments[1:]],
                             text=True, timeout=patient(120), capture_output=True)
        self.errors = run.stderr
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run.stdout

    def listed(self, *arguments: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.letters("list", "--json", *arguments).splitlines()]

    def write_letters(self, settings: dict[str, Any] | None = None) -> None:
        """The relay publishes and dead-letters the rows that the table has."""
        relay = self.start_relay(self.policies | (settings or {}))
        self.settle()
        self.assertEqual(relay.stop(), 0)

    def retried(self) -> list[Record]:
        return [record for record in self.published() if MARK in dict(record.headers)]

    def retried_ids(self) -> list[int]:
        return [int(dict(record.headers)["id"]) for record in self.retried()]

    def test_topic_that_does_not_exist_has_no_letters(self) -> None:
        self.assertEqual(self.letters("list"), "")
        self.assertIn("0 dead letters", self.errors)
        self.letters("show", "0/0", code=3)
        self.letters("retry", "--all")
        self.policies = {}
        self.letters("list", code=64)
        self.assertIn("on_error.dead_letter_topic", self.errors)

    def test_letters_are_listed_and_shown(self) -> None:
        self.outbox.insert(1, type="not\na topic", payload='{"a": "\\u001b[31m"}')
        self.outbox.insert(2, key=None)
        self.write_letters()
        first, second = self.listed()
        self.assertEqual((first["code"], first["row_id"], first["key"], first["table"], first["retried"]),
                         ("WR-3005", "1", "k", "outbox", False))
        self.assertEqual((second["code"], second["key"], second["truncated"]), ("WR-3004", None, False))
        self.assertEqual([letter["row_id"] for letter in self.listed("--code", "WR-3004")], ["2"])
        self.assertEqual(len(self.listed("--limit", "1")), 1)
        self.assertIn("and 1 more", self.errors)
        lines = self.letters("list").splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn(f"{first['id']}  ", lines[0])
        self.assertIn("WR-3005  public.outbox  id=1 key=k", lines[0])
        shown = self.letters("show", first["id"])
        self.assertIn("not\\x0aa topic", shown)
        self.assertNotIn("\x1b", shown)
        self.assertIn("reason", shown)
        columns = json.loads(self.letters("show", first["id"], "--json"))["columns"]
        self.assertEqual(columns[1], {"name": "aggregate_type", "type_oid": 25, "value": "not\na topic"})
        self.letters("show", "nonsense", code=64)

    def test_letters_are_published_after_the_configuration_was_fixed(self) -> None:
        self.sql("ALTER TABLE outbox ADD amount numeric(10,2)")
        self.outbox.insert(1)
        self.outbox.insert(2, key=None, payload='{"a": "ü"}', more={"amount": "1.50"})
        self.outbox.insert(3, type="not a topic")
        self.outbox.insert(4, key=None)
        self.write_letters()
        self.letters("retry", code=64)
        # The same configuration: each fails again, and gets no further letter.
        output = self.letters("retry", "--all", code=3)
        self.assertEqual(output, "0 published, 3 failed, 0 retried before\n")
        self.assertIn("failed: WR-3004", self.errors)
        self.assertEqual(len(self.listed()), 3)
        fixed = {"source.columns.aggregate_id": "id",
                 "source.placement": [{"column": "amount", "to": "header", "as": "amount"}]}
        dry = self.letters("retry", "--code", "WR-3004", "--dry-run", "--json", settings=fixed).splitlines()
        self.assertEqual([json.loads(line)["key"] for line in dry], ["2", "4"])
        self.assertEqual(self.retried(), [])
        output = self.letters("retry", "--code", "WR-3004", settings=fixed)
        self.assertEqual(output, "2 published, 0 failed, 0 retried before\n")
        self.assertEqual(self.retried_ids(), [2, 4])
        record = self.retried()[0]
        self.assertEqual((record.key, record.value), (b"2", '{"a": "ü"}'.encode()))
        self.assertEqual(dict(record.headers)["amount"], b"1.50")
        # What was published is marked, and is not published again.
        self.assertEqual([letter["row_id"] for letter in self.listed("--open")], ["3"])
        self.assertEqual([letter["retried"] for letter in self.listed()], [True, False, True])
        self.assertEqual(self.letters("retry", "--all", code=3, settings=fixed),
                         "0 published, 1 failed, 2 retried before\n")
        self.assertEqual(self.retried_ids(), [2, 4])
        again, = self.listed("--code", "WR-3004", "--limit", "1")
        self.assertEqual(self.letters("retry", "--id", again["id"], "--again", settings=fixed),
                         "1 published, 0 failed, 0 retried before\n")
        self.assertEqual(self.retried_ids(), [2, 4, 2])

    def test_records_that_kafka_would_delete_at_once_are_refused(self) -> None:
        self.kafka.create_topic(self.topic, config={"retention.ms": 7 * 86_400_000})
        self.sql("ALTER TABLE outbox ADD at timestamptz NOT NULL DEFAULT now()")
        self.outbox.insert(1, key=None, more={"at": "2020-01-01"})
        self.outbox.insert(2, key=None)
        times = {"route.timestamp": "column:at"}
        self.write_letters(times)
        fixed = {"source.columns.aggregate_id": "id"}
        self.letters("retry", "--all", code=78, settings=fixed | times)
        self.assertIn("WR-4038", self.errors)
        self.assertIn(f"1 of 2 records for topic {self.topic}: older than the 7 days", self.errors)
        self.assertEqual(self.published(), [])
        self.assertEqual(len(self.listed("--open")), 2)  # none is marked
        output = self.letters("retry", "--all", "--accept-deletion", settings=fixed | times)
        self.assertEqual(output, "2 published, 0 failed, 0 retried before\n")
        self.assertIn("warning: Kafka deletes records soon after they are published", self.errors)
        self.letters("retry", "--all", "--again", settings=fixed | {"route.timestamp": "now"})
        self.assertEqual(self.retried_ids(), [1, 2, 1, 2])

    def test_retried_record_is_that_of_the_relay(self) -> None:
        self.kafka.create_topic(self.topic, partitions=4)
        self.outbox.insert(1, key="a", payload='{"x": [1, 2.50]}')
        self.write_letters({"route.allow": ["nothing"]})
        self.letters("retry", "--all")
        self.outbox.insert(2, key="a", payload='{"x": [1, 2.50]}')
        self.write_letters()
        copy, original = self.published()
        headers = [("id", b"1"), *original.headers[1:], (MARK, dict(copy.headers)[MARK])]
        self.assertEqual((copy.partition, copy.key, copy.value, copy.headers),
                         (original.partition, original.key, original.value, headers))
        letter, = self.listed()
        stored = self.kafka.consume(self.dead)[0]
        self.assertEqual(copy.timestamp_ms, stored.timestamp_ms, "the commit time")
        self.assertTrue(letter["retried"])

    def test_truncated_row_is_read_from_its_table(self) -> None:
        self.kafka.create_topic(self.topic, config={"max.message.bytes": 2_000_000})
        self.outbox.insert(1, payload='"%s"' % ("x" * 1_100_000))
        self.outbox.insert(2, payload='"%s"' % ("y" * 1_100_000))
        self.write_letters()
        self.sql("DELETE FROM outbox WHERE id = 2")
        self.assertEqual([letter["truncated"] for letter in self.listed()], [True, True])
        self.assertIn("truncated: ", self.letters("show", self.listed()[0]["id"]))
        output = self.letters("retry", "--all", code=3, settings={"kafka.max_record_bytes": 1_500_000})
        self.assertEqual(output, "1 published, 1 failed, 0 retried before\n")
        self.assertIn('no row with id "2"', self.errors)
        self.assertEqual(len(self.retried()[0].value or b""), 1_100_002)

    def test_letters_of_an_altered_or_unknown_table(self) -> None:
        self.outbox.insert(1, key=None)
        self.write_letters()
        self.sql("ALTER TABLE outbox ADD note text")
        self.outbox.insert(2, key=None, more={"note": "n"})
        self.write_letters()
        fixed = {"source.columns.aggregate_id": "id"}
        self.assertEqual(self.letters("retry", "--all", settings=fixed), "2 published, 0 failed, 0 retried before\n")
        self.assertEqual(self.retried_ids(), [1, 2])
        self.sql("ALTER TABLE outbox RENAME TO renamed")
        self.letters("retry", "--all", "--again", code=3, settings={**fixed, "source.table": "public.renamed"})
        self.assertIn("public.outbox is not a table of this configuration", self.errors)

    def test_other_records_of_the_topic_are_reported(self) -> None:
        producer = library().Producer({"bootstrap.servers": self.kafka.bootstrap})
        producer.produce(self.dead, b"\xff\xff", b"k")
        producer.flush()
        entry, = self.listed()
        self.assertFalse(entry["dead_letter"])
        self.letters("retry", "--all", code=3)
        self.assertIn("not a dead letter", self.errors)

    def test_forged_letter_publishes_nothing_that_no_row_has(self) -> None:
        """Any user who may write to the topic can write a dead letter: it only names a row of the table."""
        self.outbox.insert(1, key=None, payload='{"amount": 1}')
        self.write_letters()
        letter = message_type("walrelay.events.v1.DeadLetter")
        forged = letter.FromString(self.kafka.consume(self.dead)[0].value)
        columns = {column.name: column for column in forged.columns}
        columns["payload"].value = b'{"amount": 1000000}'
        same_id = forged.SerializeToString()
        columns["id"].value = b"99"
        producer = library().Producer({"bootstrap.servers": self.kafka.bootstrap})
        for value in (same_id, forged.SerializeToString()):
            producer.produce(self.dead, value, b"victim")
        producer.flush()
        fixed = {"source.columns.aggregate_id": "id"}
        self.assertEqual(self.letters("retry", "--all", code=3, settings=fixed),
                         "2 published, 1 failed, 0 retried before\n")
        self.assertIn('the row cannot be verified: its table has no row with id "99"', self.errors)
        self.assertEqual([record.value for record in self.retried()], [b'{"amount": 1}'] * 2)
        # Rows that were deleted are only in the topic.
        self.sql("DELETE FROM outbox")
        self.letters("retry", "--all", "--again", code=3, settings=fixed)
        self.letters("retry", "--all", "--again", "--trust-topic", settings=fixed)
        self.assertEqual(self.retried()[-1].value, b'{"amount": 1000000}')

    def test_values_in_binary_format_are_retried(self) -> None:
        self.outbox.insert(1, type="not a topic", payload='{"a": 1}')
        self.write_letters({"source.binary": True})
        self.letters("retry", "--all", settings={"route.topic": self.topic})
        self.assertEqual(self.published()[0].value, b'{"a": 1}')


if __name__ == "__main__":
    main()
