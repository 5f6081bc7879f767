#!/usr/bin/python3
"""Drill: docs/guides/failover.md, a primary with a standby that is promoted."""

import psycopg2
from walrelay_test.hosts_case import HostsCase
from walrelay_test.runbook import RunbookCase, blocks_of, check_all_typed
from walrelay_test.testcase import main

PAGE = "guides/failover"


def tearDownModule() -> None:  # noqa: N802
    check_all_typed()


class FailoverCase(HostsCase, RunbookCase):
    def publish(self, *tables: str) -> None:
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")

    def start_standby_by_the_page(self, settings: str) -> None:
        """A standby with these settings of the page, whose primary is that of the test."""
        host, port = self.primary
        values = {}
        for line in settings.splitlines():
            if line.startswith("ALTER SYSTEM SET"):
                name, _, value = line.removeprefix("ALTER SYSTEM SET ").rstrip(";").partition(" = ")
                values[name] = value.strip("'")
        values["primary_conninfo"] = values["primary_conninfo"].replace("db1.internal", host).replace(
            "user=replicator", f"port={port} user=postgres").replace("dbname=shop", f"dbname={self.name}")
        self.use(self.primary, self.start_standby(values))

    def promote(self) -> None:
        self.postgres.stop()
        self.standby.psql("SELECT pg_promote()")

    def insert_after_the_failover(self, id: int) -> None:
        connection = psycopg2.connect(self.standby.dsn(self.name))
        with connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload) "
                           "VALUES (%s, %s, 'k', 'made', '{}')", [id, self.name])
        connection.close()


class CopiedSlotTest(FailoverCase):
    postgres_options = {"major": 17}

    def test_slot_survives(self) -> None:
        setup, physical, settings, check = self.blocks(PAGE, "Prepare (Postgres 17 and later)")
        # The standby is a copy of the primary's files, and would have the slot as its own if that existed before.
        self.type(physical)
        self.start_standby_by_the_page(settings.text)
        self.new_relay()
        self.type(setup)
        self.type(settings, only="nothing")  # typed above, in the configuration of the standby
        relay = self.start_relay({"metrics.slot_poll_interval": "500ms", "source.create_slot": False})
        self.outbox.insert(1)
        self.expect_published(1)
        host = self.hosts[1]
        relay.wait_until(lambda: relay.metric("walrelay_slot_copy_ready", host=host) == 1, 90, "a synchronized copy")
        self.assertIn("has a synchronized copy of slot", self.type(check))
        self.promote()
        self.insert_after_the_failover(2)
        relay.wait_until(lambda: self.ids() == [1, 2], 60, "the event of the promoted standby")
        self.assertEqual(relay.logs("gap"), [])
        (drop,) = self.blocks(PAGE, "After a failover with a copy of the slot")
        relay.kill()
        self.postgres.start()  # the former primary
        self.type(drop)


class LostSlotTest(FailoverCase):
    """Version 15, and a standby that has everything."""

    def test_rows_are_recovered(self) -> None:
        settings = next(block for block in blocks_of(PAGE) if "primary_slot_name" in block.text).text
        self.sql("SELECT pg_create_physical_replication_slot('standby1', true)")
        self.start_standby_by_the_page("\n".join(line for line in settings.splitlines() if "sync_replication" not in line))
        relay = self.start_with_proof(1)
        relay.kill()
        self.outbox.insert(2)
        end = self.database.value("SELECT pg_current_wal_flush_lsn()")
        relay.wait_until(lambda: self.standby.psql(f"SELECT pg_last_wal_replay_lsn() >= '{end}'") == "t" or not relay.running(),
                         60, "the standby to have the row")
        self.promote()
        relay.start()
        self.insert_after_the_failover(3)
        relay.wait_for_log("gap")
        (recover,) = self.blocks(PAGE, "After a failover without a copy of the slot")
        self.type(recover)
        relay.wait_ready()
        self.insert_after_the_failover(4)
        self.wait_for_records(4)
        self.assertEqual(self.ids(), [1, 2, 3, 4])


if __name__ == "__main__":
    main()
