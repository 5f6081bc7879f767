#!/usr/bin/python3
"""The rows of an outbox table, and those that are not published, counted from the table itself."""

import re
import socket
import subprocess
from typing import Any

from walrelay_dev.patience import patient
from walrelay_test.doctor_case import DoctorCase
from walrelay_test.outbox import Outbox
from walrelay_test.protobuf_types import parse
from walrelay_test.relay_config import relay_environment
from walrelay_test.testcase import (NO_BROKER, RECONNECT_SOON, RelayProcess, for_each_major, main, relay_program,
                                    wait_until)

MEGABYTE = 1 << 20
# A count that takes a second on a busy machine postpones the next one by a hundred.
COUNT_SECONDS = 150
READ_PAGES = 64 * MEGABYTE // 8192  # of a table that is too large to be read as a whole


class CountCase(DoctorCase):
    """A table with a time column, counted several times a second."""

    def prepare(self) -> None:
        self.outbox = Outbox(self.database, self.name,
                             more_columns=", created_at timestamptz NOT NULL DEFAULT now()")
        self.publish("outbox")

    def options(self) -> dict[str, Any]:
        return super().options() | {"pipeline.progress": "auto", "pipeline.id": self.name,
                                    "metrics.table_count_interval": "200ms"}

    def table(self, relay: RelayProcess) -> Any:
        """What the status shows of the table; None before the first count."""
        tables = parse("walrelay.admin.v1.Status", relay.get("/status.json")[1]).tables
        return tables[0] if tables else None

    def wait_for_table(self, relay: RelayProcess, **fields: Any) -> Any:
        """Waits until a count has these fields, an absent one being None; returns the count."""
        def shown() -> Any:
            table = self.table(relay)
            return table is not None and all(
                (getattr(table, name) if table.HasField(name) else None) == value if value is None or
                table.DESCRIPTOR.fields_by_name[name].has_presence else getattr(table, name) == value
                for name, value in fields.items()) and table
        return relay.wait_until(shown, COUNT_SECONDS, f"a count with {fields}")

    def start_counting(self, options: dict[str, Any] | None = None) -> RelayProcess:
        """A relay that has recorded which rows count as published."""
        relay = self.start_relay(options)
        relay.wait_ready()
        relay.wait_until(lambda: relay.metric("walrelay_table_unproven_rows") is not None, 60, "the first proof")
        return relay

    def block(self) -> None:
        """Inserts a row that cannot be published, and that all following rows wait for."""
        self.outbox.insert(1, key=None)

    def wait_for_counts(self, relay: RelayProcess, counts: int = 2) -> None:
        """Waits for counts that began after this call."""
        for _ in range(counts):
            before = relay.metric("walrelay_table_last_count_timestamp_seconds")
            relay.wait_until(lambda: relay.metric("walrelay_table_last_count_timestamp_seconds") != before,
                             COUNT_SECONDS, "a count")


@for_each_major(CountCase, (13, 18))
class TableCountTest:
    def test_idle_table(self) -> None:
        self.outbox.insert(1, 2)
        relay = self.start_counting()
        self.outbox.insert(3)
        self.settle()
        table = self.wait_for_table(relay, rows=3, unpublished_rows=0, unproven_rows=2)
        self.assertFalse(table.rows_estimated)
        self.assertEqual((table.unpublished_bound, table.unread, table.partitions), (0, 0, 0))
        self.assertEqual((table.schema, table.name), ("public", "outbox"))
        self.assertEqual(table.size_bytes, self.database.value("SELECT pg_total_relation_size('outbox')"))
        for metric, value in (("rows", 3), ("unpublished_rows", 0), ("unproven_rows", 2),
                              ("oldest_unpublished_age_seconds", 0), ("size_bytes", table.size_bytes)):
            self.assertEqual(relay.metric(f"walrelay_table_{metric}", table="public.outbox"), value, metric)
        self.assertIn("\n  tables       public.outbox: 3 rows, none waits to be published; 2 rows from before the slot",
                      relay.get("/status.txt")[1])

    def test_rows_behind_a_blocked_row(self) -> None:
        relay = self.start_counting()
        self.block()
        self.outbox.insert(2, 3)
        relay.wait_for_state("blocked")
        table = self.wait_for_table(relay, rows=3, unpublished_rows=3, unproven_rows=0)
        self.assertEqual(table.unpublished_bound, 1)
        relay.wait_until(lambda: self.table(relay).oldest_unpublished_seconds > 1, 60, "the oldest row to age")
        self.assertGreater(relay.metric("walrelay_table_oldest_unpublished_age_seconds"), 1)
        self.assertIn("at most 3 not published, the oldest for ", relay.get("/status")[1])

    def test_rows_of_subtransactions(self) -> None:
        relay = self.start_counting()
        self.block()
        with self.database.transaction() as cursor:
            self.outbox.insert(2, cursor=cursor)
            for row, end in ((3, "RELEASE"), (4, "ROLLBACK TO"), (5, "RELEASE")):
                cursor.execute("SAVEPOINT inner_one")
                self.outbox.insert(row, cursor=cursor)
                cursor.execute(f"{end} inner_one")
        self.wait_for_table(relay, rows=4, unpublished_rows=4)

    def test_an_open_transaction_hides_no_progress(self) -> None:
        relay = self.start_counting()
        self.sql("CREATE TABLE other (x int)")
        with self.database.connect() as session, session.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("INSERT INTO other VALUES (1)")
            with self.database.transaction() as published:
                published.execute("SAVEPOINT inner_one")
                self.outbox.insert(1, cursor=published)
                published.execute("RELEASE inner_one")
                self.outbox.insert(2, cursor=published)
            self.settle()
            self.wait_for_counts(relay)
            self.wait_for_table(relay, rows=2, unpublished_rows=0)
            cursor.execute("ROLLBACK")

    def test_a_large_table(self) -> None:
        relay = self.start_counting()
        self.block()
        self.sql("INSERT INTO outbox (id, aggregate_type, aggregate_id, payload) SELECT g, %s, 'k', "
                 "to_jsonb(repeat(md5(g::text), 12)) FROM generate_series(2, 200001) g", self.name)
        self.assertGreater(self.database.value("SELECT pg_relation_size('outbox')"), 64 * MEGABYTE)
        self.sql("ANALYZE outbox")
        if self.postgres_options["major"] < 14:
            table = self.wait_for_table(relay, rows=200001, unpublished_rows=None)
        else:
            relay.wait_until(lambda: self.table(relay).unpublished_bound == 2, COUNT_SECONDS, "a count of the end")
            table = self.table(relay)
            self.assertGreater(table.unpublished_rows, 100000)
            self.assertLess(table.unpublished_rows, 200001)
        self.assertTrue(table.rows_estimated)
        self.assertFalse(table.HasField("unproven_rows"))
        self.assertEqual(table.unread, 0)

    def test_200000_rows(self) -> None:
        relay = self.start_counting()
        self.block()
        self.sql("INSERT INTO outbox (id, aggregate_type, aggregate_id, payload) SELECT g, %s, 'k', '{}' "
                 "FROM generate_series(2, 200001) g", self.name)
        self.wait_for_table(relay, rows=200001, unpublished_rows=200001, unproven_rows=0)

    def test_without_the_privilege(self) -> None:
        role = f"{self.name}_role"
        self.sql(f"CREATE ROLE {role} LOGIN REPLICATION PASSWORD 'pw'")
        self.addCleanup(self.postgres.psql, f"DROP ROLE {role}")
        self.addCleanup(self.sql, f"DROP OWNED BY {role}")
        options = {"source.dsn": f"{self.database.dsn} user={role}", "source.password": "pw"}
        relay = self.start_relay(options)
        relay.wait_ready()
        self.outbox.insert(1, 2)
        self.settle()
        no_select = 1
        table = self.wait_for_table(relay, unread=no_select, unpublished_rows=0)
        self.assertTrue(table.rows_estimated)
        self.assertFalse(table.HasField("unproven_rows"))
        self.assertEqual(relay.metric("walrelay_slot_sample_errors_total"), 0)
        self.assertEqual([line for line in relay.logs() if line["level"] in ("warn", "error")], [])
        found = self.expect("table.readable", "warning", f"role {role} may not read it", options=options)
        self.sql(found["remedy"])
        self.wait_for_table(relay, unread=0, rows=2, unpublished_rows=0)
        self.expect("table.readable", "ok", f"role {role} may read table public.outbox", options=options)

    def test_commit_times(self) -> None:
        self.sql("ALTER TABLE outbox ALTER created_at SET DEFAULT '2000-01-01'")
        relay = self.start_counting()
        self.outbox.insert(2)
        self.settle()  # the record has a horizon, from before this row
        self.block()
        old = self.wait_for_table(relay, unpublished_rows=2).oldest_unpublished_seconds
        self.assertGreater(old, 10 * 365 * 86400)
        relay.kill()
        self.postgres.psql("ALTER SYSTEM SET track_commit_timestamp = on")
        self.addCleanup(self.postgres.psql, "ALTER SYSTEM RESET track_commit_timestamp")
        self.postgres.restart()
        relay.start()
        self.outbox.insert(3)
        table = self.wait_for_table(relay, unpublished_rows=3)
        self.assertLess(table.oldest_unpublished_seconds, 3600)

    def test_partitions(self) -> None:
        self.sql("CREATE TABLE parted (LIKE outbox INCLUDING DEFAULTS) PARTITION BY RANGE (id)")
        self.sql("CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (10)")
        self.sql("CREATE TABLE high PARTITION OF parted FOR VALUES FROM (10) TO (20)")
        self.sql("CREATE PUBLICATION parts FOR TABLE parted WITH (publish = 'insert', "
                 "publish_via_partition_root = true)")
        self.database.create_slot(f"{self.slot}2")
        relay = self.start_counting({"source.publication": "parts", "source.slot": f"{self.slot}2",
                                     "source.table": "public.parted"})
        self.outbox.table = "parted"
        self.outbox.insert(2, key=None)
        self.outbox.insert(3, 12)
        table = self.wait_for_table(relay, rows=3, unpublished_rows=3, partitions=2)
        self.assertFalse(table.HasField("wasted_bytes"))

    def fill(self, first: int, rows: int, kilobytes: float, time: str = "now()") -> None:
        """Inserts rows of about this size into the table of several partitions, in one transaction."""
        self.sql("INSERT INTO parted (id, aggregate_type, aggregate_id, payload, created_at) SELECT g, %s, 'k', "
                 f"to_jsonb(repeat(md5(g::text), %s)), {time} FROM generate_series(%s::int, %s::int) g",
                 self.name, int(kilobytes * 32), first, first + rows - 1)

    def partition(self, key: str, **partitions: str) -> None:
        self.sql(f"CREATE TABLE parted (LIKE outbox INCLUDING DEFAULTS) PARTITION BY {key}")
        for name, bounds in partitions.items():
            # Without TOAST, the payload counts as part of the table.
            self.sql(f"CREATE TABLE {name} PARTITION OF parted {bounds}")
            self.sql(f"ALTER TABLE {name} ALTER payload SET STORAGE PLAIN")
        self.sql("CREATE PUBLICATION parts FOR TABLE parted WITH (publish = 'insert', "
                 "publish_via_partition_root = true)")

    def start_behind(self) -> RelayProcess:
        """A relay that publishes nothing of what is inserted from now on."""
        self.database.create_slot(f"{self.slot}2")
        relay = self.start_counting({"source.publication": "parts", "source.slot": f"{self.slot}2",
                                     "source.table": "public.parted"})
        self.outbox.table = "parted"
        self.block()
        return relay

    def by_time(self) -> None:
        """The default partition is the newest one, and cannot be read alone."""
        self.partition("RANGE (created_at)", low="FOR VALUES FROM ('2000-01-01') TO ('2010-01-01')",
                       high="FOR VALUES FROM ('2010-01-01') TO ('2100-01-01')", other="DEFAULT")

    def wait_for_part(self, relay: RelayProcess, rows: int) -> None:
        """Waits for a count that says "at least" this many; without `rows`, that the number is unknown."""
        if rows:
            self.wait_for_table(relay, unpublished_rows=rows, unpublished_bound=2, rows_estimated=True, unread=0)
        else:
            self.wait_for_counts(relay)
            self.wait_for_table(relay, unpublished_rows=None, rows_estimated=True, unread=0)

    @property
    def reads_ends(self) -> bool:
        return self.postgres_options["major"] >= 14

    def test_the_newest_partitions_of_a_large_table(self) -> None:
        self.by_time()
        relay = self.start_behind()
        self.fill(10, 17000, 4, "'2005-05-05'")
        self.fill(30000, 1000, 0.1)
        self.fill(40000, 10, 4, "'2200-05-05'")
        # A page of the older partition has one row.
        older = READ_PAGES - self.database.value("SELECT pg_relation_size('high') / 8192") if self.reads_ends else 0
        self.wait_for_part(relay, 1001 + older)
        self.assertIn(f"at least {1001 + older} not published, the oldest for ", relay.get("/status.txt")[1])

    def test_the_end_of_the_newest_partition_of_a_large_table(self) -> None:
        self.by_time()
        relay = self.start_behind()
        self.fill(30000, 20000, 4)
        self.wait_for_part(relay, READ_PAGES if self.reads_ends else 0)

    def test_the_ends_of_partitions_that_cannot_be_read_alone(self) -> None:
        self.partition("HASH (id)", low="FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
                       high="FOR VALUES WITH (MODULUS 2, REMAINDER 1)")
        relay = self.start_behind()
        self.fill(10, 17000, 4)
        pages = self.sql("SELECT pg_relation_size('low') / 8192, pg_relation_size('high') / 8192")[0]
        first = next(page for page in range(17000) if sum(max(0, each - page) for each in pages) <= READ_PAGES)
        self.wait_for_part(relay, sum(max(0, each - first) for each in pages) if self.reads_ends else 0)

    def test_bounds_of_another_users_type_are_not_part_of_a_statement(self) -> None:
        self.sql("CREATE TYPE stage AS ENUM ('a', 'b')")
        self.sql("ALTER TABLE outbox ADD stage stage DEFAULT 'b'")
        self.partition("RANGE (stage)", low="FOR VALUES FROM ('a') TO (MAXVALUE)")
        relay = self.start_behind()
        self.fill(10, 17000, 4)
        self.wait_for_part(relay, READ_PAGES if self.reads_ends else 0)


class CommandsTest(CountCase):
    def test_off(self) -> None:
        relay = self.start_relay({"metrics.table_count_interval": "0s"})
        relay.wait_ready()
        self.outbox.insert(1)
        self.settle()
        self.assertIsNone(relay.metric("walrelay_table_rows"))
        self.assertIsNone(self.table(relay))

    def test_a_standby_instance_leaves_counting_to_the_other(self) -> None:
        first = self.start_counting()
        second = self.start_relay()
        second.wait_for_state("standby")
        self.outbox.insert(1)
        self.wait_for_table(first, rows=1, unpublished_rows=0)
        second.wait_until(lambda: self.table(second) is None, 60, "no count")
        self.assertIsNone(second.metric("walrelay_table_rows"))
        self.assertEqual(first.stop(), 0)
        self.outbox.insert(2)
        self.wait_for_table(second, rows=2, unpublished_rows=0)

    def test_doctor_with_and_without_a_relay(self) -> None:
        relay = self.start_counting()
        self.outbox.insert(1)
        self.settle()
        self.expect("table.unpublished", "ok", "public.outbox: 1 row, none waits to be published")
        self.expect("table.bloat", "ok", "table public.outbox: ")
        self.assertEqual(relay.stop(), 0)
        self.outbox.insert(2, 3)
        text = self.expect("table.unpublished", "warning", "public.outbox: 3 rows, at most ")["text"]
        # The row that was published after the last horizon may be among them.
        self.assertIn(re.search(r"at most (\d) not published, the oldest for ", text)[1], ("2", "3"))

    def status(self, *arguments: str) -> str:
        """The output of `walrelay status` with the configuration of a relay that has ended."""
        return subprocess.run([relay_program(), "status", "--config", self.relays[-1].config, *arguments,
                               "--set", "http.listen=127.0.0.1:1"], text=True, capture_output=True, timeout=patient(60),
                              check=True, cwd="/", env=relay_environment()).stdout

    def test_status_without_a_relay_reads_the_progress_record(self) -> None:
        relay = self.start_counting()
        self.outbox.insert(1)
        self.settle()
        self.assertEqual(relay.stop(), 0)
        self.assertRegex(self.status(), r"\n  tables       public.outbox: 1 row, ")
        self.outbox.insert(2, 3)
        text = self.status()
        self.assertIn(re.search(r"3 rows, at most (\d) not published, the oldest for ", text)[1], ("2", "3"))
        self.assertNotIn("unknown", text.partition("tables")[2])
        shown = parse("walrelay.admin.v1.Status", self.status("--json"))
        self.assertFalse(shown.HasField("record_failure"))
        self.assertEqual((shown.tables[0].unpublished_bound, shown.tables[0].unproven_rows), (1, 0))

    def test_status_does_not_wait_for_kafka(self) -> None:
        self.assertEqual(self.start_counting().stop(), 0)
        self.outbox.insert(1)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            for broker in (f"127.0.0.1:{silent.getsockname()[1]}", NO_BROKER["kafka.bootstrap_servers"]):
                text = self.status("--set", f"kafka.bootstrap_servers={broker}")
                self.assertIn("public.outbox: 1 row, how many are not published is unknown: nothing proves", text)
                self.assertIn("\n  unknown      Progress record: not read (WR-4001: ", text)
                self.assertIn("no client reads the slot", text)
        shown = parse("walrelay.admin.v1.Status",
                      self.status("--json", "--set", "kafka.bootstrap_servers=127.0.0.1:1"))
        self.assertEqual(shown.record_failure.code, "WR-4001")
        self.assertFalse(shown.tables[0].HasField("unpublished_rows"))

    def test_doctor_names_the_command_for_dead_rows(self) -> None:
        self.sql("ALTER TABLE outbox SET (autovacuum_enabled = off)")
        self.sql("INSERT INTO outbox SELECT g FROM generate_series(1, 20000) g")
        self.sql("DELETE FROM outbox")
        found = self.wait_for_finding("table.dead_rows")
        self.assertIn("table public.outbox has 20000 dead rows; no vacuum is known", found["text"])
        statement = found["remedy"].partition(";")[0]
        self.assertEqual(statement, 'VACUUM (VERBOSE, ANALYZE) "public"."outbox"')
        self.sql(statement)
        self.assertEqual(self.findings("table.dead_rows"), [])

    def wait_for_finding(self, check: str) -> dict[str, str]:
        """A session reports its statistics a moment after its transaction."""
        return wait_until(lambda: next(iter(self.findings(check)), None), 60, check)


class KafkaDownTest(CountCase):
    kafka_options = {}

    def test_rows_wait_for_kafka(self) -> None:
        relay = self.start_counting(RECONNECT_SOON)
        self.kafka.stop()
        self.outbox.insert(1, 2)
        self.outbox.insert(3)
        self.wait_for_table(relay, rows=3, unpublished_rows=3)
        self.kafka.start()
        self.wait_for_table(relay, rows=3, unpublished_rows=0)


if __name__ == "__main__":
    main()
