#!/usr/bin/python3
"""Several hosts in source.dsn: the relay connects to the primary among them."""

import json
import socket
from typing import Any

import psycopg2
from walrelay_test.hosts_case import HostsCase
from walrelay_test.servers import test_folder
from walrelay_test.testcase import main


class HostsTest(HostsCase):
    def silent_host(self) -> tuple[str, int]:
        """A host that accepts connections and sends nothing."""
        folder = test_folder() / f"{self.name}-silent"
        folder.mkdir()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(folder / ".s.PGSQL.5432"))
        listener.listen(100)
        self.addCleanup(listener.close)
        return str(folder), 5432

    def missing_host(self) -> tuple[str, int]:
        return "/no/such/folder", 5432

    def expect_relayed(self) -> None:
        relay = self.start_relay()
        self.outbox.insert(1)
        self.expect_published(1)
        self.assertEqual(relay.logs("disconnected"), [])
        relay.wait_until(lambda: relay.metric("walrelay_slot_restart_lsn"), 60, "a slot sample")

    def test_standby_is_skipped(self) -> None:
        self.use(self.start_standby(), self.primary)
        self.expect_relayed()

    def test_missing_host_is_skipped(self) -> None:
        self.use(self.missing_host(), self.primary)
        self.expect_relayed()

    def test_unresponsive_host_is_skipped(self) -> None:
        self.use(self.silent_host(), self.missing_host(), self.primary)
        self.expect_relayed()

    def test_relay_waits_for_an_unavailable_primary(self) -> None:
        self.use(self.primary, self.start_standby())
        relay = self.start_relay()
        self.outbox.insert(1)
        self.expect_published(1)
        self.postgres.stop()
        relay.wait_for_log("disconnected", code="WR-2010")  # the standby is the only host that answers
        self.postgres.start()
        self.outbox.insert(2)
        self.expect_published(1, 2)

    def test_hosts_without_a_primary_are_reported(self) -> None:
        self.use(self.start_standby(), self.missing_host())
        relay = self.start_relay()
        relay.wait_for_log("disconnected", code="WR-2010", count=2)

    def test_termination_does_not_wait_for_an_unresponsive_host(self) -> None:
        self.use(self.silent_host())
        relay = self.new_relay({"source.connect_timeout": "60s"}).start()
        relay.wait_for_log("listening")
        self.assertEqual(relay.stop(20), 0)


class FailoverCopyTest(HostsCase):
    """The standbys of the DSN are asked, while the primary runs, whether the slot would survive a failover."""

    postgres_options = {"major": 17}

    def publish(self, *tables: str) -> None:
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
        self.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', failover => true)", self.slot)
        self.sql("SELECT pg_create_physical_replication_slot(%s, true)", f"{self.name}_standby")
        self.addCleanup(self.drop_standby_slot)

    def drop_standby_slot(self) -> None:
        if not self.postgres.running():
            self.postgres.start()
        self.postgres.psql(f"SELECT pg_drop_replication_slot('{self.name}_standby')")

    def options(self) -> dict[str, Any]:
        return super().options() | {"metrics.slot_poll_interval": "500ms"}

    def start_standby(self) -> tuple[str, int]:
        host, port = self.primary
        return super().start_standby({
            "primary_conninfo": f"host={host} port={port} user=postgres dbname={self.name}",
            "primary_slot_name": f"{self.name}_standby", "hot_standby_feedback": "on"})

    def test_unsynchronized_slot_is_named_before_the_failover_and_a_synchronized_one_survives_it(self) -> None:
        self.use(self.start_standby(), self.primary)
        host = self.hosts[0]
        relay = self.start_relay()
        relay.wait_until(lambda: relay.metric("walrelay_slot_copy_ready", host=host) == 0, 60, "the first reading")
        relay.wait_until(lambda: "sync_replication_slots is off" in relay.get("/status.txt")[1], 60,
                         "the reading on the status page")
        status = relay.get("/status.txt")[1]
        self.assertIn("the standby's own", status)  # the files of the standby are those of the primary
        self.assertIn("would be missing", status)
        self.assertEqual(relay.wait_for_log("slot_copy")["host"], host)
        self.standby.psql(f"SELECT pg_drop_replication_slot('{self.slot}')")
        self.standby.psql("ALTER SYSTEM SET sync_replication_slots = on")
        self.standby.psql("SELECT pg_reload_conf()")
        self.outbox.insert(1)
        self.settle()
        relay.wait_until(lambda: relay.metric("walrelay_slot_copy_ready", host=host) == 1, 90, "a synchronized copy")
        self.assertIn("has a copy of the slot", relay.get("/status.txt")[1])
        self.assertTrue(json.loads(relay.get("/status.json")[1])["standbys"][0]["survives_failover"])
        self.postgres.stop()
        self.standby.psql("SELECT pg_promote()")
        connection = psycopg2.connect(self.standby.dsn(self.name))
        self.addCleanup(connection.close)
        connection.autocommit = True
        connection.cursor().execute("INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload) "
                                    "VALUES (2, %s, 'k', 'made', '{}')", [self.name])
        relay.wait_until(lambda: self.ids() == [1, 2], 60, "the event of the promoted standby")
        self.assertEqual(relay.logs("gap"), [])
        relay.wait_until(lambda: relay.metric("walrelay_slot_copy_ready", host=host) is None, 60, "no copy")


if __name__ == "__main__":
    main()
