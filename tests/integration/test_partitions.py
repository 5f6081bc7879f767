#!/usr/bin/python3
"""Outbox tables that are partitioned by time: partitions are created ahead, and dropped only with proof.

`maintain_partitions` calls the function that does this, with any time and any proof.
"""

import datetime
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from walrelay_dev.patience import patient
from walrelay_test.relay_config import build_folder
from walrelay_test.testcase import IntegrationTest, for_each_major, main

DAY = 86_400
_NOON = datetime.datetime(2026, 3, 10, 12, tzinfo=datetime.timezone.utc)


def day(number: int) -> datetime.datetime:
    """Noon of a day; 0 is the present one."""
    return _NOON + datetime.timedelta(days=number)


def partition(number: int) -> str:
    return f"outbox_p{day(number):%Y%m%d}"


class PartitionsCase(IntegrationTest):
    columns = ("id bigint, aggregate_type text, aggregate_id text, event_type text, payload jsonb, "
               "created_at timestamptz")

    def prepare(self) -> None:
        self.sql(f"CREATE TABLE outbox ({self.columns}, PRIMARY KEY (id, created_at)) PARTITION BY RANGE (created_at)")
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox "
                 "WITH (publish = 'insert', publish_via_partition_root = true)")
        self.database.create_slot(self.slot)
        self.begin = self.next_xid()

    def next_xid(self) -> int:
        return int(self.database.value("SELECT pg_snapshot_xmax(pg_current_snapshot())::text"))

    def insert(self, id: int, number: int) -> None:
        self.sql("INSERT INTO outbox VALUES (%s, %s, 'k', 'made', '{}', %s)", id, self.name, day(number))

    def maintain(self, *, now: int = 0, ahead: int = 1, keep: int = 7, before: int | None = None,
                 begin: int | None = None, begin_time: int = -100, timeline: int = 1, code: int = 0) -> list[str]:
        """Runs the maintenance as on a day; returns what it has done, a line each. Without `before`: no proof.

        With a proof, a relay reads the slot.
        """
        walsender = 0 if before is None else self.walsender()
        started = self.sql("SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8")[0][0]
        values = [self.database.dsn, "public", "outbox", ahead, keep * DAY, int(day(now).timestamp()),
                  self.begin if begin is None else begin, int(day(begin_time).timestamp()), before or 0, timeline,
                  self.slot, walsender, started]
        run = subprocess.run([build_folder() / "tests" / "integration" / "maintain_partitions", *map(str, values)],
                             stdout=subprocess.PIPE, text=True, timeout=patient(120))
        self.assertEqual(run.returncode, code, run.stdout)
        return run.stdout.splitlines()

    def walsender(self) -> int:
        if not any(relay.running() for relay in self.relays):
            self.start_relay().wait_ready()
        return self.database.walsender(self.slot)

    def partitions(self) -> list[str]:
        return [name for (name,) in self.sql("SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = inhrelid "
                                             "WHERE inhparent = 'outbox'::regclass ORDER BY 1")]

    def fill_old_days(self) -> None:
        """One partition for each of two days that are older than a week, with a row, and one for the present day."""
        self.maintain(now=-9, ahead=1)
        self.maintain(now=0, ahead=0)
        self.insert(1, -9)
        self.insert(2, -8)
        self.assertEqual(self.partitions(), [partition(-9), partition(-8), partition(0)])


@for_each_major(PartitionsCase, [13, 15, 18])
class PartitionsTest:
    def test_partitions_are_created_ahead_and_once(self) -> None:
        self.assertEqual(self.maintain(ahead=2), [f"created {partition(each)}" for each in (0, 1, 2)])
        self.assertEqual(self.maintain(ahead=2), [])
        self.assertEqual(self.maintain(now=1, ahead=2), [f"created {partition(3)}"])

    def test_open_writer_does_not_delay_a_new_partition(self) -> None:
        self.sql("CREATE TABLE outbox_default PARTITION OF outbox DEFAULT")
        self.maintain(ahead=0)
        with self.database.transaction("ROLLBACK") as cursor:
            cursor.execute("INSERT INTO outbox VALUES (1, %s, 'k', 'made', '{}', %s)", (self.name, day(0)))
            self.assertEqual(self.maintain(ahead=1), [f"created {partition(1)}"])

    def test_new_partition_has_the_indexes_and_the_owner_of_the_table(self) -> None:
        self.sql(f"CREATE ROLE {self.name}_owner; CREATE INDEX ON outbox (aggregate_id)")
        self.sql(f"GRANT CREATE ON SCHEMA public TO {self.name}_owner; ALTER TABLE outbox OWNER TO {self.name}_owner")
        self.addCleanup(self.sql, f"DROP OWNED BY {self.name}_owner CASCADE; DROP ROLE {self.name}_owner")
        self.maintain(ahead=0)
        self.assertEqual(self.sql("SELECT pg_get_userbyid(relowner), "
                                  "(SELECT count(*) FROM pg_index WHERE indrelid = c.oid) FROM pg_class c "
                                  "WHERE relname = %s", partition(0)), [(f"{self.name}_owner", 2)])

    def test_published_partitions_are_dropped(self) -> None:
        self.fill_old_days()
        self.assertEqual(self.maintain(ahead=0, before=self.next_xid()),
                         [f"dropped {partition(-9)}", f"dropped {partition(-8)}"])
        self.assertEqual(self.partitions(), [partition(0)])

    def test_without_proof_nothing_is_dropped(self) -> None:
        self.fill_old_days()
        for line in self.maintain(ahead=0):
            self.assertIn("nothing is proven", line)
        self.assertEqual(len(self.partitions()), 3)

    def test_unpublished_row_keeps_its_partition_however_old_it_is(self) -> None:
        self.fill_old_days()
        before = self.next_xid()
        self.insert(3, -9)
        kept, dropped = sorted(self.maintain(now=1000, ahead=0, before=before))[-1], f"dropped {partition(-8)}"
        self.assertRegex(kept, f"problem {partition(-9)}: transaction {before} wrote a row that is not proven")
        self.assertNotIn(partition(-8), self.partitions(), dropped)
        self.assertEqual(self.sql("SELECT id FROM outbox ORDER BY 1"), [(1,), (3,)])

    def test_rows_from_before_the_proof_keep_their_partition(self) -> None:
        self.fill_old_days()
        lines = self.maintain(ahead=0, begin=self.next_xid(), before=self.next_xid() + 1000)
        self.assertEqual([line.split(":")[0] for line in lines],
                         [f"problem {partition(-9)}", f"problem {partition(-8)}"])

    def test_row_of_a_savepoint_is_judged_by_its_own_xid(self) -> None:
        self.maintain(now=-9, ahead=0)
        with self.database.transaction() as cursor:
            cursor.execute("SELECT pg_current_xact_id()::text")
            outer = int(cursor.fetchone()[0])
            cursor.execute("SAVEPOINT s")
            cursor.execute("INSERT INTO outbox VALUES (1, %s, 'k', 'made', '{}', %s)", (self.name, day(-9)))
        self.assertIn("not proven", self.maintain(ahead=0, before=outer + 1)[-1])
        self.assertIn(f"dropped {partition(-9)}", self.maintain(ahead=0, before=self.next_xid()))

    @contextmanager
    def open_writer(self) -> Iterator[Any]:
        """A transaction that has inserted row 3 into an old partition. Only its lock shows that the row exists."""
        writer = self.database.connect()
        self.addCleanup(writer.close)
        cursor = writer.cursor()
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO outbox VALUES (3, %s, 'k', 'made', '{}', %s)", (self.name, day(-9)))
        yield cursor
        self.assertEqual(self.sql("SELECT id FROM outbox WHERE created_at = %s ORDER BY 1", day(-9)), [(1,), (3,)])

    def expect_locked(self) -> None:
        line = self.maintain(ahead=0, before=self.next_xid() + 1)[0]
        self.assertIn(f"problem {partition(-9)}: another session holds a lock", line)

    def test_open_transaction_of_a_writer_keeps_the_partition(self) -> None:
        self.fill_old_days()
        with self.open_writer() as cursor:
            self.expect_locked()
            cursor.execute("COMMIT")

    def test_prepared_transaction_of_a_writer_keeps_the_partition(self) -> None:
        self.fill_old_days()
        with self.open_writer() as cursor:
            cursor.execute(f"PREPARE TRANSACTION '{self.name}'")
            self.expect_locked()
            self.sql(f"COMMIT PREPARED '{self.name}'")

    def test_writer_of_the_present_partition_delays_the_drop_for_a_moment_only(self) -> None:
        self.fill_old_days()
        before = self.next_xid()
        with self.database.transaction("ROLLBACK") as cursor:
            cursor.execute("INSERT INTO outbox VALUES (3, %s, 'k', 'made', '{}', %s)", (self.name, day(0)))
            for line in self.maintain(ahead=0, before=before):
                self.assertIn("another session holds a lock", line)
        self.assertEqual(len(self.maintain(ahead=0, before=before)), 2)
        self.assertEqual(self.partitions(), [partition(0)])

    def test_proof_of_another_timeline_drops_nothing(self) -> None:
        self.fill_old_days()
        for line in self.maintain(ahead=0, before=self.next_xid(), timeline=2):
            self.assertIn("another timeline", line)
        self.assertEqual(len(self.partitions()), 3)

    def test_proof_of_a_relay_that_has_disconnected_drops_nothing(self) -> None:
        self.fill_old_days()
        before = self.next_xid()
        self.walsender()
        self.relays[-1].kill()
        self.start_relay().wait_ready()
        old, self.walsender = self.walsender(), lambda: 1
        for line in self.maintain(ahead=0, before=before):
            self.assertIn("the relay has disconnected", line)
        self.walsender = lambda: old
        self.assertEqual(len(self.maintain(ahead=0, before=before)), 2)

    def test_table_with_rows_that_is_attached_is_kept(self) -> None:
        """Its rows are younger than the slot, and were never in the stream."""
        self.sql("CREATE TABLE other (LIKE outbox INCLUDING ALL)")
        self.sql("INSERT INTO other VALUES (1, 'x', 'k', 'made', '{}', %s)", day(-9))
        self.sql(f"ALTER TABLE outbox ATTACH PARTITION other FOR VALUES FROM ('{day(-10):%Y-%m-%d}') "
                 f"TO ('{day(-8):%Y-%m-%d}')")
        self.assertIn("problem other: transaction", self.maintain(ahead=0, before=self.next_xid())[-1])
        self.sql("DELETE FROM other")
        self.insert(2, -9)
        self.assertEqual(self.maintain(ahead=0, before=self.next_xid()), ["dropped other"])

    def test_reused_xids_need_a_partition_younger_than_the_proof(self) -> None:
        self.fill_old_days()
        epoch = 1 << 32
        for line in self.maintain(ahead=0, begin=epoch, begin_time=-8, before=epoch + self.next_xid()):
            self.assertRegex(line, "reused transaction ids|not proven")
        self.assertEqual(len(self.partitions()), 3)

    def test_rows_in_the_default_partition_are_reported_and_stay(self) -> None:
        self.sql("CREATE TABLE outbox_default PARTITION OF outbox DEFAULT")
        self.insert(1, 1)
        lines = self.maintain(ahead=2)
        self.assertEqual(lines[:2], [f"created {partition(0)}", f"created {partition(2)}"])
        self.assertIn(f"problem {partition(1)}: the DEFAULT partition has rows of this period", lines[2])
        self.assertEqual(self.sql("SELECT id FROM outbox_default"), [(1,)])

    def test_other_partitions_of_the_table_are_respected(self) -> None:
        self.sql(f"CREATE TABLE outbox_old PARTITION OF outbox FOR VALUES FROM (MINVALUE) TO ('{day(-20):%Y-%m-%d}')")
        self.sql(f"CREATE TABLE outbox_month PARTITION OF outbox FOR VALUES FROM ('{day(-1):%Y-%m-%d}') TO "
                 f"('{day(1):%Y-%m-%d} 06:00+00')")
        self.assertEqual(self.maintain(ahead=1, before=self.next_xid()),
                         [f"created {partition(1)}060000", "dropped outbox_old"])

    def test_table_that_is_not_partitioned_by_time_is_refused(self) -> None:
        self.sql("DROP TABLE outbox")
        for definition in ("id int", "id int) PARTITION BY RANGE (id", "id int, t timestamptz) PARTITION BY HASH (t"):
            self.sql(f"CREATE TABLE outbox ({definition})")
            self.assertIn("WR-2309", self.maintain(code=1)[0])
            self.sql("DROP TABLE outbox")

    def test_running_relay_notices_no_gap(self) -> None:
        self.maintain(ahead=0)
        relay = self.start_relay()
        relay.wait_ready()
        self.insert(1, 0)
        self.maintain(now=1, ahead=2)
        for id, number in ((2, 0), (3, 1), (4, 3)):
            self.insert(id, number)
        self.expect_published(1, 2, 3, 4)
        self.assertEqual(self.maintain(now=30, ahead=0, before=self.next_xid())[1:],
                         [f"dropped {partition(each)}" for each in (0, 1, 2, 3)])
        self.insert(5, 30)
        self.expect_published(1, 2, 3, 4, 5)
        self.assertEqual(relay.logs("gap"), [])
        self.assertEqual(relay.logs("disconnected"), [])

    def test_relay_decodes_rows_of_a_partition_that_is_dropped(self) -> None:
        """Postgres decodes with the catalog as of the row."""
        self.maintain(ahead=0)
        self.insert(1, 0)
        self.sql(f"DROP TABLE {partition(0)}")
        self.maintain(now=1, ahead=0)
        self.insert(2, 1)
        self.start_relay()
        self.expect_published(1, 2)


class TimestampTest(PartitionsCase):
    """The time of a column without time zone counts as UTC."""

    columns = PartitionsCase.columns.replace("timestamptz", "timestamp")

    def test_published_partitions_are_dropped(self) -> None:
        self.fill_old_days()
        self.assertEqual(self.maintain(ahead=0, before=self.next_xid()),
                         [f"dropped {partition(-9)}", f"dropped {partition(-8)}"])


class DateTest(TimestampTest):
    columns = PartitionsCase.columns.replace("timestamptz", "date")


if __name__ == "__main__":
    main()
