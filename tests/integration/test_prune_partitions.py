#!/usr/bin/python3
"""Pruning of partitioned tables: partitions are created ahead, and dropped once every row is published and old."""

import datetime
import json
from typing import Any

from walrelay_test.prune_case import PruneCase
from walrelay_test.relay_process import RelayProcess
from walrelay_test.testcase import main

MAY_PRUNE = "SELECT, DELETE"


class DropTest(PruneCase):
    """Partitions of one hour: created ahead, and dropped when every row in them is published and old."""

    mode = {"prune.mode": "drop", "prune.partitions": "hourly", "prune.partitions_ahead": 2, "prune.keep": "24h"}

    def prepare(self) -> None:
        self.sql("""CREATE TABLE outbox (id bigint, aggregate_type text, aggregate_id text, event_type text,
                    payload jsonb, created_at timestamptz DEFAULT now()) PARTITION BY RANGE (created_at)""")
        self.sql("CREATE TABLE outbox_default PARTITION OF outbox DEFAULT")
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox "
                 "WITH (publish = 'insert', publish_via_partition_root = true)")
        self.now = self.sql("SELECT date_trunc('hour', now(), 'UTC')")[0][0].astimezone(datetime.timezone.utc)

    def hour(self, hours: int) -> datetime.datetime:
        return self.now + datetime.timedelta(hours=hours)

    def partition(self, hours: int) -> str:
        return f"outbox_p{self.hour(hours):%Y%m%d%H}"

    def partitions(self) -> list[str]:
        return [name for name, in self.sql("SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = inhrelid "
                                           "WHERE inhparent = 'outbox'::regclass ORDER BY 1")]

    def add_partition(self, hours: int) -> None:
        self.sql(f"CREATE TABLE {self.partition(hours)} PARTITION OF outbox "
                 f"FOR VALUES FROM ('{self.hour(hours)}') TO ('{self.hour(hours + 1)}')")

    def insert(self, first: int, last: int, hours: int, key: str | None = "k") -> None:
        self.sql("INSERT INTO outbox SELECT id, %s, %s, 'made', '{}', %s FROM generate_series(%s::int, %s::int) id",
                 self.name, key, self.hour(hours), first, last)

    def future(self) -> list[str]:
        return [self.partition(0), self.partition(1), self.partition(2)]

    def test_partitions_of_simulated_days(self) -> None:
        """An hour of each of eight days: written, published, and dropped once it is a day old."""
        relay = self.start_pruning()
        relay.wait_until(lambda: set(self.future()) <= set(self.partitions()), 60, "partitions ahead")
        for day in range(8, 0, -1):
            self.add_partition(-24 * day - 2)
            self.insert(1000 * day, 1000 * day + 499, -24 * day - 2)
        self.settle()
        self.touch(relay)
        relay.wait_until(lambda: self.partitions() == ["outbox_default", *self.future()], 60, "old partitions to go")
        expected = [1000 * day + i for day in range(1, 9) for i in range(500)]
        self.assertEqual(sorted(self.first_ids()), expected)
        dropped = [line["dropped"] for line in relay.logs("partitions") if line["dropped"]]
        self.assertEqual(len(", ".join(dropped).split(", ")), 8)
        self.assertIn("published rows older than 24 h: 0 to delete\n", self.walrelay("prune"))

    def test_rows_of_the_default_partition_are_deleted(self) -> None:
        self.insert(1, 1, 0)  # from before the slot; it prevents the partition of this hour
        relay = self.start_pruning({"prune.keep": "0"})
        self.assertEqual(relay.wait_for_log("partition_problem")["partition"], self.partition(0))
        self.sql("INSERT INTO outbox SELECT id, %s, 'k', 'made', '{}' FROM generate_series(2, 3) id", self.name)
        self.settle()
        relay.wait_until(lambda: self.sql("SELECT id::int FROM outbox") == [(1,)], 60, "one row")
        self.assertIn("has rows", self.walrelay("doctor"))
        problem, = self.status(relay)["pruning"]["partition_problems"]
        self.assertIn("the DEFAULT partition has rows of this period", problem["reason"])

    def test_partition_with_an_unpublished_row_is_kept(self) -> None:
        relay = self.start_pruning()
        self.add_partition(-30)
        self.add_partition(-29)
        self.insert(1, 1, -30)
        self.settle()
        self.insert(2, 2, -29, key=None)  # blocks publishing
        relay.wait_for_log("blocked")
        self.touch_nothing(relay)
        self.assertIn(self.partition(-29), self.partitions())
        relay.kill()
        relay.start()
        relay.wait_for_log("blocked")
        self.assertEqual(self.sql("SELECT id::int FROM ONLY " + self.partition(-29)), [(2,)])

    def touch_nothing(self, relay: RelayProcess) -> None:
        """Until a pass has left the partition alone, or pruning pauses because of the lag."""
        def refused() -> bool:
            pruning = self.status(relay).get("pruning", {})
            return bool(pruning.get("paused") or pruning.get("partition_problems"))
        relay.wait_until(refused, 90, "a pass that keeps the partition")

    def status(self, relay: RelayProcess) -> dict[str, Any]:
        return json.loads(relay.get("/status.json")[1])

    def test_missing_ownership(self) -> None:
        role = f"{self.name}_pruner"
        self.sql(f"CREATE ROLE {role} LOGIN; GRANT {MAY_PRUNE} ON outbox, outbox_default TO {role}")
        self.addCleanup(lambda: self.sql(f"DROP OWNED BY {role}; DROP ROLE {role}"))
        dsn = self.database.dsn.replace("user=postgres", f"user={role}")
        relay = self.start_pruning({"prune.dsn": dsn})
        self.assertIn("does not own table public.outbox", relay.wait_for_log("not_pruned", code="WR-2322")["msg"])
        self.assertIn("does not own", self.walrelay("doctor", code=3))
        self.assertEqual(self.partitions(), ["outbox_default"])
        self.assertEqual(self.status(relay)["pruning"]["error"]["code"], "WR-2322")

    def test_doctor(self) -> None:
        self.new_relay()
        report = self.walrelay("doctor", code=3)  # it has no slot yet
        self.assertIn(f"table public.outbox lacks {', '.join(self.future())}", report)
        self.assertIn("public.outbox_default is empty", report)


if __name__ == "__main__":
    main()
