#!/usr/bin/python3
"""A change of the publication that may have hidden rows is a gap, also if it has been reversed before it is seen."""

from typing import Any

from walrelay_test.gap_case import HELD, NONE_HELD, GapCase
from walrelay_test.pgoutput import parse_lsn
from walrelay_test.testcase import for_each_major, main


class PollingCase(GapCase):
    """The polls are so far apart that each change and its reversal fall between two of them."""

    def relay_options(self) -> dict[str, Any]:
        return {"metrics.slot_poll_interval": "1500ms"}

    def between_polls(self, *statements: str) -> None:
        """Executes the statements right after one poll of the relay, and before the next."""
        before = self.relay.metric("walrelay_slot_last_sample_timestamp_seconds")
        self.relay.wait_until(
            lambda: self.relay.metric("walrelay_slot_last_sample_timestamp_seconds") != before, 60, "a poll")
        for statement in statements:
            self.sql(statement)


@for_each_major(PollingCase, (13, 15, 18))
class PublicationGapTest:
    def expect_gap(self, what: str, *statements: str) -> None:
        """Executes a statement and its reversal, with a row between them that is never sent."""
        first, *rest = statements
        self.between_polls(first)
        self.outbox.insert(2)
        at = self.database.log_end()
        for statement in rest:
            self.sql(statement)
        self.expect_held("WR-2110")
        # A check may come between two of the statements: then it is another gap after the last one.
        self.relay.wait_until(lambda: what in self.relay.logs("gap", code="WR-2110")[-1]["msg"]
                              and parse_lsn(self.gap()["to_lsn"]) >= at, 60, "the gap up to the last statement")
        gap = self.gap()
        self.assertLess(parse_lsn(gap["from_lsn"]), at)
        self.resume("--accept-gap", gap["id"], code=NONE_HELD)
        self.expect_streaming()
        self.outbox.insert(3)
        self.expect_published(1, 3)

    def expect_no_gap(self, *statements: str) -> None:
        self.between_polls(*statements)
        self.between_polls()
        self.between_polls()
        self.outbox.insert(2)
        self.expect_published(1, 2)
        self.assertEqual(self.relay.logs("gap") + self.relay.logs("disconnected"), [])

    def test_table_removed_and_added_again_is_a_gap(self) -> None:
        self.expect_gap("removed from the publication and added again",
                        "ALTER PUBLICATION walrelay DROP TABLE outbox", "ALTER PUBLICATION walrelay ADD TABLE outbox")

    def test_inserts_disabled_and_enabled_again_are_a_gap(self) -> None:
        self.expect_gap("the publication was altered", "ALTER PUBLICATION walrelay SET (publish = 'update')",
                        "ALTER PUBLICATION walrelay SET (publish = 'insert')")

    def test_set_table_to_another_and_back_is_a_gap(self) -> None:
        self.sql("CREATE TABLE other (id int PRIMARY KEY)")
        self.expect_gap("removed from the publication and added again",
                        "ALTER PUBLICATION walrelay SET TABLE other", "ALTER PUBLICATION walrelay SET TABLE outbox")

    def test_table_renamed_and_renamed_back_is_a_gap(self) -> None:
        self.outbox.table = "elsewhere"
        self.addCleanup(setattr, self.outbox, "table", "outbox")
        self.between_polls("ALTER TABLE outbox RENAME TO elsewhere")
        self.outbox.insert(2)
        at = self.database.log_end()
        self.sql("ALTER TABLE elsewhere RENAME TO outbox")
        self.outbox.table = "outbox"
        gap = self.expect_held("WR-2110")
        self.assertLess(parse_lsn(gap["from_lsn"]), at)
        self.assertGreaterEqual(parse_lsn(gap["to_lsn"]), at)
        self.resume("--accept-gap", code=NONE_HELD)
        self.expect_streaming()

    def test_recreated_table_is_a_gap(self) -> None:
        columns = "(LIKE old_outbox INCLUDING ALL)"
        self.between_polls("ALTER TABLE outbox RENAME TO old_outbox", f"CREATE TABLE outbox {columns}")
        self.outbox.insert(2)
        self.sql("ALTER PUBLICATION walrelay ADD TABLE outbox")
        gap = self.expect_held("WR-2110")
        self.assertIn("was recreated", self.relay.logs("gap")[-1]["msg"])
        self.resume("--accept-gap", gap["id"], code=NONE_HELD)
        self.expect_streaming()
        self.outbox.insert(3)
        self.expect_published(1, 3)

    def test_recreated_publication_is_a_gap(self) -> None:
        """The server has no publication for the rows in between, and fails or skips them with a warning."""
        self.between_polls("DROP PUBLICATION walrelay", "CREATE PUBLICATION walrelay FOR TABLE outbox "
                                                        "WITH (publish = 'insert')")
        gap = self.expect_held("WR-2110")
        self.assertIn("was recreated", self.relay.logs("gap")[-1]["msg"])
        self.assertTrue(gap["id"])

    def test_change_while_disconnected_is_detected_on_reconnect(self) -> None:
        self.between_polls()
        self.relay.pause()
        self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
                 self.name)
        self.sql("ALTER PUBLICATION walrelay DROP TABLE outbox")
        self.outbox.insert(2)
        self.sql("ALTER PUBLICATION walrelay ADD TABLE outbox")
        self.relay.resume()
        self.expect_held("WR-2110")

    def test_unpublished_table_must_be_added_before_the_gap_is_accepted(self) -> None:
        self.between_polls("ALTER PUBLICATION walrelay DROP TABLE outbox")
        first = self.expect_held("WR-2110")
        self.assertIn("WR-2303", self.resume("--accept-gap", code=HELD))
        self.outbox.insert(2)
        at = self.database.log_end()
        self.sql("ALTER PUBLICATION walrelay ADD TABLE outbox")
        self.relay.wait_until(lambda: self.gap()["id"] != first["id"], 60, "another gap")
        gap = self.expect_held("WR-2110")
        self.assertGreaterEqual(parse_lsn(gap["to_lsn"]), at)
        self.resume("--accept-gap", gap["id"], code=NONE_HELD)
        self.outbox.insert(3)
        self.expect_published(1, 3)

    def test_held_gap_says_when_the_idle_slot_may_be_lost(self) -> None:
        if self.postgres.major < 18:
            self.skipTest("idle_replication_slot_timeout exists since Postgres 18")
        self.addCleanup(self.postgres.psql, "SELECT pg_reload_conf()")
        self.addCleanup(self.postgres.psql, "ALTER SYSTEM RESET idle_replication_slot_timeout")
        self.postgres.psql("ALTER SYSTEM SET idle_replication_slot_timeout = '1d'")
        self.postgres.psql("SELECT pg_reload_conf()")
        self.between_polls("ALTER PUBLICATION walrelay DROP TABLE outbox")
        self.expect_held("WR-2110")
        self.relay.wait_until(lambda: "lets Postgres invalidate it from" in self.relay.get("/status.txt")[1], 60,
                              "the time at which the slot may be lost")

    def test_change_that_hides_no_row_is_not_a_gap(self) -> None:
        self.sql(f"CREATE ROLE {self.name}_owner")
        self.addClassCleanup(self.postgres.psql, f"DROP ROLE {self.name}_owner")  # after the database
        self.expect_no_gap(
            "ALTER PUBLICATION walrelay SET TABLE outbox", "CREATE TABLE other (id int PRIMARY KEY)",
            "ALTER PUBLICATION walrelay ADD TABLE other", "ALTER PUBLICATION walrelay DROP TABLE other",
            "COMMENT ON PUBLICATION walrelay IS 'x'", f"ALTER TABLE outbox OWNER TO {self.name}_owner",
            f"GRANT INSERT ON outbox TO {self.name}_owner",
            f"REVOKE INSERT ON outbox FROM {self.name}_owner",
            "ALTER TABLE outbox ADD note text", "CREATE INDEX ON outbox (note)", "ALTER TABLE outbox DROP note",
            "ANALYZE outbox", "VACUUM FULL outbox", "VACUUM FREEZE pg_publication", "VACUUM FULL pg_publication",
            "VACUUM (FULL, FREEZE) pg_publication_rel", "VACUUM (FULL, FREEZE) pg_type", "TRUNCATE outbox")

    def test_row_filter_added_and_removed_is_a_gap(self) -> None:
        if self.postgres.major < 15:
            self.skipTest("row filters exist since Postgres 15")
        self.expect_gap("removed from the publication and added again",
                        "ALTER PUBLICATION walrelay SET TABLE outbox WHERE (id > 100)",
                        "ALTER PUBLICATION walrelay SET TABLE outbox")


class SchemaPublicationTest(PollingCase):
    def publish(self, *tables: str) -> None:
        self.sql("CREATE PUBLICATION walrelay FOR TABLES IN SCHEMA public WITH (publish = 'insert')")
        self.database.create_slot(self.slot)

    def test_schema_removed_and_added_again_is_a_gap(self) -> None:
        self.between_polls("ALTER PUBLICATION walrelay DROP TABLES IN SCHEMA public")
        self.outbox.insert(2)
        self.sql("ALTER PUBLICATION walrelay ADD TABLES IN SCHEMA public")
        self.expect_held("WR-2110")
        self.resume("--accept-gap", code=NONE_HELD)
        self.outbox.insert(3)
        self.expect_published(1, 3)

    def test_table_recreated_in_a_published_schema_is_not_a_gap(self) -> None:
        self.between_polls("ALTER TABLE outbox RENAME TO old_outbox",
                           "CREATE TABLE outbox (LIKE old_outbox INCLUDING ALL)")
        self.outbox.insert(2)
        self.between_polls()
        self.between_polls()
        self.expect_published(1, 2)
        self.assertEqual(self.relay.logs("gap"), [])


if __name__ == "__main__":
    main()
