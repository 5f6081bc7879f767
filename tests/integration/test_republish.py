#!/usr/bin/python3
"""`walrelay republish`: rows of the table become the records that the relay published, with a header that marks them."""

import json
import subprocess
from datetime import datetime, timedelta, timezone
from typing import Any

from walrelay_dev.patience import patient
from walrelay_test.progress_case import ProgressCase
from walrelay_test.relay_config import to_toml
from walrelay_test.testcase import IntegrationTest, Record, main, relay_program
from walrelay_test.servers import test_folder

MARK = "walrelay.republished"


class RepublishCase(IntegrationTest):
    settings: dict[str, Any] = {}

    def republish(self, *arguments: str, code: int = 0, settings: dict[str, Any] | None = None) -> str:
        """Runs the command; returns its standard output. Standard error is in self.errors."""
        run = subprocess.run([relay_program(), "republish", "-c", self.config_file(settings or {}), *arguments],
                             text=True, timeout=patient(120), capture_output=True)
        self.errors = run.stderr
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run.stdout

    def config_file(self, settings: dict[str, Any]) -> str:
        path = test_folder() / f"{self.name}-republish.toml"
        path.write_text(to_toml(self.options() | self.settings | settings))
        return str(path)

    def publish_by_relay(self, *ids: int) -> list[Record]:
        """What the relay publishes for the rows of the table."""
        relay = self.start_relay(self.settings)
        self.expect_published(*ids)
        self.assertEqual(relay.stop(), 0)
        return self.published()

    def republished(self, topic: str | None = None) -> list[Record]:
        return [record for record in self.kafka.consume(topic or self.topic) if MARK in dict(record.headers)]

    def republished_ids(self, topic: str | None = None) -> list[int]:
        return [int(dict(record.headers)["id"]) for record in self.republished(topic)]

    def assert_same(self, originals: list[Record], copies: list[Record], *, timestamps: bool) -> None:
        """Everything but offsets and the mark is equal."""
        def content(record: Record) -> tuple:
            headers = [header for header in record.headers if header[0] not in (MARK, "wr-pos")]
            return (record.partition, record.key, record.value, headers,
                    record.timestamp_ms if timestamps else None)
        self.assertEqual([content(each) for each in copies], [content(each) for each in originals])


class RepublishTest(RepublishCase):
    def test_records_are_those_of_the_relay(self) -> None:
        self.outbox.insert(1, payload='{"a": "ü", "b": [1.50, null]}')
        self.outbox.insert(2, key="it's \"quoted\"\\", payload='"x"')
        self.outbox.insert(3, payload=None, event=None)
        originals = self.publish_by_relay(1, 2, 3)
        output = self.republish("--all")
        self.assertEqual(output, "republished: 3 published\n")
        self.assertIn("3 rows to publish to their topics, in the order of the id column", self.errors)
        self.assert_same(originals, self.republished(), timestamps=False)
        marks = {dict(record.headers)[MARK] for record in self.republished()}
        self.assertEqual(len(marks), 1)
        self.assertIn(b"Z", marks.pop())

    def test_a_selection_is_required(self) -> None:
        self.outbox.insert(1)
        self.republish(code=64)
        self.assertIn("no rows are selected", self.errors)
        self.republish("--limit", "1", code=64)
        self.republish("--all", "--id", "1", code=64)
        self.assertEqual(self.kafka.consume(self.topic), [])

    def test_records_that_kafka_would_delete_at_once_are_refused(self) -> None:
        self.kafka.create_topic(self.topic, config={"retention.ms": 7 * 86_400_000})
        self.sql("ALTER TABLE outbox ADD at timestamptz")
        now = datetime.now(timezone.utc)
        for id, days in ((1, 9), (2, 8), (3, 0)):
            self.outbox.insert(id, more={"at": now - timedelta(days=days)})
        settings = {"route.timestamp": "column:at"}
        self.republish("--all", code=78, settings=settings)
        self.assertIn("WR-4038", self.errors)
        self.assertIn(f"2 of 3 records for topic {self.topic}: older than the 7 days", self.errors)
        self.assertEqual(self.kafka.consume(self.topic), [])
        self.republish("--id", "3", settings=settings)
        output = self.republish("--id", "1", "--id", "2", "--accept-deletion", settings=settings)
        self.assertEqual(output, "republished: 2 published\n")
        self.assertIn("warning: Kafka deletes records soon after they are published", self.errors)
        self.republish("--all", settings={"route.timestamp": "now"})

    def test_rows_are_selected_by_id(self) -> None:
        self.outbox.insert(1, 2, 3, 20)
        self.republish("--id", "2", "--id", "20", "--id", "9", "--id", "02", "--id", "' OR true --")
        self.assertIn("2 of 5 ids found", self.errors)
        self.assertEqual(self.republished_ids(), [2, 20])
        self.republish("--after-id", "3")
        self.assertEqual(self.republished_ids(), [2, 20, 20])
        self.republish("--after-id", "x", code=69)
        self.assertIn("invalid input syntax", self.errors)

    def test_ids_of_text_are_compared_byte_for_byte(self) -> None:
        self.sql("ALTER TABLE outbox ALTER id TYPE text")
        ids = ["it's", 'a"b', "back\\slash", "'; DROP TABLE outbox; --", "ü", "%", ""]
        for id in ids:
            self.sql("INSERT INTO outbox VALUES (%s, %s, 'k', 'made', '{}')", id, self.name)
        for id in ids:
            self.republish("--id", id)
            self.assertIn("1 of 1 ids found", self.errors)
        self.assertEqual([dict(record.headers)["id"].decode() for record in self.republished()], ids)

    def test_rows_are_selected_by_key(self) -> None:
        self.outbox.insert(1, key="it's")
        self.outbox.insert(2, 3)
        self.republish("--key", "it's")
        self.assertEqual(self.republished_ids(), [1])
        self.republish("--key", "k", "--limit", "1")
        self.assertEqual(self.republished_ids(), [1, 2])

    def test_rows_are_selected_by_time(self) -> None:
        self.republish("--since", "2026-01-01T00:00:00Z", code=64)
        self.assertIn("--time-column", self.errors)
        self.sql("ALTER TABLE outbox ADD created_at timestamptz")
        start = datetime(2026, 1, 1, tzinfo=timezone.utc)
        for id in range(4):
            self.outbox.insert(id, more={"created_at": start + timedelta(hours=id)})
        self.republish("--since", "2026-01-01T01:00:00Z", "--until", "2026-01-01T05:00:00+02:00")
        self.assertEqual(self.republished_ids(), [1, 2])
        self.republish("--since", "yesterday", code=64)
        self.assertIn("--since", self.errors)
        self.sql("ALTER TABLE outbox ALTER created_at TYPE timestamp USING created_at AT TIME ZONE 'UTC'")
        self.sql("ALTER TABLE outbox RENAME created_at TO at")
        self.republish("--since", "2026-01-01T03:00:00Z", "--time-column", "at")
        self.assertEqual(self.republished_ids(), [1, 2, 3])

    def test_dry_run_sends_nothing(self) -> None:
        self.outbox.insert(1, 2)
        lines = self.republish("--all", "--dry-run", "--json", settings={"kafka.bootstrap_servers": None}).splitlines()
        records = [json.loads(line) for line in lines]
        self.assertEqual([record["topic"] for record in records], [self.topic] * 2)
        self.assertIn(MARK, [header["name"] for header in records[0]["headers"]])
        self.assertIn("nothing was sent; the run would be: 2 published", self.errors)
        self.assertEqual(self.kafka.consume(self.topic), [])

    def test_other_topic_and_header(self) -> None:
        self.outbox.insert(1)
        topic = f"{self.name}.replay"
        self.republish("--all", "--topic", topic, "--header", "replayed")
        self.assertEqual([name for name, _ in self.kafka.consume(topic)[0].headers], ["id", "event_type", "replayed"])
        self.assertEqual(self.kafka.consume(self.topic), [])
        self.republish("--all", "--topic", "a b", code=64)
        self.assertIn("--topic", self.errors)

    def test_row_that_blocks_ends_the_run(self) -> None:
        self.outbox.insert(1)
        self.outbox.insert(2, type="not a topic")
        self.outbox.insert(3)
        self.assertEqual(self.republish("--all", code=69), "republished: 1 published\n")
        self.assertIn("WR-3005", self.errors)
        self.assertIn("row id=2 key=k of public.outbox", self.errors)
        self.assertEqual(self.republished_ids(), [1])

    def test_policies_apply(self) -> None:
        self.outbox.insert(1)
        self.outbox.insert(2, type="not a topic")
        self.outbox.insert(3, key=None)
        self.outbox.insert(4)
        dead = f"{self.name}.dead"
        output = self.republish("--all", settings={
            "on_error.topic": "dead_letter", "on_error.null_key": "skip", "on_error.dead_letter_topic": dead})
        self.assertEqual(output, "republished: 2 published, 1 skipped, 1 sent to the dead-letter topic\n")
        self.assertIn("dead letter: row id=2", self.errors)
        self.assertIn("skipped: row id=3", self.errors)
        self.assertEqual(self.republished_ids(), [1, 4])
        self.assertEqual(len(self.republished(dead)), 1)

    def test_record_that_the_broker_refuses_is_named(self) -> None:
        self.kafka.create_topic(self.topic, config={"max.message.bytes": 20_000})
        self.outbox.insert(1, 2)
        self.outbox.insert(3, payload='"%s"' % ("x" * 30_000))
        self.outbox.insert(4)
        self.republish("--all", code=69)
        self.assertIn("row id=3", self.errors)
        self.assertEqual(sorted(set(self.republished_ids()) - {4}), [1, 2])
        output = self.republish("--after-id", "2", settings={"on_error.too_large": "skip"})
        self.assertEqual(output, "republished: 1 published, 1 skipped\n")
        self.assertEqual(self.republished_ids()[-1], 4)

    def test_rate_does_not_lose_rows(self) -> None:
        self.outbox.insert(*range(1, 31))
        self.republish("--all", "--rate", "100")
        self.assertEqual(self.republished_ids(), list(range(1, 31)))

    def test_partitioned_and_several_tables(self) -> None:
        self.sql(f"""CREATE TABLE parted (id bigint, aggregate_type text, aggregate_id text, payload jsonb)
                     PARTITION BY RANGE (id);
                     CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (150);
                     CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (150) TO (300);
                     INSERT INTO parted SELECT id, '{self.name}', 'k', '{{}}' FROM generate_series(149, 151) id""")
        self.outbox.insert(1)
        # A table that inherits from an outbox is none.
        self.sql("CREATE TABLE child () INHERITS (outbox)")
        self.sql(f"INSERT INTO child VALUES (7, '{self.name}', 'k', 'made', '{{}}')")
        self.republish("--all", settings={"source.tables": [{"name": "public.outbox"}, {"name": "public.parted"}]})
        self.assertEqual(self.republished_ids(), [1, 149, 150, 151])

    def test_missing_privilege_is_named(self) -> None:
        self.outbox.insert(1)
        role = f"{self.name}_reader"
        self.postgres.psql(f"CREATE ROLE {role} LOGIN")
        self.addCleanup(self.postgres.psql, f"DROP ROLE {role}")
        self.republish("--all", code=69, settings={"source.dsn": f"{self.database.dsn} user={role}"})
        self.assertIn(f'GRANT SELECT ON "public"."outbox" TO "{role}"', self.errors)


class RecordedTest(RepublishCase, ProgressCase):
    def test_rows_are_selected_after_a_position(self) -> None:
        relay = self.start_streaming()
        self.outbox.insert(1)
        self.settle()
        relay.wait_until(self.horizons, 60, "a horizon in the progress record")
        position = self.database.value("SELECT pg_current_wal_flush_lsn()")
        self.outbox.insert(2)
        self.settle()
        self.assertEqual(relay.stop(), 0)
        self.republish("--after-lsn", "0/1", code=64)
        self.assertIn("walrelay progress show", self.errors)
        self.republish("--after-lsn", "nonsense", code=64)
        self.republish("--after-lsn", position)
        self.assertEqual(self.republished_ids()[-1], 2)

    def horizons(self) -> list[Any]:
        shown = subprocess.run([relay_program(), "progress", "show", "--json", "-c", self.config_file({})],
                               text=True, timeout=patient(60), capture_output=True).stdout
        return json.loads(shown)["record"]["horizons"] if shown else []

    def test_relay_is_not_fenced(self) -> None:
        once = {"pipeline.mode": "exactly_once"}
        relay = self.start_streaming(once)
        self.outbox.insert(*range(1, 501))
        self.settle()
        self.republish("--all", settings=once)
        self.outbox.insert(501)
        self.settle()
        self.assertEqual(relay.logs(code="WR-4021"), [])
        self.assertEqual(relay.stop(), 0)
        own = [int(dict(record.headers)["id"]) for record in self.published() if MARK not in dict(record.headers)]
        self.assertEqual(own, list(range(1, 502)))
        self.assertEqual(self.republished_ids(), list(range(1, 501)))


class BinaryTest(RepublishCase):
    settings = {"source.binary": True}

    def test_values_have_the_format_of_the_stream(self) -> None:
        self.sql("ALTER TABLE outbox ALTER payload TYPE bytea USING NULL")
        self.outbox.insert(1, payload=b"\0\xff")
        self.outbox.insert(2, payload=None)
        originals = self.publish_by_relay(1, 2)
        self.republish("--all")
        self.assert_same(originals, self.republished(), timestamps=False)


class CommitTimesTest(RepublishCase):
    postgres_options = {"settings": {"track_commit_timestamp": "on"}}

    def test_order_and_timestamps_are_those_of_the_commits(self) -> None:
        first, second = self.database.connect().cursor(), self.database.connect().cursor()
        for cursor in (first, second):
            cursor.execute("BEGIN")
        self.outbox.insert(3, cursor=first)
        self.outbox.insert(2, cursor=second)
        second.execute("SAVEPOINT s")
        self.outbox.insert(9, cursor=second)
        second.execute("RELEASE s")
        self.outbox.insert(1, cursor=second)
        second.execute("COMMIT")
        first.execute("COMMIT")
        originals = self.publish_by_relay(2, 9, 1, 3)
        self.republish("--since", "2020-01-01T00:00:00Z")
        self.assertIn("in the order of commit time", self.errors)
        self.assert_same(originals, self.republished(), timestamps=True)


if __name__ == "__main__":
    main()
