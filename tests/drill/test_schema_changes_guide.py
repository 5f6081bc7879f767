#!/usr/bin/python3
"""Drills: docs/guides/schema-changes.md, with a backlog from before the change."""

from walrelay_test.runbook import RunbookCase, check_all_typed
from walrelay_test.testcase import main

PAGE = "guides/schema-changes"


def tearDownModule() -> None:  # noqa: N802
    check_all_typed()


class SchemaChangesTest(RunbookCase):
    def configure(self, before: str, after: str) -> None:
        """Replaces a text in the configuration of the relay."""
        config = self.relays[-1].config
        text = config.read_text()
        self.assertIn(before, text)
        config.write_text(text.replace(before, after))

    def test_rename_of_a_column_with_a_backlog(self) -> None:
        self.sql("ALTER TABLE outbox RENAME COLUMN event_type TO kind")
        relay = self.start_relay({"source.columns.event_type": "kind"})
        relay.wait_ready()
        restart, rename, check = self.blocks(PAGE, "Rename a column")
        self.configure('"kind"', '["event_type", "kind"]')
        self.type(restart)
        relay.wait_ready()
        self.assertEqual(relay.stop(), 0)
        for id in (1, 2):
            self.sql("INSERT INTO outbox VALUES (%s, %s, 'k', 'made', '{}')", id, self.name)
            if id == 1:
                self.type(rename)
        self.assertIn("the oldest rows that wait in the slot have the mapped columns", self.type(check))
        relay.start()
        self.expect_published(1, 2)
        self.assertEqual({dict(record.headers)["event_type"] for record in self.published()}, {b"made"})

    def test_rename_of_the_table_with_a_backlog(self) -> None:
        relay = self.start_with_proof(1, 2, options={"source.table": "public.outbox"})
        stop, rename, start = self.blocks(PAGE, "Rename or replace the table")
        self.type(stop)
        self.outbox.insert(3)
        self.configure("public.outbox", "public.events")
        self.type(rename)
        self.sql("INSERT INTO events VALUES (4, %s, 'k', 'made', '{}')", self.name)
        self.assertIn("the oldest rows that wait in the slot have the mapped columns", self.type(start))
        relay.wait_ready()
        self.expect_published(1, 2, 3, 4)


if __name__ == "__main__":
    main()
