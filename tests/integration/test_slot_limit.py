#!/usr/bin/python3
"""source.max_retained_wal and source.on_retained_limit: the operator's limit for retained WAL, and its effect."""

from typing import Any

from walrelay_test.pgoutput import parse_lsn
from walrelay_test.protobuf_types import parse
from walrelay_test.tcp_proxy import TcpProxy
from walrelay_test.testcase import NO_BROKER, RECONNECT_SOON, IntegrationTest, RelayProcess, main, wait_until

MEGABYTE = 1 << 20
LIMIT = 24 * MEGABYTE
SETTINGS = {"min_wal_size": "32MB", "max_wal_size": "64MB", "checkpoint_timeout": "1h"}


class SlotLimitCase(IntegrationTest):
    """A server that retains WAL without limit, and a relay that cannot reach Kafka."""

    postgres_options = {"settings": SETTINGS}
    policy = "alert"

    def options(self) -> dict[str, Any]:
        return super().options() | {"source.max_retained_wal": "24MiB", "source.on_retained_limit": self.policy,
                                    "source.wal_sender_timeout": "2s", "source.on_gap": "exit"}

    def setUp(self) -> None:
        super().setUp()
        self.sql("CREATE TABLE other (filler text)")
        self.sql("ALTER TABLE other ALTER filler SET STORAGE EXTERNAL")

    def write(self, megabytes: int) -> None:
        """Writes WAL of a table that is not published."""
        self.sql("INSERT INTO other SELECT repeat('x', 1000000) FROM generate_series(1, %s)", megabytes)

    @staticmethod
    def status(relay: RelayProcess) -> Any:
        return parse("walrelay.admin.v1.Status", relay.get("/status.json")[1])

    def cut_off(self, **more: Any) -> RelayProcess:
        return self.start_relay(NO_BROKER | more)


class AlertTest(SlotLimitCase):
    def test_limit_is_reported_and_nothing_is_dropped(self) -> None:
        relay = self.cut_off()
        self.outbox.insert(1, 2)
        self.write(30)
        line = relay.wait_for_log("slot_risk", risk="critical", code="WR-2108")
        self.assertIn("nothing is dropped", line["msg"])
        relay.wait_until(lambda: relay.get("/readyz")[0] == 503 and "WR-2108" in relay.get("/readyz")[1], 60,
                         "/readyz to report the slot")
        # The first critical sample may be of a moment before the limit.
        relay.wait_until(lambda: self.status(relay).slot.retained_bytes >= LIMIT, 60, "the limit to be reached")
        status = self.status(relay)
        self.assertEqual((status.slot.budget_bytes, status.slot.budget_drops_slot), (LIMIT, False))
        self.assertFalse(status.slot.HasField("safe_bytes"), "the server has no limit")
        self.assertEqual(relay.metric("walrelay_slot_risk", risk="critical"), 1)
        self.assertEqual(relay.metric("walrelay_slot_retained_wal_budget_bytes"), LIMIT)
        self.assertIn("<h1>Slot retains too much</h1>", relay.get("/status")[1])
        self.assertEqual(relay.stop(), 0)
        self.start_relay().wait_ready()
        self.outbox.insert(3)
        self.expect_published(1, 2, 3)


class ServersLimitTest(SlotLimitCase):
    """Past max_slot_wal_keep_size the next checkpoint terminates the slot's walsender and waits for its exit."""

    postgres_options = {"settings": SETTINGS | {"max_slot_wal_keep_size": "32MB"}}

    def test_checkpoint_is_not_blocked_by_a_relay_that_does_not_read(self) -> None:
        link = self.enterContext(TcpProxy(self.kafka.config.ports[0]))
        link.refuse()
        relay = self.start_relay({"kafka.bootstrap_servers": f"127.0.0.1:{link.port}", "source.max_retained_wal": "0",
                                  "metrics.slot_poll_interval": "3s", "pipeline.progress": "off"} | RECONNECT_SOON)
        relay.wait_for_log("streaming")
        self.sql("INSERT INTO outbox SELECT g, %s, 'k', 'made', to_jsonb(repeat('x', 1000)) "
                 "FROM generate_series(1, 20000) g", self.name)
        relay.wait_until(self._nothing_is_read, 60, "the server to wait for the relay to read")
        self.write(80)
        self.sql("SET statement_timeout = '60s'")
        self.sql("CHECKPOINT")
        # The relay has closed the stream; it reconnects when Kafka accepts records.
        link.accept()
        line = relay.wait_for_log("failed")
        self.assertEqual((relay.wait_exit(), line["code"]), (4, "WR-2103"), line)

    def _nothing_is_read(self) -> bool:
        return self.sql("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'WalSenderWriteData'") != []


class DropSlotTest(SlotLimitCase):
    policy = "drop_slot"

    def slot_is_gone(self) -> bool:
        return self.database.slot(self.slot, "slot_name") is None

    def expect_drop(self, relay: RelayProcess) -> str:
        line = relay.wait_for_log("failed")
        self.assertEqual((relay.wait_exit(), line["code"]), (4, "WR-2109"), line)
        self.assertTrue(self.slot_is_gone())
        return line["msg"]

    def log_is_there(self, position: str) -> bool:
        return self.database.value("SELECT count(*) FROM pg_ls_waldir() WHERE name = pg_walfile_name(%s)", position)

    def test_slot_is_dropped_and_its_wal_freed(self) -> None:
        relay = self.start_relay({"kafka.bootstrap_servers": self.kafka.bootstrap})
        relay.wait_ready()
        self.outbox.insert(1)
        self.settle()
        relay.stop()
        relay = self.cut_off()
        relay.wait_for_log("streaming")
        self.outbox.insert(2)
        confirmed = self.database.slot(self.slot, "confirmed_flush_lsn")
        restart = self.database.slot(self.slot, "restart_lsn")
        self.assertFalse(relay.logs("dropping_slot"))
        self.write(120)
        message = self.expect_drop(relay)
        self.assertIn(f"slot {self.slot} retained", message)
        self.assertIn("source.max_retained_wal is 24.0 MiB", message)
        self.assertIn("committed at", message)
        reported = parse_lsn(message.partition("everything up to ")[2].partition(" ")[0])
        self.assertGreaterEqual(reported, parse_lsn(confirmed))
        self.sql("CHECKPOINT")
        self.sql("SELECT pg_switch_wal()")
        self.sql("CHECKPOINT")
        self.assertFalse(self.log_is_there(restart))
        self.assertEqual(self.ids(), [1])

    def test_recovery_publishes_the_missing_rows(self) -> None:
        relay = self.cut_off()
        self.outbox.insert(1, 2)
        self.write(30)
        self.expect_drop(relay)
        relay.start()
        self.assertEqual((relay.wait_for_log("failed")["code"], relay.wait_exit()), ("WR-2101", 78))
        self.database.create_slot(self.slot)
        self.start_relay().wait_ready()
        self.sql("BEGIN; CREATE TEMP TABLE missing ON COMMIT DROP AS SELECT * FROM outbox; "
                 "DELETE FROM outbox; INSERT INTO outbox SELECT * FROM missing ORDER BY id; COMMIT")
        self.expect_published(1, 2)

    def test_slot_above_the_limit_at_startup_is_dropped(self) -> None:
        self.outbox.insert(1)
        self.write(30)
        self.expect_drop(self.start_relay())

    def test_standby_does_not_drop_a_slot_in_use(self) -> None:
        # The reader has no limit that it could reach, so only the standby could drop the slot.
        reader = self.cut_off(**{"source.on_retained_limit": "alert", "source.max_retained_wal": "1GiB"})
        reader.wait_for_log("streaming")
        standby = self.start_relay()
        standby.wait_for_state("standby")
        self.outbox.insert(1)
        self.write(30)
        standby.wait_for_log("slot_risk", risk="critical")
        taken = standby.metric("walrelay_slot_last_sample_timestamp_seconds")
        standby.wait_until(
            lambda: standby.metric("walrelay_slot_last_sample_timestamp_seconds") > taken + 2, 60,
            "ten more slot samples")
        self.assertFalse(standby.logs("dropping_slot"))
        self.assertEqual(standby.metric("walrelay_state", state="standby"), 1)
        self.assertTrue(self.database.slot(self.slot, "active"))
        reader.kill()
        self.expect_drop(standby)

    def test_only_one_of_reader_and_standby_drops_the_slot(self) -> None:
        reader = self.cut_off()
        reader.wait_for_log("streaming")
        standby = self.cut_off()
        standby.wait_for_state("standby")
        self.outbox.insert(1)
        self.write(30)
        relays = (reader, standby)
        wait_until(lambda: any(relay.logs("failed", code="WR-2109") for relay in relays), 60, "the drop")
        self.assertTrue(self.slot_is_gone())
        dropped = [relay for relay in relays if relay.logs("failed", code="WR-2109")]
        self.assertEqual(len(dropped), 1, "exactly one relay drops the slot and reports it")
        self.assertEqual(dropped[0].wait_exit(), 4)
        # The other relay did not drop the slot and does not exit: it reports the missing slot.
        other = next(relay for relay in relays if relay not in dropped)
        wait_until(lambda: other.logs("failed") or "WR-2101" in other.get("/readyz")[1], 60, "the other's report")

    def test_relay_waits_for_postgres_before_dropping_the_slot(self) -> None:
        relay = self.cut_off()
        relay.wait_for_log("streaming")
        self.outbox.insert(1)
        relay.pause()
        self.write(30)
        self.postgres.stop()
        relay.resume()
        relay.wait_for_log("disconnected")
        self.postgres.start()
        self.expect_drop(relay)


class DropSlotLeastPrivilegeTest(SlotLimitCase):
    """LOGIN and REPLICATION are sufficient to drop the slot."""

    policy = "drop_slot"

    def options(self) -> dict[str, Any]:
        return super().options() | {"source.dsn": f"{self.database.dsn} user=dropper"}

    def setUp(self) -> None:
        self.addCleanup(self.postgres.psql, "DROP ROLE IF EXISTS dropper")
        super().setUp()
        self.postgres.psql("CREATE ROLE dropper LOGIN REPLICATION")

    def test_slot_is_dropped(self) -> None:
        relay = self.cut_off()
        self.outbox.insert(1)
        self.write(30)
        self.assertEqual((relay.wait_for_log("failed")["code"], relay.wait_exit()), ("WR-2109", 4))
        self.assertIsNone(self.database.slot(self.slot, "slot_name"))


class OldestMajorTest(DropSlotLeastPrivilegeTest):
    postgres_options = {"major": 13, "settings": SETTINGS}


class NewestMajorTest(DropSlotLeastPrivilegeTest):
    postgres_options = {"major": 18, "settings": SETTINGS}


if __name__ == "__main__":
    main()
