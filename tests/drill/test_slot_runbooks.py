#!/usr/bin/python3
"""Drills: slots that are filling up or lost, and gaps. Each types the blocks of the runbook until nothing is missing."""

import datetime
import json

from walrelay_test.recover_case import UNPROVEN
from walrelay_test.runbook import RunbookCase, check_all_typed
from walrelay_test.testcase import RECONNECT_SOON, main

HELD = 3  # exit code of `walrelay resume`


def tearDownModule() -> None:  # noqa: N802
    check_all_typed()


class DiskTest(RunbookCase):
    """Kafka is away while the disk of the Postgres server fills up: the slot is given up."""

    postgres_options = {}
    kafka_options = {}

    def fill_up(self, options: dict[str, str] | None = None) -> str:
        """Rows 1 and 2 are published; 3 to 5 are not, because Kafka is away. Returns a time between them."""
        self.start_streaming({**RECONNECT_SOON, **(options or {})})
        self.outbox.insert(1, 2)
        self.expect_published(1, 2)
        if not options:
            self.await_horizon()
        between = self.database.value("SELECT now()")
        self.kafka.stop()
        self.outbox.insert(3, 4, 5)
        self.fill_wal()
        return between.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def give_up(self) -> list:
        stop, drop, recover = self.blocks("slot-filling", "If the disk is about to be full")
        self.type(stop)
        self.type(drop)
        self.assertIsNone(self.database.slot(self.slot, "slot_name"))
        self.outbox.insert(6)  # applications go on
        self.kafka.start()
        return recover

    def test_no_event_is_missing_with_a_record(self) -> None:
        self.fill_up()
        self.type(self.give_up())
        self.relays[-1].wait_ready()
        self.outbox.insert(7)
        self.expect_published(1, 2, 3, 4, 5, 6, 7)

    def test_no_event_is_missing_without_a_record(self) -> None:
        self.sql("ALTER TABLE outbox ADD created_at timestamptz NOT NULL DEFAULT clock_timestamp()")
        between = self.fill_up({"pipeline.progress": "off"})
        recover = self.give_up()
        self.assertIn("WR-2111", self.type(recover, code=UNPROVEN, only="recover$"))
        limit, plan, choose, _ = self.blocks("slot-lost")
        self.type(limit)
        self.type(plan, code=UNPROVEN)
        self.type(choose, time=between, only="--since")
        self.walrelay("recover", "--since", between, "--apply", self.plan_id)
        self.type(recover, only="systemctl")
        self.relays[-1].wait_ready()
        self.outbox.insert(7)
        self.expect_published(1, 2, 3, 4, 5, 6, 7)


class LostSlotTest(RunbookCase):
    postgres_options = {}

    def test_invalidated_slot(self) -> None:
        self.start_with_proof(1, 2)
        relay = self.relays[-1]
        self.assertEqual(relay.stop(), 0)
        self.outbox.insert(3)
        self.sql("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
        self.sql("SELECT pg_reload_conf()")
        self.fill_until_lost()
        relay.start()
        self.expect_held(relay, "WR-2103")
        self.outbox.insert(4)
        limit, plan, _, apply = self.blocks("slot-lost")
        self.type(limit)
        self.type(plan)
        self.type(apply)
        relay.wait_ready()
        self.outbox.insert(5)
        self.expect_published(1, 2, 3, 4, 5)

    def fill_until_lost(self) -> None:
        for _ in range(40):
            self.fill_wal()
            self.sql("SELECT pg_switch_wal()")
            self.sql("CHECKPOINT")
            if self.database.slot(self.slot, "wal_status") == "lost":
                return
        self.fail("the slot is not lost")


class GapTest(RunbookCase):
    def test_gap_of_the_slot(self) -> None:
        self.start_with_proof(1)
        relay = self.relays[-1]
        self.assertEqual(relay.stop(), 0)
        self.outbox.insert(2)
        self.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", self.slot)
        relay.start()
        self.expect_held(relay, "WR-2106")
        show, recover, _ = self.blocks("gap")
        shown = self.type(show, code=HELD)
        self.assertIn("walrelay recover", shown)
        self.type(recover)
        relay.wait_ready()
        self.outbox.insert(3)
        self.expect_published(1, 2, 3)

    def test_gap_that_is_accepted(self) -> None:
        self.start_with_proof(1)
        relay = self.relays[-1]
        self.assertEqual(relay.stop(), 0)
        self.fill_wal()
        self.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", self.slot)
        relay.start()
        self.expect_held(relay, "WR-2106")
        show, _, accept = self.blocks("gap")
        self.type(show, code=HELD)
        self.type(accept)
        relay.wait_ready()
        self.outbox.insert(2)
        self.expect_published(1, 2)
        self.assertIsNone(json.loads(relay.get("/status.json")[1]).get("gap"))


if __name__ == "__main__":
    main()
