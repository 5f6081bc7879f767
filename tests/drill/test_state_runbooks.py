#!/usr/bin/python3
"""Drills: the runbooks of states: not-ready, no-leader, progress, events-skipped."""

import re
from datetime import datetime, timedelta, timezone
from typing import Any

from walrelay_dev.ports import free_ports
from walrelay_test.runbook import RunbookCase, blocks_of, check_all_typed
from walrelay_test.testcase import main

PROBLEM = 3  # exit code of doctor, and of `progress show` without a record
HELD = 3


def tearDownModule() -> None:  # noqa: N802
    check_all_typed()


class StateTest(RunbookCase):
    def options(self) -> dict[str, Any]:
        return super().options() | {"http.listen": f"127.0.0.1:{self.port}"}  # where `walrelay status` asks

    def setUp(self) -> None:
        (self.port,) = free_ports(1)
        super().setUp()

    def test_table_that_is_not_published(self) -> None:
        self.sql("ALTER TABLE outbox ADD created_at timestamptz DEFAULT now()")
        relay = self.start_with_proof(1)
        before = datetime.now(timezone.utc) - timedelta(minutes=1)
        self.sql("CREATE TABLE other (); ALTER PUBLICATION walrelay ADD TABLE other; "
                 "ALTER PUBLICATION walrelay DROP TABLE outbox")
        self.outbox.insert(2)
        self.expect_held(relay, "WR-2110")
        look, add = self.blocks("not-ready")
        shown = self.type(look, code=PROBLEM)
        self.assertIn("[-] publication and tables", shown)
        self.assertIn('ALTER PUBLICATION "walrelay" ADD TABLE "public"."outbox"', shown)
        self.type(add)
        show, recover, _ = [block for block in blocks_of("gap") if block.heading == "What to type"]
        self.type(show, code=HELD)
        self.type(recover, flags=f"--since {before:%Y-%m-%dT%H:%M:%SZ}")
        relay.wait_ready()
        self.outbox.insert(3)
        self.expect_published(1, 2, 3)

    def test_instance_that_a_host_without_power_left_behind(self) -> None:
        holder = self.start_with_proof(1, options={"http.listen": "127.0.0.1:0"})
        holder.pause()  # its connection remains
        relay = self.start_relay()
        relay.wait_for_state("standby")
        look, who, slot = self.blocks("no-leader")
        self.assertIn("Standing by", self.type(look))
        self.type(who)
        (pid,) = self.sql("SELECT active_pid FROM pg_replication_slots WHERE slot_name = %s", self.slot)[0]
        self.sql("SELECT pg_terminate_backend(%s)", pid)
        relay.wait_for_state("streaming")
        self.type(slot)
        self.outbox.insert(2)
        self.expect_published(1, 2)
        holder.kill()

    def test_record_that_is_missing(self) -> None:
        self.database.create_slot(self.slot)
        relay = self.start_relay({"pipeline.progress": "required"})
        relay.wait_for_state("blocked")
        self.outbox.insert(1)
        look, slot, init = self.blocks("progress")
        self.assertIn("WR-4018", self.type(look, codes=[0, PROBLEM, PROBLEM]))
        self.type(slot)
        self.type(init)
        relay.wait_ready()
        self.expect_published(1)

    def test_rows_that_were_given_up(self) -> None:
        letters = f"{self.name}-dead-letters"
        relay = self.start_streaming({"on_error.null_key": "dead_letter", "on_error.dead_letter_topic": letters})
        self.outbox.insert(4711, key=None)
        self.outbox.insert(2)
        self.expect_published(2)
        explain, publish = self.blocks("events-skipped")
        self.assertIn("WR-3004", self.type(explain, only="explain"))
        # The configuration is fixed: a row without a key is an event.
        relay.config.write_text(relay.config.read_text() + '\n[route]\n"compatibility" = "debezium"\n')
        self.systemctl("restart")
        relay.wait_ready()
        self.assertIn("4711", self.type(publish, only="list"))
        self.type(publish, only="retry")
        self.expect_published(2, 4711)
        self.assertRegex(self.type(publish, only="republish"), re.compile("1 (row|record)"))
        self.settle()
        self.assertEqual(self.ids(), [2, 4711, 4711])


if __name__ == "__main__":
    main()
