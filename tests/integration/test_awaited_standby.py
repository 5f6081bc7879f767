#!/usr/bin/python3
"""Postgres 17 sends no event before the standbys of synchronized_standby_slots have it: the relay says what it waits for."""

from walrelay_test.physical_reader import physical_reader
from walrelay_test.testcase import IntegrationTest, main


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


if __name__ == "__main__":
    main()
