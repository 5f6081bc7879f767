#!/usr/bin/python3
"""Several pipelines in one process, and changes of the configuration while it runs."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

from walrelay_dev.patience import patient
from walrelay_dev.process import wait_until
from walrelay_test.relay_config import relay_program, to_toml
from walrelay_test.servers import test_folder
from walrelay_test.testcase import IntegrationTest, RelayProcess, main

_DEAD = "host=127.0.0.1 port=1 user=u dbname=gone"


def reload(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([relay_program(), "reload", *arguments], capture_output=True, text=True, timeout=patient(30),
                          check=False)


class FleetCase(IntegrationTest):
    def setUp(self) -> None:
        super().setUp()
        self.directory = test_folder() / f"{self.name}-pipelines"
        self.directory.mkdir()

    def options(self) -> dict[str, Any]:
        return {key: value for key, value in super().options().items() if key != "http.listen"}

    def write(self, name: str, **options: Any) -> Path:
        """The file of a pipeline; `source__dsn` sets source.dsn."""
        file = self.directory / f"{name}.toml"
        settings = {key.replace("__", "."): value for key, value in options.items()}
        file.write_text(to_toml(self.options() | settings))
        return file

    def new_slot(self, name: str) -> str:
        self.database.create_slot(f"{self.slot}_{name}")
        return f"{self.slot}_{name}"

    def start_fleet(self) -> RelayProcess:
        relay = self.new_relay(config_dir=self.directory, arguments=["--set", "http.listen=127.0.0.1:0"])
        return relay.start()

    @staticmethod
    def pipeline_state(relay: RelayProcess, name: str) -> str:
        status, text = relay.get(f"/status/{name}.json")
        return json.loads(text)["relay"]["state"] if status == 200 else "none"

    def wait_for_pipeline(self, relay: RelayProcess, name: str, *states: str) -> None:
        relay.wait_until(lambda: self.pipeline_state(relay, name) in states, 60, f"{name} to be {states}")


class FleetTest(FleetCase):
    def test_dead_database_does_not_affect_the_others(self) -> None:
        self.write("orders")
        self.write("payments", source__dsn=_DEAD, source__slot="pay")
        relay = self.start_fleet()
        self.wait_for_pipeline(relay, "orders", "streaming")
        self.outbox.insert(1, 2)
        self.expect_published(1, 2)
        self.wait_for_pipeline(relay, "payments", "degraded")
        status, text = relay.get("/readyz")
        self.assertEqual(status, 503)
        self.assertIn("not ready: 1 of 2 pipelines\npayments: not ready: degraded\nWR-2001", text)
        self.assertEqual(relay.get("/readyz/orders")[0], 200)
        self.assertEqual(relay.get("/livez")[0], 200)
        # Each series and each line names its database and slot.
        self.assertEqual(relay.metric("walrelay_leader", slot=self.slot), 1)
        self.assertEqual(relay.metric("walrelay_leader", slot="pay"), 0)
        relay.wait_for_log("disconnected")
        self.assertEqual({line["slot"] for line in relay.logs("disconnected")}, {"pay"})
        self.assertEqual(relay.stop(), 0)

    def test_invalid_file_is_reported_and_the_others_run(self) -> None:
        self.write("orders")
        broken = self.write("broken", source__slot="other")
        broken.write_text(broken.read_text() + "[foo]\nbar = 1\n")
        relay = self.start_fleet()
        self.wait_for_pipeline(relay, "orders", "streaming")
        self.assertEqual(self.pipeline_state(relay, "broken"), "stopped")
        self.assertIn("WR-1002", relay.get("/status.txt")[1])
        self.assertEqual(relay.wait_for_log("pipeline_failed")["pipeline"], "broken")
        self.assertEqual(relay.metric("walrelay_ready", source="broken"), 0)

    def test_directory_without_a_valid_file_is_an_error(self) -> None:
        (self.directory / "broken.toml").write_text("[source]\nslott = 'x'\n")
        result = subprocess.run([relay_program(), "run", "--config-dir", self.directory], capture_output=True,
                                text=True, timeout=patient(30), check=False)
        self.assertEqual(result.returncode, 78)
        self.assertIn("slott", result.stderr)

    def test_failed_pipeline_is_started_again(self) -> None:
        self.write("orders")
        self.write("late", source__slot=f"{self.slot}_late")
        relay = self.start_fleet()
        # The slot does not exist at the first start: a process of its own would end.
        failed = relay.wait_for_log("pipeline_failed", slot=f"{self.slot}_late")
        self.assertEqual(failed["code"], "WR-2101")
        self.new_slot("late")
        self.wait_for_pipeline(relay, "late", "streaming")
        self.assertEqual(self.pipeline_state(relay, "orders"), "streaming")

    def test_stop_drains_every_pipeline(self) -> None:
        self.write("a")
        self.write("b", source__slot=self.new_slot("b"), route__topic="second.${routedByValue}")
        relay = self.start_fleet()
        self.wait_for_pipeline(relay, "a", "streaming")
        self.wait_for_pipeline(relay, "b", "streaming")
        self.outbox.insert(*range(1, 201))
        end = self.database.log_end()
        relay.wait_until(lambda: relay.metric("walrelay_events_received_total") == 400, 60, "both to read all rows")
        self.assertEqual(relay.stop(), 0)
        for slot in (self.slot, f"{self.slot}_b"):
            self.assertGreaterEqual(self.database.confirmed(slot), end)
        self.assertEqual(self.ids(), list(range(1, 201)))
        second = self.kafka.consume(f"second.{self.name}")
        self.assertEqual([int(dict(record.headers)["id"]) for record in second], list(range(1, 201)))


class CheckTest(FleetCase):
    def test_check_reports_each_pipeline_and_the_worst_result(self) -> None:
        self.write("a")
        self.write("b", source__slot=f"{self.slot}_missing")
        result = subprocess.run([relay_program(), "check", "--config-dir", self.directory], capture_output=True,
                                text=True, timeout=patient(60), check=False)
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        first, second = result.stdout.split("\n\n" + str(self.directory / "b.toml"))
        self.assertTrue(first.startswith(str(self.directory / "a.toml")), first)
        self.assertNotIn("WR-", first)
        self.assertIn("WR-2101", second)


class ReloadTest(FleetCase):
    def test_reload_starts_changes_and_removes_pipelines(self) -> None:
        self.write("a")
        relay = self.start_fleet()
        self.wait_for_pipeline(relay, "a", "streaming")
        self.write("b", source__slot=self.new_slot("b"), route__topic="second.${routedByValue}")
        result = reload("--config-dir", self.directory)
        self.assertEqual((result.returncode, result.stderr.splitlines()[1:]), (0, []))
        self.assertIn(f"walrelay: configuration {self.directory}", result.stderr)
        self.assertIn("a: unchanged\nb: started\n", result.stdout)
        self.wait_for_pipeline(relay, "b", "streaming")

        self.write("a", route__topic="changed.${routedByValue}")
        (self.directory / "b.toml").unlink()
        result = reload("--config-dir", self.directory)
        self.assertIn("a: drains, then continues with the new configuration (route.topic)\n", result.stdout)
        self.assertIn("b: drains, then stops: it is no longer configured\n", result.stdout)
        relay.wait_until(lambda: self.pipeline_state(relay, "b") == "none", 60, "b to be gone")
        relay.wait_until(lambda: relay.metric("walrelay_leader", slot=f"{self.slot}_b") is None, 60,
                         "the series of b to be gone")
        relay.wait_until(lambda: relay.logs("streaming", slot=self.slot)[1:], 60, "a to stream again")
        self.outbox.insert(1)
        self.settle()
        changed = self.kafka.consume(f"changed.{self.name}")
        self.assertEqual([int(dict(record.headers)["id"]) for record in changed], [1])

    def test_invalid_file_changes_nothing_of_the_running_pipeline(self) -> None:
        file = self.write("a")
        relay = self.start_fleet()
        self.wait_for_pipeline(relay, "a", "streaming")
        file.write_text(file.read_text() + "\n[kafka.x]\ny = 1\n")
        result = reload("--config-dir", self.directory)
        self.assertEqual(result.returncode, 78)
        self.assertIn("WR-1002", result.stdout)
        self.outbox.insert(1)
        self.expect_published(1)
        self.assertEqual(len(relay.logs("streaming")), 1)

    def test_second_pipeline_with_the_id_is_not_started(self) -> None:
        self.write("b", pipeline__id=self.name)
        relay = self.start_fleet()
        self.wait_for_pipeline(relay, "b", "streaming")
        # Its file comes first by name.
        self.write("a", pipeline__id=self.name, source__slot=self.new_slot("a"))
        result = reload("--config-dir", self.directory)
        self.assertEqual(result.returncode, 78)
        self.assertIn(f"a.toml: pipeline.id \"{self.name}\" is also that of {self.directory}/b.toml", result.stdout)
        self.assertIn("Set id in [pipeline] of the one that is new", result.stdout)
        self.outbox.insert(1)
        self.expect_published(1)
        self.assertEqual(len(relay.logs("streaming")), 1)
        self.write("a", pipeline__id=f"{self.name}.a", source__slot=f"{self.slot}_a",
                   route__topic="second.${routedByValue}")
        self.assertEqual(reload("--config-dir", self.directory).returncode, 0)
        self.wait_for_pipeline(relay, "a", "streaming")

    def test_reload_under_load_loses_and_repeats_nothing(self) -> None:
        self.write("a")
        relay = self.start_fleet()
        self.wait_for_pipeline(relay, "a", "streaming")
        for number in range(5):
            self.outbox.insert(*range(100 * number + 1, 100 * number + 101))
            self.write("a", kafka__client_id=f"client-{number}")
            self.assertEqual(reload("--config-dir", self.directory).returncode, 0)
        relay.wait_until(lambda: len(relay.logs("streaming")) == 6 or
                         self.pipeline_state(relay, "a") == "streaming", 60, "the last configuration")
        self.expect_published(*range(1, 501))

    def test_sighup_reloads_a_single_pipeline(self) -> None:
        relay = self.start_relay({"http.listen": "127.0.0.1:0"})
        relay.wait_ready()
        relay.config.write_text(to_toml(self.options() | {"http.listen": "127.0.0.1:0", "log.level": "debug",
                                                          "source.on_update": "fail"}))
        relay.signal(signal.SIGHUP)
        relay.wait_for_log("streaming", count=2)
        changed = relay.wait_for_log("pipeline_changed")
        self.assertEqual(changed["options"], "source.on_update")
        self.outbox.insert(1)
        self.expect_published(1)
        result = reload("--config", relay.config)
        self.assertEqual((result.returncode, result.stdout), (0, "the pipeline: unchanged\n"))
        self.assertEqual(relay.stop(), 0)

    def test_log_level_alone_restarts_nothing(self) -> None:
        relay = self.start_relay({"http.listen": "127.0.0.1:0"})
        relay.wait_ready()
        relay.config.write_text(to_toml(self.options() | {"http.listen": "127.0.0.1:0", "log.level": "debug"}))
        result = reload("--config", relay.config)
        self.assertEqual((result.returncode, result.stdout),
                         (0, "log.level is now debug\nthe pipeline: unchanged\n"))
        self.assertEqual(len(relay.logs("streaming")), 1)

    def test_any_option_can_be_changed_while_events_flow(self) -> None:
        for table in ("first", "second"):
            self.sql(f"CREATE TABLE {table} (LIKE outbox INCLUDING ALL)")
            self.sql(f"ALTER PUBLICATION walrelay ADD TABLE {table}")
        self.sql(f"CREATE PUBLICATION {self.slot}_other FOR TABLE outbox, second, first")
        base = {"http.listen": "127.0.0.1:0"}
        tables = [{"name": "public.outbox"}, {"name": "public.second"}]
        relay = self.start_relay(base)
        relay.wait_ready()
        self.outbox.insert(1)
        changes: list[dict[str, Any]] = [
            {"source.tables": tables},
            {"source.tables": tables[::-1]},
            {"source.tables": [*tables, {"name": "public.first"}]},
            {"source.tables": tables[:1]},
            {"source.tables": tables[:1], "source.publication": f"{self.slot}_other"},
            {"source.tables": tables[:1], "source.wait_visible": True},
            {"source.tables": tables[:1], "pipeline.progress": "off"},
            {"source.tables": tables[:1], "pipeline.progress": "required"},
            {"source.tables": tables[:1], "pipeline.mode": "exactly_once"},
            {"source.tables": tables[:1], "pipeline.mode": "topics"},
            {"source.table": "public.second"},
            {"source.table": "public.outbox", "source.message_prefixes": ["outbox"]},
        ]
        for event, options in enumerate(changes, 2):
            with self.subTest(options=options):
                relay.config.write_text(to_toml(self.options() | base | options))
                self.assertEqual(reload("--config", relay.config).returncode, 0)
                # The predecessor drains, and reads no further transaction.
                self.outbox.insert(event)
                self.settle()
                self.assertTrue(relay.running())
        self.assertEqual(sorted(set(self.ids())), [*range(1, 12), 13])  # 12 was in no outbox
        self.assertEqual(relay.stop(), 0)

    def test_gap_stays_held_across_a_reload(self) -> None:
        relay = self.start_relay({"http.listen": "127.0.0.1:0"})
        relay.wait_ready()
        self.outbox.insert(1)
        self.settle()
        relay.pause()
        self.sql("SELECT pg_catalog.pg_terminate_backend(active_pid) FROM pg_catalog.pg_replication_slots "
                 "WHERE slot_name = %s", self.slot)
        wait_until(lambda: not self.database.slot(self.slot, "active"), 30, "the slot to be free")
        self.sql("SELECT pg_catalog.pg_replication_slot_advance(%s, pg_catalog.pg_current_wal_insert_lsn())",
                 self.slot)
        self.sql("SELECT pg_catalog.pg_logical_emit_message(true, 'x', 'y')")
        self.sql("SELECT pg_catalog.pg_replication_slot_advance(%s, pg_catalog.pg_current_wal_insert_lsn())",
                 self.slot)
        relay.resume()
        relay.wait_for_state("blocked")
        relay.config.write_text(to_toml(self.options() | {"http.listen": "127.0.0.1:0",
                                                          "kafka.client_id": "changed"}))
        self.assertEqual(reload("--config", relay.config).returncode, 0)
        relay.wait_for_log("pipeline_changed")
        relay.wait_for_log("blocked", count=2, code="WR-2106")
        relay.wait_for_state("blocked")
        self.assertEqual(len(relay.logs("streaming")), 1)

    def test_reload_without_a_process_says_so(self) -> None:
        result = reload("--config-dir", self.directory)
        self.assertEqual(result.returncode, 69)
        self.assertIn("no walrelay process with the configuration", result.stderr)


if __name__ == "__main__":
    main()
