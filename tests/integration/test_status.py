#!/usr/bin/python3
"""The status of the relay in each of its forms, and `walrelay status` without a running relay."""

import contextlib
import http.client
import http.server
import json
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

from walrelay_dev.patience import patient
from walrelay_test.pgoutput import parse_lsn
from walrelay_test.protobuf_types import parse
from walrelay_test.relay_config import relay_environment
from walrelay_test.testcase import NO_BROKER, IntegrationTest, RelayProcess, main, relay_program

MEGABYTE = 1 << 20


@contextlib.contextmanager
def another_listener(body: str) -> Iterator[int]:
    """The port of an HTTP server that answers every request with this text."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield server.server_address[1]
        server.shutdown()


class StatusCase(IntegrationTest):
    def call(self, *arguments: str, relay: RelayProcess | None = None) -> tuple[int, str]:
        """Exit code and output of `walrelay status` for `relay`, or for a port without a listener."""
        port = relay.wait_for_log("listening")["port"] if relay else 1
        run = subprocess.run(
            [relay_program(), "status", *arguments, "--dsn", self.database.dsn, "--slot", self.slot,
             "--set", f"http.listen=127.0.0.1:{port}"], cwd="/", text=True, timeout=patient(60),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=relay_environment())
        return run.returncode, run.stdout

    def json_of(self, relay: RelayProcess) -> Any:
        code, text = relay.get("/status.json")
        self.assertEqual(code, 200)
        return parse("walrelay.admin.v1.Status", text)


class StatusTest(StatusCase):
    def test_all_forms_agree_on_a_running_relay(self) -> None:
        relay = self.start_relay({"source.name": "orders-db"})
        relay.wait_ready()
        self.outbox.insert(1, 2, 3)
        self.settle()
        relay.wait_until(lambda: self.json_of(relay).slot.active_pid and
                         self.json_of(relay).relay.events_acknowledged == 3, 60, "three events")
        status = self.json_of(relay)
        self.assertEqual(status.relay.records_in_flight, 0)
        self.assertEqual(status.slot.active_pid, self.database.slot(self.slot, "active_pid"))
        self.assertTrue(status.ready)
        self.assertEqual((status.source, status.slot_name), ("orders-db", self.slot))
        same = ("--set", "source.name=orders-db")
        code, text = self.call("--json", *same, relay=relay)
        self.assertEqual((code, parse("walrelay.admin.v1.Status", text).relay.events_acknowledged), (0, 3))
        code, text = self.call(*same, relay=relay)
        self.assertEqual(code, 0)
        self.assertTrue(text.startswith("Events flow. "), text)
        self.assertIn("<h1>Events flow</h1>", relay.get("/status")[1])
        for shown in (text, relay.get("/readyz?verbose")[1]):
            self.assertRegex(shown, f"source +orders-db, slot {self.slot}\n")
        self.assertIn(f"<span>orders-db</span><span>slot {self.slot}</span>", relay.get("/status")[1])

    def test_text_of_another_listener_cannot_control_the_terminal(self) -> None:
        with another_listener("\x1b[2JEvents flow.\n\x1b]0;x\x07second\n") as port:
            for arguments in ([], ["--json"], ["--probe", "ready"]):
                run = subprocess.run(
                    [relay_program(), "status", *arguments, "--dsn", self.database.dsn, "--slot", self.slot,
                     "--set", f"http.listen=127.0.0.1:{port}"], cwd="/", text=True, timeout=60,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=relay_environment())
                self.assertNotRegex(run.stdout, "[\x1b\x07]")
                self.assertIn("\\x1b[2JEvents flow.\n", run.stdout)
                self.assertTrue(run.stdout.startswith("walrelay: warning: the relay at 127.0.0.1:"), run.stdout)

    def test_relay_of_another_source_is_noticed(self) -> None:
        relay = self.start_relay({"source.name": "orders-db"})
        text = self.call(relay=relay)[1]
        self.assertIn("is not that of this configuration (source ", text)
        self.assertIn(f", slot {self.slot})", text)

    def test_recorded_progress_is_shown(self) -> None:
        relay = self.start_relay({"pipeline.progress": "auto", "pipeline.id": self.name})
        relay.wait_ready()
        self.outbox.insert(1)
        self.settle()
        confirmed = self.database.confirmed(self.slot)
        relay.wait_until(lambda: parse_lsn(self.json_of(relay).progress.recorded_lsn or "0/0") >= confirmed, 60,
                         "the record to be shown")
        progress = self.json_of(relay).progress
        self.assertTrue(progress.enabled)
        self.assertEqual(progress.topic, f"walrelay.progress.{self.name}")
        self.assertRegex(relay.get("/status.txt")[1],
                         rf"\n  progress     recorded up to [0-9A-F/]+ .* ago, in topic {progress.topic}\n")
        self.assertIn("<p class=\"stages\">Progress: recorded up to ", relay.get("/status")[1])

    def test_every_log_line_names_source_and_slot(self) -> None:
        relay = self.start_relay({"kafka.bootstrap_servers": "127.0.0.1:1", "source.name": "orders-db"})
        relay.wait_for_log("kafka_log")  # written by a thread of librdkafka
        relay.stop()
        for line in relay.logs():
            self.assertEqual((line.get("source"), line.get("slot")), ("orders-db", self.slot), line)

    def test_slot_is_reported_while_kafka_is_unreachable(self) -> None:
        relay = self.start_relay(NO_BROKER)
        self.outbox.insert(1)
        self.sql("SELECT pg_logical_emit_message(false, '', repeat('x', 1000000))")
        relay.wait_until(lambda: self.json_of(relay).slot.lag_bytes > 1_000_000, 60, "a lag")
        relay.wait_for_state("degraded")
        status = self.json_of(relay)
        self.assertEqual(status.problems[0].code, "WR-4001")
        self.assertIn("bootstrap_servers", status.problems[0].remedy)
        self.assertTrue(status.relay.HasField("oldest_unacknowledged"))
        self.assertEqual(relay.get("/startupz")[0], 200)
        self.assertEqual(relay.get("/q/health/live")[0], 200)
        self.assertEqual(relay.get("/q/health/ready")[0], 503)

    def test_without_a_relay_postgres_is_queried(self) -> None:
        code, text = self.call("--json")
        self.assertEqual(code, 0, text)
        status = parse("walrelay.admin.v1.Status", text)
        self.assertFalse(status.HasField("relay") or status.ready)
        self.assertTrue(status.slot.exists)
        self.assertFalse(status.slot.active)
        self.assertIn("no client reads the slot", self.call()[1])

    def test_missing_slot_is_reported(self) -> None:
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        self.assertIn("WR-2101", self.call()[1])

    def test_probes_set_the_exit_code(self) -> None:
        self.assertEqual(self.call("--probe", "live")[0], 69)
        relay = self.start_relay()
        relay.wait_ready()
        for probe in ("live", "ready"):
            self.assertEqual(self.call("--probe", probe, relay=relay)[0], 0)
        stuck = self.start_relay({"source.dsn": "host=127.0.0.1 port=1 user=u dbname=d"})
        stuck.wait_for_state("degraded", "starting")
        self.assertEqual(self.call("--probe", "live", relay=stuck)[0], 0)
        self.assertEqual(self.call("--probe", "ready", relay=stuck)[0], 3)

    def test_watch_refreshes_repeatedly(self) -> None:
        with subprocess.Popen(
                [relay_program(), "status", "--json", "--watch", "--dsn", self.database.dsn, "--slot",
                 self.slot, "--set", "http.listen=127.0.0.1:1"], cwd="/", stdout=subprocess.PIPE,
                text=True) as watch:
            lines = [json.loads(watch.stdout.readline()) for _ in range(2)]
            watch.kill()
        self.assertLess(lines[0]["now"], lines[1]["now"])

    def test_unchecked_items_are_not_reported_as_ok(self) -> None:
        relay = self.start_relay({"source.dsn": "host=127.0.0.1 port=1 user=u dbname=d"})
        relay.wait_for_state("degraded")
        relay.wait_until(lambda: self.json_of(relay).HasField("check_failure"), 60, "a failed check")
        verbose = relay.get("/readyz?verbose")[1]
        self.assertIn("[?] publication and tables: not checked yet (WR-2001", verbose)
        self.assertIn("[?] slot: not checked yet (WR-2001", verbose)
        status = self.json_of(relay)
        self.assertFalse(status.HasField("publication_checked") or status.HasField("slot_checked"))
        self.assertTrue(status.relay.HasField("cut_off_since"))
        self.assertIn("has not seen the slot", status.summary)
        text = relay.get("/status.txt")[1]
        self.assertIn("oldest event unknown: nothing read for", text)
        self.assertIn("Publication and tables: not checked since the start", text)
        relay.wait_until(lambda: (relay.metric("walrelay_oldest_unpublished_age_seconds") or 0) > 1,
                         60, "the age to grow")

    def test_request_with_a_foreign_host_header_sees_no_row(self) -> None:
        relay = self.start_relay()
        relay.wait_ready()
        self.outbox.insert(77, key=None)
        relay.wait_for_state("blocked")
        port = relay.wait_for_log("listening")["port"]
        codes = {}
        for path in ("/status", "/status.json", "/status.txt", "/readyz?verbose", "/livez", "/metrics"):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", path, headers={"Host": "rebound.example.com"})
            answer = connection.getresponse()
            codes[path] = answer.status
            self.assertNotIn(b"id=77", answer.read())
        self.assertEqual(codes, {"/status": 421, "/status.json": 421, "/status.txt": 421,
                                 "/readyz?verbose": 503, "/livez": 200, "/metrics": 200})
        self.assertIn("id=77", relay.get("/readyz?verbose")[1])


class LeastPrivilegeTest(StatusTest):
    """The relay's role has only LOGIN and REPLICATION."""

    def options(self) -> dict[str, Any]:
        return super().options() | {"source.dsn": f"{self.database.dsn} user={self.name}_sampler"}

    def prepare(self) -> None:
        super().prepare()
        self.postgres.psql(f"CREATE ROLE {self.name}_sampler LOGIN REPLICATION")
        self.addCleanup(self.postgres.psql, f"DROP ROLE {self.name}_sampler")


class AtRiskTest(StatusCase):
    """A server with a low max_slot_wal_keep_size, and a transaction that stays open."""

    postgres_options = {"settings": {"max_slot_wal_keep_size": "96MB", "min_wal_size": "32MB",
                                     "max_wal_size": "64MB", "checkpoint_timeout": "1h"}}

    def write(self, megabytes: int) -> None:
        for _ in range(megabytes):
            self.sql("SELECT pg_logical_emit_message(false, '', repeat('x', 1048000))")

    def test_each_risk_level_before_invalidation_is_logged(self) -> None:
        relay = self.start_relay(NO_BROKER)
        self.outbox.insert(1)
        self.write(40)
        for _ in range(80):  # one by one: past the last step a checkpoint would invalidate the slot
            if relay.logs("slot_risk", risk="critical"):
                break
            self.write(1)
            end = self.database.log_end()
            relay.wait_until(lambda: parse_lsn(self.json_of(relay).slot.wal_lsn) >= end, 60, "a slot sample")
        self.assertEqual([line["risk"] for line in relay.logs("slot_risk")],
                         ["notice", "warning", "critical"])
        status = self.json_of(relay)
        self.assertFalse(status.ready)
        self.assertEqual(status.problems[0].code, "WR-2108")
        self.assertEqual(status.slot.max_retained_bytes, 96 * MEGABYTE)
        self.assertEqual(relay.metric("walrelay_slot_risk", risk="critical"), 1)
        self.assertEqual(relay.get("/readyz")[0], 503)
        self.assertIn("<h1>Slot at risk</h1>", relay.get("/status")[1])

    def test_transaction_that_retains_wal_is_reported(self) -> None:
        relay = self.start_relay()
        relay.wait_ready()
        with self.database.connect() as other, other.cursor() as cursor:
            cursor.execute("SET application_name = 'forgotten'; BEGIN; CREATE TABLE unfinished (id int)")
            self.write(40)
            self.sql("CHECKPOINT")
            self.settle()
            relay.wait_until(lambda: self.json_of(relay).slot.held_by.application == "forgotten", 60,
                             "the transaction to be reported")
            self.assertIn("application forgotten", relay.get("/status")[1])
            cursor.execute("ROLLBACK")


if __name__ == "__main__":
    main()
