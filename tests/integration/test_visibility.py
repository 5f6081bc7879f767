#!/usr/bin/python3
"""A commit that is flushed but not yet visible to other sessions: published immediately by default, held
with source.wait_visible.

The tests control the length of this window: synchronous_standby_names names a standby that does not exist,
so that a commit is flushed, decoded and sent, and then waits without limit.
"""

import json
import os
import signal
import subprocess
import threading
from typing import Any

import psycopg2
from walrelay_dev.patience import patient
from walrelay_test.servers import new_postgres
from walrelay_test.tcp_proxy import TcpProxy
from walrelay_test.testcase import IntegrationTest, RelayProcess, for_each_major, main, relay_program, wait_until
from walrelay_test.verified import VerifiedTest

_SERVER = {"synchronous_standby_names": "absent_standby", "synchronous_commit": "local",
           "max_prepared_transactions": 5}
_SIDE = "FROM pg_stat_activity WHERE query LIKE 'SELECT pg_catalog.pg_current_snapshot()%%'"


class HiddenCommit:
    """A transaction that has flushed its commit and waits for its standby until `release`."""

    def __init__(self, test: IntegrationTest, *statements: str) -> None:
        self._test = test
        self._connection = test.database.connect()
        self.pid = self._connection.info.backend_pid
        self.error: str | None = None
        with self._connection.cursor() as cursor:
            cursor.execute("SET synchronous_commit = on")
        self._thread = threading.Thread(target=self._run, args=statements, daemon=True)
        self._thread.start()
        wait_until(self.waits, 60, "the commit to wait for its standby")

    def _run(self, *statements: str) -> None:
        try:
            with self._connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
        except psycopg2.Error as error:
            self.error = str(error)

    def waits(self) -> bool:
        return self._test.sql("SELECT wait_event FROM pg_stat_activity WHERE pid = %s",
                              self.pid) == [("SyncRep",)]

    def release(self) -> None:
        """Cancels the wait: the commit is kept and becomes visible."""
        self._test.sql("SELECT pg_cancel_backend(%s)", self.pid)
        self.join()

    def join(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive(), "the commit has returned"


class WaitingRelay:
    """Helpers for a relay that waits until commits are visible."""

    def rows(self) -> list[int]:
        """The ids of the rows that another session sees."""
        return [id for id, in self.sql("SELECT id FROM outbox ORDER BY id")]

    def hidden(self, id: int) -> HiddenCommit:
        commit = HiddenCommit(self, "INSERT INTO outbox VALUES "
                                    f"({id}, '{self.name}', 'k', 'made', '{{}}')")
        self.addCleanup(self.sql, "SELECT pg_terminate_backend(%s)", commit.pid)
        return commit

    def start_waiting_relay(self, options: dict[str, Any] | None = None) -> RelayProcess:
        relay = self.start_relay({"source.wait_visible": True} | (options or {}))
        relay.wait_ready()
        return relay

    def asked(self, relay: RelayProcess) -> float:
        results = ("visible", "running", "early")
        return sum(relay.metric("walrelay_visibility_queries_total", result=result) or 0
                   for result in results)

    def wait_until_held(self, relay: RelayProcess) -> None:
        """Waits until the relay has repeatedly queried the transaction at the head."""
        def running() -> float:
            return relay.metric("walrelay_visibility_queries_total", result="running") or 0
        before = running()
        relay.wait_until(lambda: running() >= before + 10, 60, "answers to visibility queries")

    def snapshot_connection_pid(self, relay: RelayProcess) -> int:
        def pid() -> int | None:
            rows = self.sql(f"SELECT pid {_SIDE} AND datname = current_database()")
            return rows[0][0] if rows else None
        return relay.wait_until(pid, 60, "the connection that queries snapshots")


@for_each_major(IntegrationTest, (13, 15, 18), _SERVER)
class VisibilityTest(WaitingRelay):
    # --- the race ---

    def test_by_default_an_event_is_published_before_its_row_is_visible(self) -> None:
        self.start_relay().wait_ready()
        commit = self.hidden(1)
        self.wait_for_records(1)
        self.assertEqual((self.ids(), self.rows(), commit.waits()), ([1], [], True))

    def test_wait_visible_holds_the_event_and_all_after_it(self) -> None:
        relay = self.start_waiting_relay()
        commit = self.hidden(1)
        self.outbox.insert(2)
        relay.wait_for_state("degraded")
        self.assertIn("WR-2014", relay.get("/readyz")[1])
        logged = relay.wait_until(lambda: relay.logs("degraded"), 10, "the log line of the state")
        self.assertIn("not become visible", logged[-1]["msg"])
        self.assertEqual((self.ids(), self.rows(), commit.waits()), ([], [2], True))
        commit.release()
        self.expect_published(1, 2)
        relay.wait_for_state("streaming")
        self.assertGreater(relay.metric("walrelay_visibility_wait_seconds_total"), 0)

    def test_commit_prepared_is_held_too(self) -> None:
        with self.database.transaction(end="PREPARE TRANSACTION 'first'") as cursor:
            self.outbox.insert(1, cursor=cursor)
        relay = self.start_waiting_relay()
        commit = HiddenCommit(self, "COMMIT PREPARED 'first'")
        self.wait_until_held(relay)
        self.assertEqual((self.ids(), self.rows()), ([], []))
        commit.release()
        self.expect_published(1)

    def test_subtransactions_and_asynchronous_commits_are_published(self) -> None:
        self.start_waiting_relay()
        with self.database.transaction() as cursor:
            cursor.execute("SAVEPOINT a")
            self.outbox.insert(1, cursor=cursor)
            cursor.execute("RELEASE a")
        with self.database.transaction() as cursor:
            cursor.execute("SET LOCAL synchronous_commit = off")
            self.outbox.insert(2, cursor=cursor)
        self.wait_for_records(2)  # the end of the WAL that settle() reads may precede an asynchronous commit
        self.expect_published(1, 2)

    def test_backlog_needs_few_queries(self) -> None:
        for id in range(1, 201):
            self.outbox.insert(id)
        relay = self.start_waiting_relay()
        self.expect_published(*range(1, 201))
        self.assertLess(self.asked(relay), 20)

    # --- the connection that queries snapshots ---

    def test_killed_connection_is_reestablished(self) -> None:
        relay = self.start_waiting_relay()
        commit = self.hidden(1)
        self.wait_until_held(relay)
        self.sql("SELECT pg_terminate_backend(%s)", self.snapshot_connection_pid(relay))
        relay.wait_for_log("visibility_unknown", code="WR-2014")
        relay.wait_for_log("visibility_known")
        self.wait_until_held(relay)
        self.assertEqual(self.ids(), [])
        commit.release()
        self.expect_published(1)
        self.assertEqual(relay.logs("disconnected"), [])

    def test_refused_connection_holds_events(self) -> None:
        role = f"{self.name}_role"
        self.sql(f"CREATE ROLE {role} LOGIN REPLICATION")
        self.addCleanup(self.sql, f"DROP ROLE {role}")
        relay = self.start_waiting_relay(
            {"source.dsn": self.postgres.dsn(self.name, user=role)})
        self.addCleanup(relay.kill)
        self.outbox.insert(1)
        self.expect_published(1)
        side = self.snapshot_connection_pid(relay)
        self.sql(f"ALTER ROLE {role} CONNECTION LIMIT 1")
        self.sql("SELECT pg_terminate_backend(%s)", side)
        self.outbox.insert(2)
        relay.wait_for_state("degraded")
        self.assertIn("WR-2014", relay.get("/readyz")[1])
        self.assertEqual(self.ids(), [1])
        self.sql(f"ALTER ROLE {role} CONNECTION LIMIT -1")
        self.expect_published(1, 2)
        self.assertEqual(relay.logs("disconnected"), [])

    def test_hung_connection_is_replaced(self) -> None:
        relay = self.start_waiting_relay({"source.connect_timeout": "2s"})
        self.outbox.insert(1)
        self.expect_published(1)
        side = self.snapshot_connection_pid(relay)
        os.kill(side, signal.SIGSTOP)
        self.addCleanup(os.kill, side, signal.SIGCONT)
        self.outbox.insert(2)
        relay.wait_for_log("visibility_unknown", code="WR-2014")
        self.expect_published(1, 2)
        self.assertEqual(relay.logs("disconnected"), [])

    # --- stops and restarts ---

    def test_waiting_relay_stops_on_sigterm(self) -> None:
        relay = self.start_waiting_relay({"pipeline.drain_timeout": "1h"})
        commit = self.hidden(1)
        self.wait_until_held(relay)
        self.assertEqual(relay.stop(), 0)
        self.assertEqual((self.ids(), commit.waits()), ([], True))
        relay.start().wait_ready()
        self.wait_until_held(relay)
        commit.release()
        self.expect_published(1)

    def test_relay_killed_while_waiting_loses_nothing(self) -> None:
        relay = self.start_waiting_relay()
        commit = self.hidden(1)
        self.wait_until_held(relay)
        relay.kill()
        relay.wait_exit()
        commit.release()
        relay.start()
        self.expect_published(1)

    def test_server_restart_makes_held_commits_visible(self) -> None:
        relay = self.start_waiting_relay()
        commit = self.hidden(1)
        self.outbox.insert(2)
        self.wait_until_held(relay)
        self.postgres.restart("fast")  # it cancels the wait: the commit becomes visible
        commit.join()
        self.expect_published(1, 2)


class DoctorTest(IntegrationTest):
    """The findings of `walrelay doctor` for a server with synchronous standbys."""

    postgres_options = {"major": 15, "settings": _SERVER | {"max_connections": 12}}

    def findings(self, *settings: str) -> dict[str, dict[str, Any]]:
        """The findings by check; each check has one."""
        sets = [part for each in settings for part in ("--set", each)]
        done = subprocess.run(
            [relay_program(), "doctor", "--json", "--dsn", self.database.dsn, "--slot", self.slot,
             "--set", f"kafka.bootstrap_servers={self.kafka.bootstrap}", "--set", "http.listen=", *sets],
            stdout=subprocess.PIPE, timeout=patient(120), cwd="/")
        return {each["check"]: each for each in json.loads(done.stdout)["findings"]
                if each["check"] in ("postgres.visibility", "postgres.synchronous_standby_names",
                                     "postgres.connection_limit")}

    def standbys(self, names: str) -> None:
        self.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
        self.sql("SELECT pg_reload_conf()")
        wait_until(lambda: self.database.value("SHOW synchronous_standby_names") == names, 60, "the setting")

    def test_synchronous_standbys_without_wait_visible_are_a_warning(self) -> None:
        found = self.findings()
        self.assertEqual(list(found), ["postgres.visibility"])
        self.assertEqual(found["postgres.visibility"]["severity"], "warning")
        self.assertIn("a failover can remove", found["postgres.visibility"]["text"])
        self.assertIn("source.wait_visible = true", found["postgres.visibility"]["remedy"])

    def test_wait_visible_passes_the_check(self) -> None:
        found = self.findings("source.wait_visible=true")
        self.assertEqual({name: each["severity"] for name, each in found.items()},
                         {"postgres.visibility": "ok"})

    def test_relay_that_would_wait_for_itself_is_a_problem(self) -> None:
        self.addCleanup(self.standbys, "absent_standby")
        self.standbys("ANY 1 (other, Walrelay)")
        found = self.findings("source.wait_visible=true")["postgres.synchronous_standby_names"]
        self.assertEqual(found["severity"], "problem")
        self.assertIn("waits for the commit", found["text"])
        found = self.findings()["postgres.synchronous_standby_names"]
        self.assertEqual(found["severity"], "warning")

    def test_no_free_connection_is_a_warning(self) -> None:
        taken = []
        self.addCleanup(lambda: [each.close() for each in taken])
        free = 12 - 3 - self.database.value(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
        taken += [self.database.connect() for _ in range(free)]
        found = self.findings("source.wait_visible=true")["postgres.visibility"]
        self.assertEqual(found["severity"], "warning")
        self.assertIn("all 9 connections are in use", found["text"])


class LoadTest(VerifiedTest):
    """Order and completeness with commits that become visible late and a connection that is killed."""

    postgres_options = {"major": 15, "settings": _SERVER}

    def test_nothing_is_lost_or_reordered_while_the_connection_is_killed(self) -> None:
        relay = self.start_relay({"source.wait_visible": True})
        relay.wait_ready()
        with self.load(seed=17, rate=300) as workload:
            for _ in range(5):
                goal = workload.committed + 150
                relay.wait_until(lambda: workload.committed >= goal, 60, "more transactions")
                self.sql(f"SELECT pg_terminate_backend(pid) {_SIDE}".replace("%%", "%"))
        verdict = self.expect_no_problem()
        self.assertEqual(verdict.repeated, [])
        relay.wait_for_log("visibility_unknown")  # the connection was killed while it was needed


class AnotherServerTest(WaitingRelay, IntegrationTest):
    """The address now leads to another server, as after a failover, while the stream is still connected.

    The other server's xids are ahead: used for this stream, they would make the hidden commit visible.
    """

    postgres_options = {"major": 15, "tcp": True, "settings": _SERVER}

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.other = cls.enterClassContext(new_postgres(tcp=True, template=False))

    def test_snapshots_of_another_server_are_rejected(self) -> None:
        link = self.enterContext(TcpProxy(self.postgres.port))
        relay = self.start_waiting_relay({
            "source.dsn": f"host=127.0.0.1 port={link.port} user=postgres dbname={self.name}"})
        self.outbox.insert(1)
        self.expect_published(1)
        self.other.psql(f"CREATE DATABASE {self.name}")
        self.other.psql("CREATE PROCEDURE burn() LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..5000 LOOP "
                        "PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
        self.other.psql("CALL burn()")
        commit = self.hidden(2)
        self.wait_until_held(relay)
        link.redirect_to(self.other.port)
        self.sql("SELECT pg_terminate_backend(%s)", self.snapshot_connection_pid(relay))
        line = relay.wait_for_log("disconnected")
        self.assertIn("is not active", line["msg"])
        self.assertEqual((self.ids(), commit.waits()), ([1], True))


if __name__ == "__main__":
    main()
