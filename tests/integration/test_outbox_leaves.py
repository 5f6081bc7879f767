#!/usr/bin/python3
"""The tables that store the rows of an outbox table: what the stream does not contain is named, and never pruned."""

from typing import Any

from walrelay_test.prune_case import PruneCase
from walrelay_test.relay_process import RelayProcess
from walrelay_test.testcase import for_each_major, main

COLUMNS = ("id bigint, aggregate_type text, aggregate_id text, event_type text, payload jsonb, "
           "created_at timestamptz DEFAULT now()")


class LeavesCase(PruneCase):
    """An outbox with the partitions `a` and `b`, by the first letter of the key."""

    def prepare(self) -> None:
        self.sql(f"CREATE TABLE outbox ({COLUMNS}) PARTITION BY LIST (left(aggregate_id, 1))")
        for name in "ab":
            self.sql(f"CREATE TABLE {name} PARTITION OF outbox FOR VALUES IN ('{name}')")
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox "
                 "WITH (publish = 'insert', publish_via_partition_root = true)")

    def options(self) -> dict[str, Any]:
        return super().options() | {"metrics.table_count_interval": "200ms"}

    def insert(self, id: int, key: str, table: str = "outbox") -> None:
        self.sql(f"INSERT INTO {table} VALUES (%s, %s, %s, 'made', '{{}}')", id, self.name, key)

    def accept_gap(self, relay: RelayProcess, code: str, text: str, *fixes: str) -> None:
        """The gap names the cause, and is accepted once it is fixed."""
        gap = relay.wait_for_log("gap", code=code)
        self.assertIn(text, gap["msg"])
        known = len(relay.logs("gap"))
        for fix in fixes:
            self.sql(fix)
        if fixes:  # the gap ends with the fix: it has another range, and another id
            relay.wait_until(lambda: len(relay.logs("gap")) > known, 60, "the gap up to the fix")
            gap = relay.logs("gap")[-1]
        self.walrelay("resume", "--accept-gap", gap["gap"])
        relay.wait_ready()


@for_each_major(LeavesCase, (18,))
class LeavesTest:
    def test_partition_that_becomes_unlogged_is_a_gap_and_never_pruned(self) -> None:
        relay = self.start_pruning()
        self.insert(1, "a")
        self.insert(2, "b")
        self.settle()
        self.wait_for_rows(relay)
        self.sql("ALTER TABLE b SET UNLOGGED")
        self.insert(3, "b")
        relay.wait_until(lambda: relay.metric("walrelay_table_unsent_rows", table="public.outbox") == 1, 60,
                         "the row that is not in the stream")
        self.accept_gap(relay, "WR-2110", "public.b is unlogged", "ALTER TABLE b SET LOGGED")
        self.touch(relay)
        self.insert(4, "a")
        self.insert(5, "b")
        self.settle()
        self.wait_for_rows(relay, 3)
        self.wait_for_passes(relay)
        self.assertEqual(self.rows(), [3])
        self.assertEqual(self.first_ids(), [1, 2, 4, 5])

    def test_rows_of_a_partition_that_was_unlogged_before_the_start_are_kept(self) -> None:
        self.sql("ALTER TABLE b SET UNLOGGED")
        self.assertIn("public.b is unlogged", self.expect_exit(78, "WR-2305"))
        self.sql("ALTER TABLE b SET LOGGED")
        relay = self.start_pruning()
        self.insert(1, "a")
        self.settle()
        self.wait_for_rows(relay)
        self.assertEqual(relay.stop(), 0)
        self.sql("ALTER TABLE b SET UNLOGGED")
        self.insert(2, "b")
        self.assertIn("public.b is unlogged", self.walrelay("doctor", code=3))
        relay.start()
        self.accept_gap(relay, "WR-2110", "public.b is unlogged", "ALTER TABLE b SET LOGGED")
        self.touch(relay)
        self.insert(3, "b")
        self.settle()
        self.wait_for_rows(relay, 2)
        self.wait_for_passes(relay)
        self.assertEqual(self.rows(), [2])

    def test_attached_rows_are_not_counted_as_published(self) -> None:
        relay = self.start_pruning()
        self.sql(f"CREATE TABLE c ({COLUMNS})")
        self.insert(1, "c", "c")
        self.sql("ALTER TABLE outbox ATTACH PARTITION c FOR VALUES IN ('c')")
        self.insert(2, "c")
        self.settle()
        self.wait_for_rows(relay, 1)
        relay.wait_until(lambda: relay.metric("walrelay_table_unproven_rows", table="public.outbox") == 1, 60,
                         "a count of the attached row")

    def test_table_that_inherits_is_refused_and_its_rows_are_counted(self) -> None:
        self.sql(f"DROP TABLE outbox; CREATE TABLE outbox ({COLUMNS}); CREATE TABLE child () INHERITS (outbox)")
        for publication in ("outbox", "ONLY outbox"):
            self.sql(f"DROP PUBLICATION walrelay; CREATE PUBLICATION walrelay FOR TABLE {publication} "
                     "WITH (publish = 'insert')")
            self.assertIn("public.child", self.expect_exit(78, "WR-2311"))
        self.sql("ALTER TABLE child NO INHERIT outbox")
        relay = self.start_pruning()
        self.sql("ALTER TABLE child INHERIT outbox")
        self.insert(1, "a", "child")
        relay.wait_until(lambda: "1 row in parts of the table that are not in the stream" in
                         relay.get("/status.txt")[1], 60, "a count of the row")
        self.accept_gap(relay, "WR-2110", "public.child", "ALTER TABLE child NO INHERIT outbox")
        self.insert(2, "a")
        self.settle()
        self.assertEqual(self.first_ids(), [2])

    def test_table_that_inherits_and_is_configured_is_published(self) -> None:
        self.sql(f"DROP TABLE outbox; CREATE TABLE outbox ({COLUMNS}); CREATE TABLE child () INHERITS (outbox)")
        self.sql("DROP PUBLICATION walrelay; CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
        relay = self.start_pruning({"source.tables": [{"name": "public.outbox"}, {"name": "public.child"}]})
        self.insert(1, "a")
        self.insert(2, "a", "child")
        self.settle()
        self.wait_for_rows(relay)
        self.assertEqual(self.first_ids(), [1, 2])

    def test_lock_on_another_table_does_not_delay_a_reconnect(self) -> None:
        self.sql("DROP PUBLICATION walrelay; CREATE TABLE other (x int); CREATE PUBLICATION walrelay FOR ALL TABLES "
                 "WITH (publish = 'insert', publish_via_partition_root = true)")
        relay = self.start_pruning()
        with self.database.connect() as session, session.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("LOCK TABLE other IN ACCESS EXCLUSIVE MODE")
            self.sql("SELECT pg_terminate_backend(%s)", self.database.walsender(self.slot))
            self.insert(1, "a")
            relay.wait_until(lambda: self.first_ids() == [1], 60, "the row")
        self.assertEqual(relay.logs("disconnected", code="WR-2012"), [])

    def test_partition_of_a_published_table_is_refused(self) -> None:
        self.assertIn("public.outbox", self.expect_exit(78, "WR-2312", {"source.table": "public.a"}))


if __name__ == "__main__":
    main()
