#!/usr/bin/python3
"""Pruning: only rows that are proven to be published, and old enough, are deleted or marked."""

from walrelay_test.prune_case import PruneCase
from walrelay_test.testcase import main

MAY_PRUNE = "SELECT, DELETE"


class DeleteTest(PruneCase):
    def test_published_rows_are_deleted(self) -> None:
        relay = self.start_pruning()
        self.outbox.insert(1, 2, 3)
        self.settle()
        self.wait_for_rows(relay)
        self.assertEqual(self.first_ids(), [1, 2, 3])
        self.wait_for_passes(relay, 1)
        self.assertEqual(relay.metric("walrelay_pruned_rows_total"), 3)
        # More than one pass may have deleted them, and a pass that came before the proof has a line with 0 rows.
        relay.wait_until(lambda: sum(line["rows"] for line in relay.logs("pruned")) == 3, 60, "lines about 3 rows")

    def test_deletions_do_not_wait_for_the_disk(self) -> None:
        self.sql("""CREATE TABLE public.seen (commit text);
                    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                      INSERT INTO public.seen VALUES (current_setting('synchronous_commit')); RETURN OLD; END $$;
                    CREATE TRIGGER note BEFORE DELETE ON outbox FOR EACH ROW EXECUTE FUNCTION note()""")
        relay = self.start_pruning()
        self.outbox.insert(1)
        self.settle()
        self.wait_for_rows(relay)
        self.assertEqual(self.sql("SELECT commit FROM public.seen"), [("off",)])

    def test_young_rows_are_kept(self) -> None:
        relay = self.start_pruning({"prune.keep": "1h"})
        self.outbox.insert(1)
        self.outbox.insert(2, more={"created_at": "2000-01-01"})  # from before the proof, by its time
        self.settle()
        self.touch(relay)
        self.wait_for_passes(relay)
        self.assertEqual(self.rows(), [1, 2])
        self.assertEqual(relay.metric("walrelay_prune_unproven_rows"), 1)

    def test_rows_that_are_not_published_are_kept(self) -> None:
        relay = self.start_pruning()
        self.outbox.insert(1)
        self.settle()
        self.touch(relay)
        self.outbox.insert(2, key=None)  # blocks publishing
        self.outbox.insert(3)
        relay.wait_for_log("blocked")
        self.wait_for_rows(relay, 2, 3)
        # Pruning pauses because of the lag, or finds these rows without a proof: they stay in either case.
        for _ in range(3):
            self.sql("SELECT pg_logical_emit_message(true, 'filler', repeat('x', 100000))")
        relay.kill()
        relay.start()
        relay.wait_for_log("blocked")
        self.assertEqual(self.rows(), [2, 3])

    def test_rows_from_before_the_slot_are_kept(self) -> None:
        self.outbox.insert(1)
        relay = self.start_pruning()
        self.outbox.insert(2)
        self.settle()
        self.wait_for_rows(relay, 1)
        self.wait_for_passes(relay)
        self.assertEqual(self.rows(), [1])
        self.assertEqual(relay.metric("walrelay_prune_unproven_rows"), 1)

    def test_hidden_rows_are_kept(self) -> None:
        relay = self.start_pruning()
        self.outbox.insert(1)
        self.settle()
        self.wait_for_rows(relay)
        self.sql("ALTER PUBLICATION walrelay DROP TABLE outbox")
        self.outbox.insert(2)
        self.sql("ALTER PUBLICATION walrelay ADD TABLE outbox")
        gap = relay.wait_for_log("gap")
        self.walrelay("resume", "--accept-gap", gap["gap"])
        relay.wait_ready()
        self.touch(relay)
        self.outbox.insert(3)
        self.settle()
        self.wait_for_rows(relay, 2)
        self.wait_for_passes(relay)
        self.assertEqual(self.rows(), [2])

    def test_locked_tables_are_left_to_a_later_pass(self) -> None:
        relay = self.start_pruning()
        other = self.database.connect()
        self.addCleanup(other.close)
        with other.cursor() as cursor:
            self.outbox.insert(1)
            cursor.execute("BEGIN")
            cursor.execute("LOCK TABLE outbox IN SHARE MODE")  # without an xid, which would hold back the horizon
            self.settle()
            self.touch(relay)
            self.wait_for_passes(relay)
            self.assertEqual(self.rows(), [1])
            cursor.execute("ROLLBACK")
        self.wait_for_rows(relay)

    def test_partitions_are_pruned(self) -> None:
        self.sql("""CREATE TABLE parted (id bigint, aggregate_type text, aggregate_id text, event_type text,
                    payload jsonb, created_at timestamptz DEFAULT now()) PARTITION BY RANGE (id)""")
        self.sql("CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (10)")
        self.sql("CREATE TABLE high PARTITION OF parted FOR VALUES FROM (10) TO (20)")
        self.sql("ALTER PUBLICATION walrelay SET TABLE parted")
        self.sql("ALTER PUBLICATION walrelay SET (publish_via_partition_root = true)")
        relay = self.start_pruning({"source.table": "parted"})
        self.sql("INSERT INTO parted SELECT id, %s, 'k', 'made', '{}' FROM unnest(ARRAY[1, 11]) id", self.name)
        self.settle()
        relay.wait_until(lambda: self.sql("SELECT 1 FROM parted") == [], 60, "empty partitions")
        self.assertEqual(sorted(self.first_ids()), [1, 11])
        # A table that is attached with its rows, which are not published.
        self.sql("CREATE TABLE later (LIKE parted)")
        self.sql("INSERT INTO later VALUES (21)")
        self.sql("ALTER TABLE parted ATTACH PARTITION later FOR VALUES FROM (20) TO (30)")
        self.sql("INSERT INTO parted SELECT 22, %s, 'k', 'made', '{}'", self.name)
        self.settle()
        relay.wait_until(lambda: self.sql("SELECT id::int FROM parted") == [(21,)], 60, "one row")
        self.wait_for_passes(relay)
        self.assertEqual(self.sql("SELECT id::int FROM parted"), [(21,)])

    def test_many_pages(self) -> None:
        relay = self.start_pruning({"prune.batch_rows": 100, "prune.max_rows_per_second": 1_000_000})
        self.sql("INSERT INTO outbox SELECT id, %s, 'k', 'made', '{}' FROM generate_series(1, 20000) id", self.name)
        self.settle()
        self.wait_for_rows(relay)
        self.wait_for_passes(relay, 1)
        self.assertEqual(relay.metric("walrelay_pruned_rows_total"), 20_000)

    def test_missing_column(self) -> None:
        relay = self.start_pruning({"prune.time_column": "inserted_at"})
        line = relay.wait_for_log("not_pruned", code="WR-2321")
        self.assertIn("public.outbox: column inserted_at: expected timestamptz or timestamp", line["msg"])

    def test_missing_privilege_and_another_login(self) -> None:
        role = f"{self.name}_pruner"
        self.sql(f"CREATE ROLE {role} LOGIN")
        self.addCleanup(lambda: self.sql(f"DROP OWNED BY {role}; DROP ROLE {role}"))
        dsn = self.database.dsn.replace("user=postgres", f"user={role}")
        self.assertIn(role, dsn)
        relay = self.start_pruning({"prune.dsn": dsn})
        self.assertIn("outbox", relay.wait_for_log("not_pruned", code="WR-2322")["msg"])
        self.outbox.insert(1)
        self.settle()
        self.sql(f"GRANT {MAY_PRUNE} ON outbox TO {role}")
        self.wait_for_rows(relay)

    def test_killed_while_pruning(self) -> None:
        relay = self.start_pruning({"prune.batch_rows": 1, "prune.max_rows_per_second": 500})
        for round in range(3):
            first = 1 + 2_000 * round
            self.sql("INSERT INTO outbox SELECT id, %s, 'k', 'made', '{}' FROM generate_series(%s, %s) id",
                     self.name, first, first + 1_999)
            relay.wait_until(lambda: 0 < len(self.rows()) < 2_000, 60, "a part of the rows to be pruned")
            relay.kill()
            self.assertGreater(len(self.rows()), 0)
            relay.start()
            self.settle()
            self.wait_for_rows(relay)
        self.assertEqual(sorted(set(self.ids())), list(range(1, 6_001)))


class SetupTest(PruneCase):
    def test_setup_grants_the_privileges_once(self) -> None:
        role = f"{self.name}_relay"
        self.addCleanup(lambda: self.sql(f"DROP OWNED BY {role}; DROP ROLE {role}"))
        self.new_relay()
        self.walrelay("setup", "--apply", "--role", role)
        privileges = self.sql("""SELECT privilege_type FROM information_schema.role_table_grants
                                 WHERE grantee = %s AND table_name = 'outbox' ORDER BY 1""", role)
        self.assertEqual(privileges, [("DELETE",), ("SELECT",)])
        self.assertIn("Nothing to do", self.walrelay("setup", "--apply", "--role", role))
        self.sql(f"ALTER ROLE {role} PASSWORD 'secret-of-the-test'")
        relay = self.start_pruning({"source.dsn": self.postgres.dsn(self.name, user=role),
                                    "source.password": "secret-of-the-test", "source.create_slot": False})
        self.outbox.insert(1)
        self.settle()
        self.wait_for_rows(relay)


class Postgres13Test(PruneCase):
    postgres_options = {"major": 13}

    def test_published_rows_are_deleted(self) -> None:
        relay = self.start_pruning()
        self.sql("INSERT INTO outbox SELECT id, %s, 'k', 'made', '{}' FROM generate_series(1, 5000) id", self.name)
        self.settle()
        self.wait_for_rows(relay)


class Postgres18Test(Postgres13Test):
    postgres_options = {"major": 18}


class MarkTest(PruneCase):
    mode = {"prune.mode": "mark", "prune.mark_column": "published_at"}
    more_columns = PruneCase.more_columns + ", published_at timestamptz, processed boolean"

    def test_timestamp(self) -> None:
        self.outbox.insert(1)
        relay = self.start_pruning()
        self.outbox.insert(2, 3)
        self.settle()
        marked = "SELECT id::int FROM outbox WHERE published_at <= now() AND published_at >= created_at ORDER BY 1"
        relay.wait_until(lambda: self.sql(marked) == [(2,), (3,)], 60, "marks")
        self.wait_for_passes(relay)
        self.assertEqual(self.sql(marked), [(2,), (3,)])
        self.assertEqual(relay.metric("walrelay_pruned_rows_total"), 2)

    def test_boolean(self) -> None:
        relay = self.start_pruning({"prune.mark_column": "processed"})
        self.outbox.insert(1)
        self.outbox.insert(2, more={"processed": False})
        self.settle()
        relay.wait_until(lambda: self.sql("SELECT processed FROM outbox") == [(True,), (True,)], 60, "marks")


if __name__ == "__main__":
    main()
