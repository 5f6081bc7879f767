#!/usr/bin/python3
"""A promoted server lacks the end of the old primary's WAL: the relay continues from its slot or stops.

The promoted server is an earlier copy of the first one that replays the first one's WAL up to a position and
starts a timeline there.
"""

import subprocess
from typing import Any

from walrelay_test.pgoutput import parse_lsn
from walrelay_test.promoted_copy import promote_copy
from walrelay_test.tcp_proxy import TcpProxy
from walrelay_test.testcase import IntegrationTest, RelayProcess, main


class PromotionCase(IntegrationTest):
    postgres_options = {"tcp": True}

    def setUp(self) -> None:
        self.link = self.enterContext(TcpProxy(self.postgres.port))
        super().setUp()
        self.copy = self.postgres.data.with_name(f"copy-of-{self.name}")
        self.postgres.stop()
        subprocess.run(["cp", "-a", self.postgres.data, self.copy], check=True)
        self.postgres.start()

    def options(self) -> dict[str, Any]:
        return super().options() | {
            "source.on_gap": "exit", "pipeline.progress": "off",
            "source.dsn": f"host=127.0.0.1 port={self.link.port} user=postgres dbname={self.name}"}

    def relay_of_six_events(self) -> tuple[RelayProcess, str]:
        """Publishes six events and confirms far beyond the third; returns the relay and the end of the third."""
        relay = self.start_relay()
        self.outbox.insert(1, 2, 3)
        self.settle()
        third = self.database.value("SELECT pg_current_wal_flush_lsn()")
        self.outbox.insert(4, 5, 6)
        self.sql("SELECT pg_logical_emit_message(true, 'filler', repeat('x', 1000000))")
        self.settle()
        return relay, third

    def promote(self, until: str) -> None:
        """Replaces the first server with the promoted copy; the relay cannot reach it yet."""
        self.link.refuse()
        self.link.cut()
        self.postgres.stop()
        promote_copy(self.postgres, self.database, self.copy, until)
        self.assertEqual(self.sql("SELECT id::int FROM outbox ORDER BY 1"), [(1,), (2,), (3,)])


class PromotionTest(PromotionCase):
    """The process alone remembers what is published."""

    def test_slot_from_before_the_promotion_is_followed(self) -> None:
        relay, third = self.relay_of_six_events()
        self.promote(third)
        self.link.accept()
        self.outbox.insert(7)
        switched = relay.wait_for_log("timeline_switched")
        self.assertGreaterEqual(parse_lsn(switched["fork"]), parse_lsn(third) - 1000)
        self.settle()
        # Asynchronous replication lost rows 4 to 6; their records stay in Kafka.
        self.assertEqual(list(dict.fromkeys(self.ids())), [1, 2, 3, 4, 5, 6, 7])
        self.assertTrue(relay.running())

    def test_recreated_slot_is_a_gap_even_below_the_confirmed_position(self) -> None:
        relay, third = self.relay_of_six_events()
        confirmed = self.database.confirmed(self.slot)
        self.promote(third)
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        self.outbox.insert(7)
        self.database.create_slot(self.slot)
        self.outbox.insert(8)
        self.assertLess(self.database.confirmed(self.slot), confirmed)
        self.link.accept()
        self.assertEqual(relay.wait_exit(), 4)
        failed = relay.wait_for_log("failed")
        self.assertEqual(failed["code"], "WR-2106", failed)
        self.assertRegex(failed["msg"], r"timeline \d forked at .* it was created or advanced there")
        # The operator restarts the relay; it continues after the gap.
        relay.start()
        self.expect_published(1, 2, 3, 4, 5, 6, 8)

    def test_startup_needs_no_timeline_history_files(self) -> None:
        relay, third = self.relay_of_six_events()
        relay.stop()
        self.promote(third)
        for history in (self.postgres.data / "pg_wal").glob("*.history"):
            history.unlink()  # as with archives that keep only segments
        self.link.accept()
        self.outbox.insert(7)
        relay.start()
        self.settle()
        self.assertEqual(list(dict.fromkeys(self.ids())), [1, 2, 3, 4, 5, 6, 7])


class RecordedPromotionTest(PromotionCase):
    """With a progress record, a promotion while no relay runs is the same as one while it runs."""

    def options(self) -> dict[str, Any]:
        return super().options() | {"pipeline.progress": "auto"}

    def test_slot_from_before_the_promotion_is_followed_after_a_restart(self) -> None:
        relay, third = self.relay_of_six_events()
        relay.stop()
        self.promote(third)
        self.link.accept()
        self.outbox.insert(7)
        relay.start()
        relay.wait_for_log("timeline_switched")
        self.settle()
        self.assertEqual(list(dict.fromkeys(self.ids())), [1, 2, 3, 4, 5, 6, 7])
        self.assertEqual(relay.stop(), 0)
        self.outbox.insert(8)
        relay.start()
        self.settle()
        self.assertEqual(self.ids()[-2:], [7, 8])
        self.assertEqual(relay.logs("timeline_switched"), [])

    def test_recreated_slot_is_a_gap_at_each_start(self) -> None:
        relay, third = self.relay_of_six_events()
        relay.stop()
        self.promote(third)
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        self.database.create_slot(self.slot)
        self.link.accept()
        for _ in range(2):
            relay.start()
            self.assertEqual(relay.wait_exit(), 4)
            self.assertEqual(relay.wait_for_log("failed")["code"], "WR-2106")

    def test_missing_timeline_history_files_are_a_gap(self) -> None:
        relay, third = self.relay_of_six_events()
        relay.stop()
        self.promote(third)
        for history in (self.postgres.data / "pg_wal").glob("*.history"):
            history.unlink()
        self.link.accept()
        relay.start()
        self.assertEqual(relay.wait_exit(), 4)
        self.assertEqual(relay.wait_for_log("failed")["code"], "WR-2203")


if __name__ == "__main__":
    main()
