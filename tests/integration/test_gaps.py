#!/usr/bin/python3
"""When events may be missing, the relay reports a gap, publishes nothing and waits for an operator."""

import json
import subprocess
from typing import Any

from testcase import IntegrationTest, main, relay_program

from pgoutput import parse_lsn
from relay_config import relay_environment

HELD, NONE_HELD, NO_ANSWER = 3, 0, 69


class GapTest(IntegrationTest):
    def setUp(self) -> None:
        super().setUp()
        self.relay = self.start_relay(self.relay_options())
        self.outbox.insert(1)
        self.settle()

    def relay_options(self) -> dict[str, Any]:
        return {}

    def resume(self, *arguments: str, code: int, **process: Any) -> str:
        """Runs `walrelay resume` with the relay's configuration; returns its output."""
        run = subprocess.run([relay_program(), "resume", "--config", self.relay.config, *arguments], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, cwd="/",
                             env=relay_environment(), **process)
        self.assertEqual(run.returncode, code, run.stdout)
        return run.stdout

    def expect_held(self, code: str) -> dict[str, Any]:
        """Checks that publishing is on hold and every page reports why; returns the gap from status.json."""
        self.relay.wait_for_log("gap", code=code)
        self.relay.wait_for_state("blocked")
        status, body = self.relay.get("/readyz")
        self.assertEqual(status, 503)
        self.assertIn(code, body)
        gap = self.gap()
        self.assertEqual(gap["code"], code)
        self.assertIn(gap["from_lsn"], body)
        self.assertEqual(self.relay.metric("walrelay_gap_held"), 1)
        self.assertIn("resume --accept-gap", self.relay.get("/status.txt")[1])
        self.assertTrue(self.relay.running())
        return gap

    def gap(self) -> dict[str, Any]:
        return json.loads(self.relay.get("/status.json")[1])["gap"]

    def expect_streaming(self) -> None:
        self.relay.wait_ready()
        self.assertEqual(self.relay.metric("walrelay_gap_held"), 0)

    def free_slot(self) -> None:
        """Suspends the relay and releases the slot."""
        self.relay.pause()
        self.sql("SELECT pg_terminate_backend(%s)", self.database.walsender(self.slot))
        self.relay.wait_until(lambda: not self.database.slot(self.slot, "active"), 60, "a free slot")


class SlotGapTest(GapTest):
    def advance_slot(self) -> None:
        self.free_slot()
        self.outbox.insert(2)
        self.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", self.slot)
        self.relay.resume()

    def test_nothing_is_published_or_confirmed_until_the_gap_is_accepted(self) -> None:
        self.advance_slot()
        gap = self.expect_held("WR-2106")
        confirmed = self.database.confirmed(self.slot)
        self.assertEqual(parse_lsn(gap["to_lsn"]), confirmed)
        self.outbox.insert(3)
        shown = self.resume(code=HELD)
        for part in ("WR-2106", gap["id"], f"{gap['from_lsn']} to {gap['to_lsn']}", "--accept-gap"):
            self.assertIn(part, shown)
        looks = self.looks()
        self.relay.wait_until(lambda: self.looks() > looks + 1, 60, "more polls")
        self.assertEqual(self.database.confirmed(self.slot), confirmed)
        self.assertIsNone(self.database.slot(self.slot, "active_pid"))
        self.assertEqual(self.ids(), [1])
        self.assertIn("is accepted", self.resume("--accept-gap", code=NONE_HELD))
        self.expect_streaming()
        self.expect_published(1, 3)
        self.assertEqual(self.relay.wait_for_log("gap_accepted")["gap"], gap["id"])
        self.assertIn("No gap is held", self.resume(code=NONE_HELD))
        self.assertIn("No gap is held", self.resume("--accept-gap", code=NONE_HELD))

    def looks(self) -> int:
        """Number of polls of the source since the gap is held."""
        return self.gap()["looks"]

    def test_only_the_held_gap_can_be_accepted_by_id(self) -> None:
        self.advance_slot()
        gap = self.expect_held("WR-2106")
        self.assertIn(gap["id"], self.resume("--accept-gap", "2106-00000000", code=HELD))
        self.assertIn("is accepted", self.resume("--accept-gap", gap["id"], code=NONE_HELD))
        self.expect_streaming()

    def test_accepted_slot_loss_waits_for_a_new_slot(self) -> None:
        self.free_slot()
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        self.relay.resume()
        self.expect_held("WR-2107")
        printed = self.resume("--accept-gap", code=NONE_HELD)
        self.assertIn("is accepted", printed)
        self.relay.wait_until(lambda: "WR-2101" in self.relay.get("/readyz")[1], 60, "the relay to wait for a slot")
        self.assertIsNone(self.database.slot(self.slot, "slot_name"))
        self.outbox.insert(2)
        self.database.create_slot(self.slot)
        self.outbox.insert(3)
        self.expect_published(1, 3)

    def test_recreated_slot_is_another_gap(self) -> None:
        self.free_slot()
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        self.relay.resume()
        gone = self.expect_held("WR-2107")
        self.outbox.insert(2)
        self.database.create_slot(self.slot)
        self.assertIn("another one", self.resume("--accept-gap", gone["id"], code=HELD))
        moved = self.expect_held("WR-2106")
        self.assertEqual(moved["from_lsn"], gone["from_lsn"])
        self.resume("--accept-gap", moved["id"], code=NONE_HELD)
        self.outbox.insert(3)
        self.expect_published(1, 3)

    def test_relay_stops_immediately_while_a_gap_is_held(self) -> None:
        self.advance_slot()
        self.expect_held("WR-2106")
        self.assertEqual(self.relay.stop(seconds=5), 0)

    def test_request_of_another_user_is_rejected(self) -> None:
        self.advance_slot()
        gap = self.expect_held("WR-2106")
        printed = self.resume("--accept-gap", gap["id"], code=NO_ANSWER, user=65534, group=65534, extra_groups=[])
        self.assertNotIn(gap["id"], printed)
        self.relay.wait_for_log("control_refused", uid=65534)
        self.expect_held("WR-2106")


class CreateSlotTest(GapTest):
    def relay_options(self) -> dict[str, Any]:
        return {"source.create_slot": True}

    def test_slot_that_was_read_is_not_recreated(self) -> None:
        self.free_slot()
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        self.relay.resume()
        self.expect_held("WR-2107")
        self.resume("--accept-gap", code=NONE_HELD)
        self.relay.wait_until(lambda: "WR-2101" in self.relay.get("/readyz")[1], 60, "the relay to wait for a slot")
        self.assertIsNone(self.database.slot(self.slot, "slot_name"))


class PublicationGapTest(GapTest):
    """The polls are seconds apart, so that each change and its reversal fall between two of them."""

    postgres_options = {"major": 15}

    def relay_options(self) -> dict[str, Any]:
        return {"metrics.slot_poll_interval": "3s"}

    def between_looks(self, *statements: str) -> None:
        """Executes the statements right after one poll of the relay, and before the next."""
        before = self.relay.metric("walrelay_slot_last_sample_timestamp_seconds")
        self.relay.wait_until(
            lambda: self.relay.metric("walrelay_slot_last_sample_timestamp_seconds") != before, 60, "a poll")
        for statement in statements:
            self.sql(statement)

    def expect_gap(self, what: str, *statements: str, row: int = 2) -> None:
        """Executes a statement and its reversal, with a row between them that is never sent."""
        first, *rest = statements
        self.between_looks(first)
        self.insert_hidden(row)
        at = self.database.log_end()
        for statement in rest:
            self.sql(statement)
        gap = self.expect_held("WR-2110")
        self.assertLess(parse_lsn(gap["from_lsn"]), at)
        self.assertGreaterEqual(parse_lsn(gap["to_lsn"]), at)
        line = self.relay.logs("gap", code="WR-2110")[-1]
        self.assertIn(what, line["msg"])
        self.resume("--accept-gap", gap["id"], code=NONE_HELD)
        self.expect_streaming()
        self.outbox.insert(3)
        self.expect_published(1, 3)

    def insert_hidden(self, row: int) -> None:
        self.outbox.insert(row)

    def expect_no_gap(self, *statements: str) -> None:
        self.between_looks(*statements)
        self.between_looks()
        self.between_looks()
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
        self.between_looks("ALTER TABLE outbox RENAME TO elsewhere")
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
        self.between_looks("ALTER TABLE outbox RENAME TO old_outbox", f"CREATE TABLE outbox {columns}")
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
        self.between_looks("DROP PUBLICATION walrelay", "CREATE PUBLICATION walrelay FOR TABLE outbox "
                                                        "WITH (publish = 'insert')")
        gap = self.expect_held("WR-2110")
        self.assertIn("was recreated", self.relay.logs("gap")[-1]["msg"])
        self.assertTrue(gap["id"])

    def test_change_while_disconnected_is_detected_on_reconnect(self) -> None:
        self.between_looks()
        self.relay.pause()
        self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
                 self.name)
        self.sql("ALTER PUBLICATION walrelay DROP TABLE outbox")
        self.outbox.insert(2)
        self.sql("ALTER PUBLICATION walrelay ADD TABLE outbox")
        self.relay.resume()
        self.expect_held("WR-2110")

    def test_unpublished_table_must_be_added_before_the_gap_is_accepted(self) -> None:
        self.between_looks("ALTER PUBLICATION walrelay DROP TABLE outbox")
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


class RowFilterTest(PublicationGapTest):
    def test_row_filter_added_and_removed_is_a_gap(self) -> None:
        self.expect_gap("removed from the publication and added again",
                        "ALTER PUBLICATION walrelay SET TABLE outbox WHERE (id > 100)",
                        "ALTER PUBLICATION walrelay SET TABLE outbox")


class SchemaPublicationTest(GapTest):
    between_looks = PublicationGapTest.between_looks
    relay_options = PublicationGapTest.relay_options

    def publish(self, *tables: str) -> None:
        self.sql("CREATE PUBLICATION walrelay FOR TABLES IN SCHEMA public WITH (publish = 'insert')")
        self.database.create_slot(self.slot)

    def test_schema_removed_and_added_again_is_a_gap(self) -> None:
        self.between_looks("ALTER PUBLICATION walrelay DROP TABLES IN SCHEMA public")
        self.outbox.insert(2)
        self.sql("ALTER PUBLICATION walrelay ADD TABLES IN SCHEMA public")
        self.expect_held("WR-2110")
        self.resume("--accept-gap", code=NONE_HELD)
        self.outbox.insert(3)
        self.expect_published(1, 3)

    def test_table_recreated_in_a_published_schema_is_not_a_gap(self) -> None:
        self.between_looks("ALTER TABLE outbox RENAME TO old_outbox",
                           "CREATE TABLE outbox (LIKE old_outbox INCLUDING ALL)")
        self.outbox.insert(2)
        self.between_looks()
        self.between_looks()
        self.expect_published(1, 2)
        self.assertEqual(self.relay.logs("gap"), [])


class OldestMajorTest(PublicationGapTest):
    postgres_options = {"major": 13}


class NewestMajorTest(RowFilterTest):
    postgres_options = {"major": 18}


if __name__ == "__main__":
    main()
