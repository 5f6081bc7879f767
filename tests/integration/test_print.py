#!/usr/bin/python3
"""`walrelay print`: the records that would be published, without moving the slot or contacting Kafka."""

import json
import subprocess
from typing import Any

from walrelay_dev.patience import patient
from walrelay_test.testcase import IntegrationTest, main, relay_program, wait_until


class PrintTest(IntegrationTest):
    user = "postgres"

    def arguments(self, *arguments: str) -> list[Any]:
        return [relay_program(), "print", "--dsn", f"{self.database.dsn} user={self.user}", "--slot", self.slot,
                "--set", "source.publication=walrelay", *arguments]

    def print(self, *arguments: str, code: int = 0) -> list[str]:
        run = subprocess.run(self.arguments(*arguments), text=True, timeout=patient(60), capture_output=True)
        self.assertEqual(run.returncode, code, run.stderr)
        self.errors = run.stderr
        return run.stdout.split("\n")[:-1]

    def position(self) -> tuple:
        return (self.slot_column("confirmed_flush_lsn"), self.slot_column("restart_lsn"))

    def slot_column(self, name: str) -> Any:
        return self.database.slot(self.slot, name)

    def test_print_reads_the_slot_without_moving_it(self) -> None:
        self.outbox.insert(1, payload='{"a": "ü"}')
        self.outbox.insert(2, 3, key="other")
        before = self.position()
        records = [json.loads(line) for line in self.print("--json")]
        self.assertEqual([each["key"] for each in records], ["k", "other", "other"])
        self.assertEqual(records[0]["topic"], self.topic)
        self.assertEqual(records[0]["value"], '{"a": "ü"}')
        self.assertEqual(records[0]["headers"], [{"name": "id", "value": "1"},
                                                 {"name": "event_type", "value": "made"}])
        self.assertEqual(self.position(), before)
        self.assertEqual(len(self.print()), 3)  # the slot can be read repeatedly
        self.assertEqual(len(self.print("--limit", "1")), 1)
        self.assertEqual(self.kafka.consume(self.topic), [])
        self.assertEqual(self.sql("SELECT 1 FROM pg_replication_slots WHERE temporary AND database = %s", self.name), [])

    def test_slot_may_be_in_use(self) -> None:
        self.start_relay().wait_ready()
        self.outbox.insert(1)
        self.expect_published(1)
        self.assertEqual(self.print(), [])
        self.outbox.insert(2)
        self.expect_published(1, 2)

    def test_follow_prints_new_rows(self) -> None:
        self.outbox.insert(1)
        child = subprocess.Popen(self.arguments("--follow", "--limit", "1"), text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(child.kill)
        wait_until(lambda: self.sql("SELECT 1 FROM pg_replication_slots WHERE temporary AND database = %s "
                                    "AND confirmed_flush_lsn IS NOT NULL", self.name), 60, "a temporary slot")
        self.outbox.insert(2)
        printed, _ = child.communicate(timeout=patient(60))
        self.assertIn("  id=2  ", printed)
        self.assertEqual(printed.count("\n"), 1)

    def test_rows_can_be_selected_by_id(self) -> None:
        self.outbox.insert(1, 2, 3)
        lines = self.print("--id", "2", "--id", "9")
        self.assertEqual(len(lines), 1)
        self.assertIn("  id=2  ", lines[0])
        self.assertIn("1 of 2 rows found", self.errors)

    def test_row_that_would_block_the_relay_is_reported(self) -> None:
        self.outbox.insert(1)
        self.outbox.insert(2, type="not a topic")
        self.assertEqual(len(self.print(code=69)), 1)
        self.assertIn("WR-3005", self.errors)
        self.assertIn("id=2", self.errors)

    def test_binary_values_are_complete_in_json(self) -> None:
        self.sql("ALTER TABLE outbox ALTER payload TYPE bytea USING NULL")
        self.outbox.insert(1, payload=b"\0\xff")
        record, = map(json.loads, self.print("--json"))
        self.assertEqual(record["value_base64"], "AP8=")

    def test_publication_that_hides_the_rows_is_reported(self) -> None:
        self.outbox.insert(1)
        self.sql("ALTER PUBLICATION walrelay SET (publish = 'update')")
        self.print(code=78)
        self.assertIn("WR-2304", self.errors)
        self.sql("DROP PUBLICATION walrelay")
        self.print("--follow", code=78)
        self.assertIn("WR-2301", self.errors)

    def test_publication_without_publish_via_partition_root_is_reported(self) -> None:
        self.sql("DROP TABLE outbox")
        self.sql("CREATE TABLE outbox (id bigint, aggregate_type text, aggregate_id text, payload jsonb) "
                 "PARTITION BY RANGE (id)")
        self.sql("ALTER PUBLICATION walrelay ADD TABLE outbox")
        self.print(code=78)
        self.assertIn("WR-2308", self.errors)

    def test_messages_are_printed_where_they_are_events(self) -> None:
        self.sql("SELECT pg_logical_emit_message(true, 'outbox', %s)", json.dumps(
            {"id": 7, "aggregate_type": self.name, "aggregate_id": "k", "payload": {}}))
        (line,) = self.print("--set", "source.message_prefixes=outbox")
        self.assertIn("  id=7  ", line)

    def test_rows_hidden_by_row_level_security_are_an_error(self) -> None:
        self.outbox.insert(1)
        self.sql("ALTER TABLE outbox ENABLE ROW LEVEL SECURITY")
        self.sql(f"CREATE ROLE {self.name}_reader LOGIN; GRANT SELECT ON outbox TO {self.name}_reader")
        self.addCleanup(self.postgres.psql, f"DROP ROLE {self.name}_reader")
        self.addCleanup(self.sql, f"DROP OWNED BY {self.name}_reader")
        self.user = f"{self.name}_reader"
        self.print("--id", "1", code=69)
        self.assertIn("BYPASSRLS", self.errors)

    def test_missing_slot_is_reported(self) -> None:
        self.database.execute("SELECT pg_drop_replication_slot(%s)", self.slot)
        self.print(code=78)
        self.assertIn("WR-2101", self.errors)


if __name__ == "__main__":
    main()
