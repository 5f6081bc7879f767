#!/usr/bin/python3
"""The slot is checked before anything is read: an unsuitable slot is refused with a specific error."""

from typing import Any

from walrelay_test.testcase import IntegrationTest, main


class SlotAtStartTest(IntegrationTest):
    def publish(self, *tables: str) -> None:
        """Creates no slot: each test creates its own."""
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")

    def test_missing_slot_is_refused(self) -> None:
        self.outbox.insert(1)
        self.expect_exit(78, "WR-2101")
        self.assertEqual(self.sql("SELECT * FROM pg_replication_slots WHERE slot_name = %s", self.slot),
                         [])

    def test_missing_slot_is_created_when_configured(self) -> None:
        relay = self.start_relay({"source.create_slot": True})
        relay.wait_ready()
        self.outbox.insert(1)
        self.expect_published(1)

    def test_slot_of_another_plugin_is_refused(self) -> None:
        self.database.create_slot(self.slot, "test_decoding")
        self.assertIn("test_decoding", self.expect_exit(78, "WR-2104"))

    def test_slot_of_another_database_is_refused(self) -> None:
        self.postgres.psql(f"SELECT pg_create_logical_replication_slot('{self.slot}', 'pgoutput')")
        self.addCleanup(self.postgres.psql, f"SELECT pg_drop_replication_slot('{self.slot}')")
        self.assertIn("database postgres", self.expect_exit(78, "WR-2104"))

    def test_physical_slot_is_refused(self) -> None:
        self.sql("SELECT pg_create_physical_replication_slot(%s)", self.slot)
        self.addCleanup(self.postgres.psql, f"SELECT pg_drop_replication_slot('{self.slot}')")
        self.expect_exit(78, "WR-2104")


class SlotWhileRunningTest(IntegrationTest):
    """With source.on_gap = "exit" and without a progress record: test_gaps and test_progress test the other choices."""

    def options(self) -> dict[str, Any]:
        return super().options() | {"source.on_gap": "exit", "pipeline.progress": "off"}

    def setUp(self) -> None:
        super().setUp()
        self.relay = self.start_relay()
        self.outbox.insert(1)
        self.settle()

    def drop_slot(self) -> None:
        self.relay.pause()  # or the relay would acquire the slot before it can be dropped
        self.sql("SELECT pg_terminate_backend(%s)", self.database.walsender(self.slot))
        self.relay.wait_until(lambda: not self.database.slot(self.slot, "active"), 60, "a free slot")
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)

    def expect_gap(self, code: str) -> None:
        self.relay.resume()
        self.assertEqual(self.relay.wait_exit(), 4)
        self.assertEqual(self.relay.wait_for_log("failed")["code"], code)
        self.assertEqual(self.ids(), [1])

    def test_dropped_slot_is_a_gap(self) -> None:
        self.drop_slot()
        self.outbox.insert(2)
        self.expect_gap("WR-2107")

    def test_recreated_slot_is_a_gap(self) -> None:
        self.drop_slot()
        self.outbox.insert(2)
        self.database.create_slot(self.slot)
        self.expect_gap("WR-2106")

    def test_dropped_slot_is_not_recreated_even_with_create_slot(self) -> None:
        self.relay.stop()
        self.relay = self.start_relay({"source.create_slot": True})
        self.relay.wait_ready()
        self.drop_slot()
        self.outbox.insert(2)
        self.expect_gap("WR-2107")
        self.assertIsNone(self.database.slot(self.slot, "slot_name"))

    def test_slot_advanced_by_another_process_is_a_gap(self) -> None:
        self.relay.pause()
        self.sql("SELECT pg_terminate_backend(%s)", self.database.walsender(self.slot))
        self.relay.wait_until(lambda: not self.database.slot(self.slot, "active"), 60, "a free slot")
        self.outbox.insert(2)
        self.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", self.slot)
        self.expect_gap("WR-2106")

    def test_restart_after_the_gap_continues_from_the_slot(self) -> None:
        self.drop_slot()
        self.database.create_slot(self.slot)
        self.outbox.insert(2)
        self.relay.resume()
        self.assertEqual(self.relay.wait_exit(), 4)
        self.relay.start()
        self.expect_published(1, 2)


class LostSlotTest(IntegrationTest):
    postgres_options = {"settings": {"max_slot_wal_keep_size": "32MB", "min_wal_size": "32MB",
                                     "max_wal_size": "64MB"}}

    def test_slot_whose_wal_was_removed_is_a_gap(self) -> None:
        self.outbox.insert(1)
        for _ in range(4):
            self.sql("SELECT pg_logical_emit_message(false, '', repeat('x', 1000000)) "
                     "FROM generate_series(1, 20)")
            self.sql("SELECT pg_switch_wal()")
            self.sql("CHECKPOINT")
        self.assertEqual(self.database.slot(self.slot, "wal_status"), "lost")
        self.expect_exit(4, "WR-2103", {"source.on_gap": "exit"})
        held = self.start_relay()
        held.wait_for_log("gap", code="WR-2103")
        held.wait_for_state("blocked")


if __name__ == "__main__":
    main()
