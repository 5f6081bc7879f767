#!/usr/bin/python3
"""`walrelay recover`: a slot that was lost is replaced, and every row that it did not stream is published.

WALRELAY_RECOVER_KILLS: how often a recovery is killed at a random moment (default: 6).
WALRELAY_RECOVER_ROWS: how many rows the test of memory and time publishes and compares (default: 20000).
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from walrelay_dev.patience import patient
from walrelay_test.recover_case import BUSY, CHANGED, OK, ROW, UNPROVEN, USAGE, RecoverCase
from walrelay_test.relay_config import relay_environment
from walrelay_test.testcase import for_each_major, main, wait_until

KILLS = int(os.environ.get("WALRELAY_RECOVER_KILLS", "6"))
ROWS = int(os.environ.get("WALRELAY_RECOVER_ROWS", "20000"))


class LostSlotTest(RecoverCase):
    def test_records_that_kafka_would_delete_at_once_are_not_published_unnoticed(self) -> None:
        self.kafka.create_topic(self.topic, config={"retention.ms": 7 * 86_400_000})
        self.sql("ALTER TABLE outbox ADD at timestamptz NOT NULL DEFAULT now()")
        relay = self.start_with_proof(1, options={"route.timestamp": "column:at"})
        self.assertEqual(relay.stop(), 0)
        self.drop_slot()
        self.outbox.insert(2, more={"at": "2020-01-01"})
        self.outbox.insert(3)
        plan = self.plan()
        self.assertEqual((plan["to_publish"], plan["deleted_at_once"]), (2, 1))
        self.assertIn(f"1 of 2 records for topic {self.topic}: older than the 7 days", " ".join(plan["warnings"]))
        self.recover(code=CHANGED)
        self.assertEqual(self.ids(), [1])
        self.assertEqual(self.database.slot(self.slot, "slot_name"), None)
        self.walrelay("recover", "--accept-deletion", "--apply", plan["plan"])
        self.assertEqual(self.ids(), [1, 2, 3])

    def test_dropped_slot(self) -> None:
        relay = self.start_streaming()
        self.outbox.insert(1, 2)
        self.await_horizon()
        self.outbox.insert(3)
        self.settle()
        self.assertEqual(relay.stop(), 0)
        self.outbox.insert(4)
        with self.database.transaction() as cursor:  # a savepoint: a subtransaction has its own xid
            cursor.execute("SAVEPOINT a")
            self.outbox.insert(5, cursor=cursor)
            cursor.execute("RELEASE a")
            cursor.execute("SAVEPOINT b")
            self.outbox.insert(99, cursor=cursor)
            cursor.execute("ROLLBACK TO b")
            self.outbox.insert(6, cursor=cursor)
        self.drop_slot()
        self.outbox.insert(7)
        plan = self.plan()
        self.assertEqual((plan["code"], plan["rows"], plan["found"], plan["to_publish"]), ("WR-2107", 5, 1, 4))
        self.assertEqual(self.ids(), [1, 2, 3], "a plan publishes nothing")
        self.assertEqual(self.database.slot(self.slot, "slot_name"), None)
        self.outbox.insert(8)  # a plan may get more rows
        text = self.walrelay("recover", "--apply", plan["plan"])
        self.assertIn("5 rows published, 1 were in Kafka already", text)
        self.assertEqual(self.ids(), [1, 2, 3, 4, 5, 6, 7, 8])
        recovered = [dict(record.headers).get("walrelay.recovered") for record in self.published()]
        self.assertEqual(recovered, [None] * 3 + [plan["plan"].encode()] * 5)
        self.start_again()
        self.outbox.insert(9)
        self.expect_published(1, 2, 3, 4, 5, 6, 7, 8, 9)
        self.assertEqual(self.sql("SELECT 1 FROM pg_replication_slots WHERE slot_name LIKE %s", "%_recovering"), [])

    def test_row_with_a_later_time_than_the_proof_is_a_candidate(self) -> None:
        self.sql("ALTER TABLE outbox ADD created_at timestamptz NOT NULL DEFAULT now()")
        relay = self.start_streaming()
        self.outbox.insert(1)
        self.outbox.insert(2, more={"created_at": "2100-01-01"})  # as if a restored server had assigned the xid again
        self.await_horizon()
        self.assertEqual(relay.stop(), 0)
        self.drop_slot()
        plan = self.plan()
        self.assertEqual((plan["rows"], plan["found"], plan["to_publish"]), (1, 1, 0))

    def test_nothing_to_do(self) -> None:
        relay = self.publish_rows(1)
        self.assertEqual(self.plan(), {})
        self.assertIn("Nothing to do", self.walrelay("recover"))
        self.plan("--all", code=USAGE)
        relay.start()
        relay.wait_ready()
        self.plan(code=BUSY)
        self.assertIn("reads slot", self.errors)

    def test_plan_that_changed_is_not_applied(self) -> None:
        self.publish_rows(1)
        self.drop_slot()
        self.outbox.insert(2, 3)
        plan = self.plan("--all")["plan"]
        self.walrelay("recover", "--all", "--dedupe", "none", "--apply", plan, code=CHANGED)
        self.sql("DELETE FROM outbox WHERE id = 2")
        self.assertIn("has changed", self.walrelay("recover", "--all", "--apply", plan, code=CHANGED))
        self.assertEqual(self.database.slot(self.slot, "slot_name"), None)
        self.assertEqual(self.ids(), [1])
        self.assertIn("--max-rows", self.walrelay("recover", "--all", "--max-rows", "1", "--apply",
                                                  self.plan("--all", "--max-rows", "1")["plan"], code=CHANGED))
        self.recover("--all")
        self.assertEqual(self.ids(), [1, 3])

    def test_deleted_rows_are_reported(self) -> None:
        self.publish_rows(1)
        self.drop_slot()
        self.outbox.insert(2)
        self.sql("DELETE FROM outbox WHERE id = 2")
        wait_until(lambda: self.plan("--all").get("deleted_rows") == 1, 60, "the statistics")
        self.assertIn("cannot be recovered", self.walrelay("recover", "--all"))

    def test_row_that_cannot_be_published_stops_the_recovery(self) -> None:
        self.publish_rows(1)
        self.drop_slot()
        self.outbox.insert(2)
        self.outbox.insert(3, type="not a topic")
        self.plan("--all", code=ROW)
        self.assertIn("WR-3005", self.errors)
        self.assertIn("id=3", self.errors)
        self.sql("DELETE FROM outbox WHERE id = 3")
        self.recover("--all")
        self.assertEqual(self.ids(), [1, 2])

    def test_relay_and_a_second_recovery_wait_for_a_recovery(self) -> None:
        self.publish_rows(1)
        self.drop_slot()
        self.outbox.insert(2)
        with self.replication_connection() as cursor:
            cursor.execute(f"CREATE_REPLICATION_SLOT {self.slot}_recovering TEMPORARY LOGICAL pgoutput")
            self.plan("--all", code=BUSY)
            self.assertIn("another walrelay recover", self.errors)
            self.relays[-1].start()
            line = self.relays[-1].wait_for_log("failed")
            self.assertEqual(line["code"], "WR-2101")
            self.assertIn("walrelay recover is replacing the slot", line["msg"])
            self.assertNotEqual(self.relays[-1].wait_exit(), 0)
        self.assertEqual(self.database.slot(self.slot, "slot_name"), None, "create_slot created one")


class WorkingSlotTest(RecoverCase):
    """The slot works, but rows from before it are missing: it is kept, and they are published."""

    def lose_rows(self, options: dict[str, Any] | None = None) -> None:
        """Rows 2 and 3 are committed while there is no slot; then one is created, and row 4 is in its stream."""
        relay = self.publish_rows(1, relay=self.new_relay(options))
        self.drop_slot()
        self.outbox.insert(2, 3)
        self.database.create_slot(self.slot)
        self.outbox.insert(4)
        self.assertFalse(relay.running())

    def test_without_a_record(self) -> None:
        self.lose_rows({"pipeline.progress": "off"})
        self.plan(code=UNPROVEN)
        self.assertRegex(self.errors, "WR-2111.* it streams none of 3 older rows")
        confirmed = self.database.confirmed(self.slot)
        plan = self.plan("--after-id", "1")
        self.assertEqual((plan["code"], plan["keeps_slot"], plan["to_publish"]), ("", True, 3))
        self.assertIn("The slot is kept", " ".join(plan["warnings"]))
        self.assertIn("was kept", self.recover("--after-id", "1"))
        self.assertEqual(self.ids(), [1, 2, 3, 4])
        self.assertEqual(self.database.confirmed(self.slot), confirmed)
        self.start_again()
        self.outbox.insert(5)
        self.expect_published(1, 2, 3, 4, 4, 5)  # row 4 is in the stream, too: the plan has warned of it

    def test_after_an_accepted_gap(self) -> None:
        self.lose_rows()
        relay = self.relays[-1]
        relay.start()
        self.accept(relay, self.expect_held(relay, "WR-2106"))
        self.expect_published(1, 4)
        self.await_horizon()  # the record shows where it begins
        self.assertEqual(relay.stop(), 0)
        text = self.walrelay("recover")
        self.assertIn("Nothing to do", text)
        self.assertRegex(text, "4 rows are from before the progress record begins, .*walrelay recover --since")
        self.recover("--after-id", "1")
        self.assertEqual(self.ids(), [1, 4, 2, 3])
        self.start_again()
        self.outbox.insert(5)
        self.expect_published(1, 4, 2, 3, 5)

    def test_rows_that_the_publication_hid(self) -> None:
        relay = self.publish_rows(1)
        self.sql("ALTER PUBLICATION walrelay DROP TABLE outbox")
        self.outbox.insert(2)
        self.sql("ALTER PUBLICATION walrelay ADD TABLE outbox")
        self.outbox.insert(3)
        relay.start()
        gap = self.expect_held(relay, "WR-2110")
        self.assertIn("an operator: walrelay recover", self.walrelay("resume", relay=relay, code=CHANGED))
        self.plan(code=UNPROVEN)
        plan = self.plan("--all")
        self.assertEqual((plan["code"], plan["keeps_slot"], plan["to_publish"]), ("WR-2110", True, 2))
        self.recover("--all")
        self.assertEqual(self.ids(), [1, 2, 3])
        self.assertEqual(relay.stop(), 0)
        self.start_again()
        self.outbox.insert(4)
        self.expect_published(1, 2, 3, 3, 4)
        self.assertNotIn(gap["id"], self.walrelay("progress", "show"))


class RestoredServerTest(RecoverCase):
    """The data directory is replaced by an earlier copy, and the server grows past all known positions (WR-2204)."""

    postgres_options = {}

    def setUp(self) -> None:
        super().setUp()
        relay = self.start_with_proof(1)
        self.assertEqual(relay.stop(), 0)
        copy = self.back_up()
        relay.start()
        relay.wait_ready()
        self.outbox.insert(2, 3)
        self.await_horizon()
        self.assertEqual(relay.stop(), 0)
        self.restore(copy)
        for id in (4, 5):  # with the xids of the rows that are lost
            self.outbox.insert(id)
        self.fill_wal(self.record().frontier)
        for _ in range(20):  # else the next xid shows that the server was restored: WR-2202
            self.sql("SELECT pg_catalog.txid_current()")
        relay.start()
        self.expect_held(relay, "WR-2204")

    def expect_recovered(self) -> None:
        self.plan(code=UNPROVEN)  # a horizon of the lost history would hide rows 4 and 5
        plan = self.plan("--all")
        self.assertEqual((plan["code"], plan["keeps_slot"], plan["to_publish"]), ("WR-2204", False, 2))
        self.recover("--all")
        self.assertEqual(self.ids(), [1, 2, 3, 4, 5])
        self.assertEqual(self.relays[-1].stop(), 0)
        self.start_again()
        self.outbox.insert(6)
        self.expect_published(1, 2, 3, 4, 5, 6)

    def test_slot_is_replaced(self) -> None:
        self.expect_recovered()

    def test_slot_that_was_dropped_hides_nothing(self) -> None:
        self.drop_slot()
        self.expect_recovered()


class FirstStartTest(RecoverCase):
    """A table that has rows before its first slot, and nothing is recorded."""

    def setUp(self) -> None:
        super().setUp()
        self.sql("ALTER TABLE outbox ADD created_at timestamptz NOT NULL DEFAULT now()")
        self.sql("INSERT INTO outbox SELECT g, %s, 'k', 'made', '{}', timestamptz '2026-01-01Z' + g * interval '1 day' "
                 "FROM generate_series(1, 5) g", self.name)
        self.new_relay()

    def test_evidence_is_missing(self) -> None:
        self.plan(code=UNPROVEN)
        self.assertIn("WR-2111", self.errors)

    def test_all(self) -> None:
        self.recover("--all")
        self.assertEqual(self.ids(), [1, 2, 3, 4, 5])
        self.start_again()
        self.outbox.insert(6)
        self.expect_published(1, 2, 3, 4, 5, 6)
        self.assertEqual(self.record().published_from_xid, 3)

    def test_since(self) -> None:
        self.recover("--since", "2026-01-04T00:00:00Z")
        self.assertEqual(self.ids(), [3, 4, 5])
        self.start_again()

    def test_after_id(self) -> None:
        self.recover("--after-id", "4", "--order-by", "created_at")
        self.assertEqual(self.ids(), [5])
        self.start_again()

    def test_without_progress(self) -> None:
        self.new_relay({"pipeline.progress": "off", "source.create_slot": False})
        self.recover("--all")
        self.start_again()
        self.outbox.insert(6)
        self.expect_published(1, 2, 3, 4, 5, 6)


@for_each_major(RecoverCase, majors=(13, 18))
class Major:
    def test_first_start(self) -> None:
        self.new_relay()
        self.outbox.insert(1, 2)
        self.recover("--all", "--failover")
        self.assertEqual(self.ids(), [1, 2])
        if self.postgres.major >= 17:
            self.assertTrue(self.database.slot(self.slot, "failover"))
        self.start_again()
        self.outbox.insert(3)
        self.expect_published(1, 2, 3)

    def test_failover_is_kept(self) -> None:
        if self.postgres.major < 17:
            self.skipTest("Postgres 17 and later have failover slots")
        self.new_relay()
        self.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', failover => true)", self.slot)
        self.walrelay("progress", "init")
        self.publish_rows(1, relay=self.relays[-1])
        self.fill_wal()
        self.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", self.slot)
        self.assertEqual(self.plan("--all")["code"], "WR-2106")
        self.recover("--all")
        self.assertTrue(self.database.slot(self.slot, "failover"))
        # As if the recovery had been killed before its last step.
        with self.replication_connection() as cursor:
            cursor.execute(f"ALTER_REPLICATION_SLOT {self.slot} (FAILOVER false)")
        self.assertIn("walrelay recover --failover --apply failover", self.walrelay("recover"))
        self.assertFalse(self.database.slot(self.slot, "failover"))
        self.assertIn("is a failover slot now", self.walrelay("recover", "--failover", "--apply", "failover"))
        self.assertTrue(self.database.slot(self.slot, "failover"))
        self.assertNotIn("failover", self.walrelay("recover"))


class ExactlyOnceTest(RecoverCase):
    def options(self) -> dict[str, Any]:
        return super().options() | {"pipeline.mode": "exactly_once"}

    def test_no_event_is_repeated(self) -> None:
        relay = self.start_streaming()
        self.outbox.insert(*range(1, 50))
        self.await_horizon()
        self.outbox.insert(*range(50, 100))
        self.settle()
        relay.kill()
        self.outbox.insert(*range(100, 150))
        wait_until(lambda: not self.database.slot(self.slot, "active"), 60, "a free slot")
        self.drop_slot()
        wait_until(self.is_planned, 90, "the end of the transaction of the relay that was killed")
        self.recover()
        self.assertEqual(self.ids(), list(range(1, 150)))
        self.start_again()
        self.outbox.insert(150)
        self.expect_published(*range(1, 151))

    def is_planned(self) -> bool:
        run = subprocess.run(self.arguments("--json"), text=True, capture_output=True, timeout=patient(120), cwd="/",
                             env=relay_environment())
        self.assertTrue(run.returncode == OK or "WR-4025" in run.stderr, run.stderr)
        return run.returncode == OK


class CostTest(RecoverCase):
    """What a recovery of many rows takes; with WALRELAY_RECOVER_ROWS=1000000 as many as it compares."""

    MEMORY_MB = 50

    def test_memory_and_time(self) -> None:
        self.new_relay()
        self.insert(1, ROWS)
        self.assertEqual(self.measure("--dedupe", "none"), {"published": ROWS, "found": 0})
        self.drop_slot()
        self.insert(ROWS + 1, 2 * ROWS)
        self.assertEqual(self.measure(), {"published": ROWS, "found": ROWS})

    def insert(self, first: int, last: int) -> None:
        self.sql("INSERT INTO outbox SELECT g, %s, 'k' || g %% 1000, 'made', jsonb_build_object('order', g, 'note', "
                 "repeat('x', 200)) FROM generate_series(%s, %s) g", self.name, first, last)

    def measure(self, *arguments: str) -> dict[str, int]:
        """Plans and recovers with all rows, and prints what that takes; returns the numbers of rows."""
        plan = json.loads(self.watch("planned", "--json", "--all", *arguments))["plan"]
        text = self.watch("recovered", "--all", *arguments, "--apply", plan)
        published, found = re.search(r"(\d+) rows published, (\d+) were", text).groups()
        return {"published": int(published), "found": int(found)}

    def watch(self, what: str, *arguments: str) -> str:
        """Runs the command and checks its peak resident memory; returns its output."""
        begun = time.monotonic()
        peak = cpu = 0.0
        with tempfile.TemporaryFile("w+") as output:
            child = subprocess.Popen(self.arguments(*arguments), stdout=output, stderr=sys.stderr, cwd="/",
                                     env=relay_environment())
            while child.poll() is None:
                status = Path(f"/proc/{child.pid}/status").read_text()
                if found := re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE):  # none: it is a zombie
                    peak = int(found[1]) / 1024
                    ticks = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
                    cpu = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
                time.sleep(0.01)  # between samples
            self.assertEqual(child.returncode, OK)
            output.seek(0)
            text = output.read()
        print(f"{what} in {time.monotonic() - begun:.2f} s, {cpu:.2f} s of CPU time, {peak:.1f} MiB: "
              f"{' '.join(arguments)}", file=sys.stderr)
        self.assertLess(peak, self.MEMORY_MB)
        return text


class KillTest(RecoverCase):
    def test_killed_at_any_moment(self) -> None:
        """A recovery that was killed leaves no slot, and the next one publishes the rest."""
        relay = self.start_with_proof(1)
        self.assertEqual(relay.stop(), 0)
        chance = random.Random(7)
        took = 2.0
        last = 1
        for number in range(KILLS):
            if self.database.slot(self.slot, "slot_name"):
                self.drop_slot()
            rows = 3000
            self.sql("INSERT INTO outbox SELECT g, %s, 'k', 'made', '{}' FROM generate_series(%s, %s) g",
                     self.name, last + 1, last + rows)
            last += rows
            child = subprocess.Popen(self.arguments("--apply", self.plan()["plan"]), stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, cwd="/", env=relay_environment())
            # Half of the kills follow the creation of the slot, when rows are being published.
            if number % 2 == 0:
                wait_until(lambda child=child: self.recovering() or child.poll() is not None, 60, "a new slot")
                time.sleep(chance.uniform(0, 0.3))  # the random moment
            else:
                time.sleep(chance.uniform(0, took))
            child.kill()
            child.wait()
            wait_until(lambda: not self.recovering(), 60, "the temporary slot to be dropped")
        if plan := self.plan():
            self.walrelay("recover", "--apply", plan["plan"])
        self.assertEqual(self.first_ids(), sorted(self.first_ids()), "each key has its order")
        self.assertEqual(self.first_ids(), list(range(1, last + 1)))
        self.start_again()
        self.outbox.insert(last + 1)
        self.settle()
        self.assertEqual(self.ids()[-1], last + 1)

    def recovering(self) -> bool:
        return self.database.slot(f"{self.slot}_recovering"[:63], "active") is True


if __name__ == "__main__":
    main()
