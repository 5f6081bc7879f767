#!/usr/bin/python3
"""Postgres 17 sends no event before the standbys of synchronized_standby_slots have it: the relay says what it waits for."""

import json
import subprocess

from walrelay_test.physical_reader import physical_reader
from walrelay_test.testcase import IntegrationTest, RelayProcess, main, relay_program


class AwaitedStandbyTest(IntegrationTest):
    postgres_options = {"major": 17}

    def setUp(self) -> None:
        super().setUp()
        self.standby = f"{self.name}_standby"
        self.addCleanup(self.wait_for, "")

    def publish(self, *tables: str) -> None:
        """Only a failover slot waits for standbys."""
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
        self.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', failover => true)", self.slot)

    def wait_for(self, slots: str) -> None:
        """Sets the setting, and waits until a server process has read it."""
        self.postgres.psql(f"ALTER SYSTEM SET synchronized_standby_slots = '{slots}'")
        self.postgres.psql("SELECT pg_reload_conf()")

    def create_standby_slot(self) -> None:
        self.sql("SELECT pg_create_physical_replication_slot(%s, true)", self.standby)
        self.addCleanup(self.postgres.psql, f"SELECT pg_drop_replication_slot('{self.standby}')")

    def test_standby_that_goes_away_is_not_a_gap(self) -> None:
        self.create_standby_slot()
        self.wait_for(self.standby)
        relay = self.start_relay()
        with physical_reader(self.postgres, self.standby):
            self.outbox.insert(1)
            self.settle()
        self.outbox.insert(2)
        notice = relay.wait_for_log("postgres_notice", severity="WARNING")
        self.assertIn(self.standby, notice["detail"])
        self.assertIn("synchronized_standby_slots", notice["hint"])
        with physical_reader(self.postgres, self.standby):
            self.expect_published(1, 2)
        self.assertEqual(relay.logs("gap"), [])


    def expect_wait_is_reported(self, relay: RelayProcess, *words: str) -> None:
        """Every surface says that events wait, for which slot, and because of which setting."""
        relay.wait_until(lambda: relay.get("/readyz")[0] == 503, 30, "a relay that is not ready")
        ready, status = relay.get("/readyz")[1], relay.get("/status.txt")[1]
        for text in (ready, status):
            self.assertIn("WR-2112", text)
        for word in ("synchronized_standby_slots", self.standby, *words):
            self.assertIn(word, status)
        self.assertTrue(status.startswith("Events wait in Postgres"), status)
        self.assertIn("WR-2112", relay.get("/status.json")[1])
        self.assertGreater(relay.metric("walrelay_oldest_unpublished_age_seconds"), 5)
        self.assertGreater(relay.metric("walrelay_replication_silent_seconds", cause="standby"), 5)
        finding, = self.problems("slot.awaited_standbys")
        self.assertIn(self.standby, finding)

    def problems(self, check: str) -> list[str]:
        """The texts of the problems that `walrelay doctor` finds with this check."""
        run = subprocess.run([relay_program(), "doctor", "--json", "--config", self.relays[0].config],
                             stdout=subprocess.PIPE, timeout=60, cwd="/", text=True)
        return [each["text"] for each in json.loads(run.stdout)["findings"] if each["check"] == check]

    def test_missing_slot_is_named_by_every_surface_within_thirty_seconds(self) -> None:
        """As after a failover to a server that still has the setting of the old primary."""
        self.wait_for(self.standby)
        relay = self.start_relay()
        relay.wait_ready()
        self.outbox.insert(1)
        self.expect_wait_is_reported(relay, "does not exist")
        self.assertEqual(self.ids(), [])
        waits = self.sql("SELECT pid, wait_event_type, wait_event, pg_blocking_pids(pid) FROM pg_stat_activity "
                         "WHERE backend_type = 'walsender'")
        self.assertIn("WaitForStandbyConfirmation", [event for _, _, event, _ in waits])
        self.wait_for("")
        self.expect_published(1)
        relay.wait_for_state("streaming")
        self.assertEqual(relay.metric("walrelay_oldest_unpublished_age_seconds"), 0)
        self.assertIsNone(relay.metric("walrelay_replication_silent_seconds"))

    def test_slot_whose_standby_stops_reading_is_named(self) -> None:
        self.create_standby_slot()
        self.wait_for(self.standby)
        relay = self.start_relay()
        with physical_reader(self.postgres, self.standby):
            self.outbox.insert(1)
            self.settle()
        self.outbox.insert(2)
        self.expect_wait_is_reported(relay, "has no reader")


class QuietStreamTest(IntegrationTest):
    """A stream without events is not a stream that waits."""

    def test_idle_outbox_beside_a_busy_table_is_up_to_date(self) -> None:
        relay = self.start_relay()
        self.sql("CREATE TABLE busy (id int, filler text)")
        relay.wait_ready()
        with self.database.transaction() as cursor:
            cursor.execute("INSERT INTO busy SELECT n, repeat('x', 500) FROM generate_series(1, 20000) n")
            self.wait_for_samples(relay, 3)
            self.assertEqual(relay.get("/readyz")[0], 200)
        self.settle()
        relay.wait_until(lambda: relay.metric("walrelay_replication_silent_seconds") is None, 60, "an up-to-date stream")
        relay.wait_for_state("streaming")
        self.assertEqual(relay.logs("degraded"), [])

    def wait_for_samples(self, relay: RelayProcess, count: int) -> None:
        for _ in range(count):
            before = relay.metric("walrelay_slot_last_sample_timestamp_seconds")
            relay.wait_until(lambda: relay.metric("walrelay_slot_last_sample_timestamp_seconds") != before, 60, "a sample")


if __name__ == "__main__":
    main()
