#!/usr/bin/python3
"""Changes of the outbox table while it is relayed: columns, names, types, and the table itself."""

import subprocess

from walrelay_dev.patience import patient
from walrelay_test.doctor_case import DoctorCase
from walrelay_test.relay_config import relay_environment
from walrelay_test.testcase import IntegrationTest, Outbox, main, relay_program


class SchemaChangeTest(IntegrationTest):
    def setUp(self) -> None:
        super().setUp()
        self.relay = self.start_relay()
        self.outbox.insert(1)
        self.settle()

    def expect_not_ready(self, code: str) -> None:
        self.relay.wait_until(lambda: code in self.relay.get("/readyz")[1], 60, f"/readyz naming {code}")
        self.assertEqual(self.relay.get("/readyz")[0], 503)

    def test_added_column_changes_nothing(self) -> None:
        self.sql("ALTER TABLE outbox ADD extra text DEFAULT 'x'")
        self.outbox.insert(2)
        self.expect_published(1, 2)
        self.assertEqual(self.published()[1].headers, [("id", b"2"), ("event_type", b"made")])

    def test_column_dropped_in_front_of_mapped_ones_does_not_shift_them(self) -> None:
        self.sql("ALTER TABLE outbox DROP event_type")
        self.sql("INSERT INTO outbox VALUES (2, %s, 'k', '[2]')", self.name)
        self.expect_published(1, 2)
        self.assertEqual((self.published()[1].key, self.published()[1].value), (b"k", b"[2]"))

    def test_renamed_column_blocks_publishing_until_it_is_mapped(self) -> None:
        self.sql("ALTER TABLE outbox RENAME aggregate_id TO entity")
        self.sql("INSERT INTO outbox VALUES (2, %s, 'k', 'made', '{}')", self.name)
        self.relay.wait_for_state("blocked")
        code, page = self.relay.get("/readyz?verbose")
        self.assertEqual(code, 503)
        self.assertIn("WR-3001", page)
        self.assertIn('no column "aggregate_id"', page)
        self.assertEqual(self.ids(), [1])
        self.assertEqual(self.relay.stop(), 0)
        self.start_relay({"source.columns.aggregate_id": "entity"})
        self.expect_published(1, 2)

    def test_rows_before_and_after_a_change_in_one_transaction_are_decoded_correctly(self) -> None:
        with self.database.transaction() as cursor:
            self.outbox.insert(2, cursor=cursor)
            cursor.execute("ALTER TABLE outbox ADD first text, DROP id, ADD id bigint")
            self.outbox.insert(3, cursor=cursor)
        self.expect_published(1, 2, 3)

    def test_payload_of_a_changed_type_is_published_as_the_new_type(self) -> None:
        self.sql("ALTER TABLE outbox ALTER payload TYPE bytea USING NULL")
        self.outbox.insert(2, payload=b"\0\1")
        self.expect_published(1, 2)
        self.assertEqual(self.published()[1].value, b"\0\1")

    def test_type_whose_name_is_only_in_the_catalog_is_published(self) -> None:
        self.sql("CREATE EXTENSION hstore; ALTER TABLE outbox ALTER payload TYPE hstore USING NULL")
        self.outbox.insert(2, payload="a=>1")
        self.expect_published(1, 2)
        self.outbox.insert(3, payload="b=>2")
        self.expect_published(1, 2, 3)
        self.assertEqual(len(self.relay.logs("disconnected")), 1)

    def accept_gap(self) -> None:
        """`walrelay resume --accept-gap`, as soon as the relay can continue."""
        command = [relay_program(), "resume", "--config", self.relay.config, "--accept-gap"]
        def accepted() -> bool:
            return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  timeout=patient(60), env=relay_environment()).returncode == 0
        self.relay.wait_until(accepted, 60, "the gap to be accepted")

    def test_renamed_table_is_a_gap_until_the_name_is_restored(self) -> None:
        self.sql("CREATE SCHEMA app; ALTER TABLE outbox RENAME TO outgoing; "
                 "ALTER TABLE outgoing SET SCHEMA app")
        self.expect_not_ready("WR-2110")
        self.sql("ALTER TABLE app.outgoing SET SCHEMA public; ALTER TABLE outgoing RENAME TO outbox")
        self.accept_gap()
        self.relay.wait_ready()

    def test_recreated_table_is_a_gap(self) -> None:
        self.sql("DROP TABLE outbox")
        outbox = Outbox(self.database, self.name)
        outbox.insert(2)
        self.expect_not_ready("WR-2110")
        self.sql("ALTER PUBLICATION walrelay ADD TABLE outbox")
        self.accept_gap()
        self.relay.wait_ready()
        outbox.insert(3)
        self.expect_published(1, 3)

    def test_table_removed_from_the_publication_is_a_gap(self) -> None:
        self.sql("ALTER PUBLICATION walrelay DROP TABLE outbox; CREATE TABLE other ();"
                 "ALTER PUBLICATION walrelay ADD TABLE other")
        self.expect_not_ready("WR-2110")
        self.sql("ALTER PUBLICATION walrelay ADD TABLE outbox")
        self.accept_gap()
        self.relay.wait_ready()

    def test_filter_added_to_the_publication_is_reported(self) -> None:
        self.sql("ALTER PUBLICATION walrelay SET TABLE outbox WHERE (id > 100)")
        self.expect_not_ready("WR-2304")


class BacklogTest(DoctorCase):
    """Changes during a backlog: each row is decoded with the table definition at the time of its INSERT."""

    def test_row_from_before_a_rename_is_published_under_the_old_name(self) -> None:
        self.outbox.insert(1)
        self.sql("ALTER TABLE outbox RENAME aggregate_id TO entity")
        self.sql("INSERT INTO outbox VALUES (2, %s, 'k', 'made', '{}')", self.name)
        relay = self.start_relay()
        relay.wait_for_state("blocked")
        self.assertIn("WR-3001", relay.get("/readyz")[1])
        self.assertEqual(self.ids(), [1])

    def test_mapping_of_today_is_blocked_by_an_old_row_and_the_hint_publishes_both(self) -> None:
        self.outbox.insert(1)
        self.sql("ALTER TABLE outbox RENAME aggregate_id TO entity")
        self.sql("INSERT INTO outbox VALUES (2, %s, 'k', 'made', '{}')", self.name)
        today = {"source.columns.aggregate_id": "entity"}
        relay = self.start_relay(today)
        blocked = relay.wait_for_log("blocked", code="WR-3001")
        self.assertIn('has column "entity" (aggregate id) now, but not when this row was written', blocked["msg"])
        self.assertIn('["entity", "OLD"] instead of "entity"', blocked["hint"])
        self.assertEqual(relay.stop(), 0)
        self.start_relay({"source.columns.aggregate_id": ["entity", "aggregate_id"]})
        self.expect_published(1, 2)

    def test_both_names_publish_a_transaction_with_a_rename(self) -> None:
        with self.database.transaction() as cursor:
            self.outbox.insert(1, cursor=cursor)
            cursor.execute("ALTER TABLE outbox RENAME aggregate_id TO entity")
            cursor.execute("INSERT INTO outbox VALUES (2, %s, 'k', 'made', '{}')", (self.name,))
        self.start_relay({"source.columns.aggregate_id": ["entity", "aggregate_id"]})
        self.expect_published(1, 2)

    def test_doctor_knows_the_columns_of_the_rows_that_wait(self) -> None:
        self.assertEqual(self.findings("table.backlog"), [])
        self.outbox.insert(1)
        self.expect("table.backlog", "ok", "have the mapped columns")
        self.sql("ALTER TABLE outbox RENAME aggregate_id TO entity")
        self.expect("table.columns", "problem", 'no column "aggregate_id"')
        today = {"source.columns.aggregate_id": "entity"}
        self.expect("table.columns", "ok", "key from entity", options=today)
        self.expect("table.backlog", "problem", "but not when this row was written",
                    '["entity", "OLD"] instead of "entity"', options=today)
        both = {"source.columns.aggregate_id": "entity,aggregate_id"}
        self.expect("table.backlog", "ok", "have the mapped columns", options=both)
        self.assertEqual(self.findings("table.both_columns", both), [])
        self.sql("ALTER TABLE outbox ADD aggregate_id text")
        self.expect("table.both_columns", "warning", "entity and aggregate_id, of which rows are published with entity",
                    options=both)

    def test_row_from_before_a_column_drop_is_complete(self) -> None:
        self.outbox.insert(1)
        self.sql("ALTER TABLE outbox DROP event_type")
        self.sql("INSERT INTO outbox VALUES (2, %s, 'k', '{}')", self.name)
        self.start_relay()
        self.expect_published(1, 2)
        self.assertEqual([record.headers for record in self.published()],
                         [[("id", b"1"), ("event_type", b"made")], [("id", b"2")]])

    def test_row_from_before_a_type_change_has_the_old_type(self) -> None:
        self.outbox.insert(1, payload="[1]")
        self.sql("ALTER TABLE outbox ALTER payload TYPE bytea USING '\\x00'")
        self.outbox.insert(2, payload=b"\0\1")
        self.start_relay()
        self.expect_published(1, 2)
        self.assertEqual([record.value for record in self.published()], [b"[1]", b"\0\1"])

    def test_publication_recreated_while_rows_wait_loses_none_silently(self) -> None:
        self.outbox.insert(1)
        self.sql("DROP PUBLICATION walrelay")
        self.outbox.insert(2)
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
        self.outbox.insert(3)
        relay = self.start_relay()
        relay.wait_for_log("disconnected", code="WR-2306", count=2)
        self.wait_for_records(1)
        self.assertEqual(self.ids(), [1])


if __name__ == "__main__":
    main()
