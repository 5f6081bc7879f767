#!/usr/bin/python3
"""Every other major of Postgres: the basic workload, a restart, and differences between majors."""

import json
import subprocess

from walrelay_dev.patience import patient
from walrelay_dev.postgres_binaries import MAJORS
from walrelay_test.testcase import RelayProcess, for_each_major, main, relay_program, wait_until
from walrelay_test.verified import VerifiedTest


@for_each_major(VerifiedTest, [major for major in MAJORS if major != 15])
class MajorTest:
    """The same tests for each major; all other tests run with 15."""

    timestamp_type = "CreateTime"

    def test_workload_is_relayed_across_restarts_of_relay_and_server(self) -> None:
        relay = self.start_relay()
        with self.load(seed=90, rate=300) as workload:
            def write_more() -> None:
                goal = workload.committed + 150
                relay.wait_until(lambda: workload.committed >= goal, 60, "more transactions")
            write_more()
            self.assertEqual(relay.stop(), 0)
            relay.start().wait_ready()
            write_more()
            self.postgres.restart("fast")
            relay.wait_for_log("streaming", count=2)
            write_more()
        repeated = {event.end_lsn for event in self.expect_no_problem().repeated}
        self.assertLessEqual(len(repeated), 1, "repeated transactions after 1 disconnection")

    def test_row_written_before_a_column_rename_is_decoded_correctly(self) -> None:
        with self.load(seed=91, rate=300) as workload:
            wait_until(lambda: workload.committed >= 20, 60, "transactions")
        self.sql("ALTER TABLE outbox RENAME aggregate_id TO entity")
        self.sql("ALTER TABLE outbox DROP event_type")
        self.start_relay()
        self.expect_no_problem()

    def test_publication_younger_than_the_slot_is_always_detected(self) -> None:
        self.sql("DROP PUBLICATION walrelay")
        self.database.create_slot(f"{self.slot}_old")
        self.sql("INSERT INTO outbox VALUES ('1', %s, 'k', 'made')", self.name)
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
        self.sql("INSERT INTO outbox VALUES ('2', %s, 'k', 'made')", self.name)
        before = self.database.confirmed(f"{self.slot}_old")
        relay = self.start_relay({"source.slot": f"{self.slot}_old", "source.on_gap": "exit"})
        self.expect_gap_is_seen(relay)
        self.assertEqual(self.database.confirmed(f"{self.slot}_old"), before)

    def test_login_trigger_that_reads_the_catalogs_hides_no_row(self) -> None:
        """Its lookups are in the caches of the server process before the stream begins."""
        if self.postgres.major < 17:
            self.skipTest("login event triggers exist since Postgres 17")
        self.sql("""CREATE FUNCTION public.warm() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
                      PERFORM * FROM pg_publication_tables; PERFORM * FROM public.outbox LIMIT 1; END $$;
                    CREATE EVENT TRIGGER warm ON login EXECUTE FUNCTION public.warm();
                    ALTER EVENT TRIGGER warm ENABLE ALWAYS""")
        self.addCleanup(self.sql, "DROP EVENT TRIGGER warm")
        self.test_publication_younger_than_the_slot_is_always_detected()

    def test_slot_sample_has_the_columns_of_this_major(self) -> None:
        major = self.postgres.major
        status = subprocess.run(
            [relay_program(), "status", "--json", "--dsn", self.database.dsn, "--slot", self.slot,
             "--set", "http.listen="], stdout=subprocess.PIPE, check=True, timeout=patient(60), cwd="/")
        slot = json.loads(status.stdout)["slot"]
        self.assertEqual("inactive_since" in slot, major >= 17, slot)
        self.assertEqual("decoded_bytes" in slot, major >= 14, slot)
        relay = self.start_relay()
        relay.wait_until(lambda: relay.metric("walrelay_slot_restart_lsn") is not None, 60, "a slot sample")
        self.assertEqual(relay.metric("walrelay_slot_sample_errors_total"), 0)

    def expect_gap_is_seen(self, relay: RelayProcess) -> None:
        if self.postgres.major >= 18:  # skips the rows and only sends a WARNING
            self.assertEqual(relay.wait_exit(), 4)
            self.assertEqual(relay.wait_for_log("failed")["code"], "WR-2307")
            return
        relay.wait_for_log("disconnected", code="WR-2306", count=2)
        relay.wait_for_state("degraded", "blocked")  # from the third time on, an operator is needed


if __name__ == "__main__":
    main()
