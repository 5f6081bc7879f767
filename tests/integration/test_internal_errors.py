#!/usr/bin/python3
"""Several pipelines in one process, one of which fails: the others continue, and the one is isolated."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from walrelay_dev.patience import patient
from walrelay_dev.ports import free_ports
from walrelay_dev.process import wait_until
from walrelay_test.outbox import Outbox
from walrelay_test.relay_config import build_folder, relay_program, to_toml
from walrelay_test.servers import test_folder
from walrelay_test.testcase import IntegrationTest, RelayProcess, main

_LIBRARY = build_folder() / "tests" / "integration" / "failing_libpq.so"


def _worker_of(relay: RelayProcess) -> int:
    """The process of the pipelines, a child of the one that was started; 0 while there is none."""
    return next(iter(relay.processes()[1:]), 0)


class InternalErrorTest(IntegrationTest):
    internal_errors = True

    def setUp(self) -> None:
        super().setUp()
        self.directory = test_folder() / f"{self.name}-pipelines"
        self.directory.mkdir()
        self.slots = {}
        self.outboxes = {}
        for name in ("orders", "payments", "refunds"):
            self.outboxes[name] = Outbox(self.database, f"{self.name}_{name}", table=name)
            self.sql(f"CREATE PUBLICATION {self.slot}_{name} FOR TABLE {name} WITH (publish = 'insert')")
            self.slots[name] = f"{self.slot}_{name}"
            self.database.create_slot(self.slots[name])
            self.write(name)

    def write(self, name: str, **options: Any) -> None:
        file = self.directory / f"{name}.toml"
        file.write_text(to_toml({
            key: value for key, value in self.options().items() if key != "http.listen"} | {
                "source.slot": self.slots[name], "source.publication": f"{self.slot}_{name}",
                "source.table": f"public.{name}"} | options))

    def start_fleet(self) -> RelayProcess:
        # Another worker listens on the same port.
        listen = f"http.listen=127.0.0.1:{free_ports(1)[0]}"
        relay = self.new_relay(config_dir=self.directory, arguments=["--set", listen],
                               environment={"LD_PRELOAD": str(_LIBRARY)})
        return relay.start()

    @staticmethod
    def pipeline(relay: RelayProcess, name: str) -> dict[str, Any]:
        status, text = relay.get(f"/status/{name}.json")
        return json.loads(text) if status == 200 else {"relay": {"state": "none"}}

    def wait_for_pipelines(self, relay: RelayProcess, **states: str) -> None:
        relay.wait_until(lambda: all(self.pipeline(relay, name)["relay"]["state"] == state
                                     for name, state in states.items()), 60, f"{states}")

    def insert(self, name: str, number: int, text: str = "") -> None:
        self.outboxes[name].insert(number, payload=json.dumps(text))

    def published_by(self, name: str) -> set[int]:
        return set(self.ids(f"{self.name}_{name}"))

    def settled(self, relay: RelayProcess, name: str) -> None:
        end = self.database.log_end()
        relay.wait_until(lambda: self.database.confirmed(self.slots[name]) >= end, 60, f"{name} to be confirmed")

    def test_pipeline_that_fails_again_is_isolated_and_the_others_run(self) -> None:
        relay = self.start_fleet()
        self.wait_for_pipelines(relay, orders="streaming", payments="streaming", refunds="streaming")
        first = _worker_of(relay)
        self.insert("orders", 1)
        self.insert("payments", 1)
        self.settled(relay, "orders")
        self.insert("payments", 2, "fail: abort")
        failed = relay.wait_for_log("pipeline_failed", code="WR-5010")
        self.assertEqual((failed["pipeline"], failed["slot"]), ("payments", self.slots["payments"]))
        self.assertIn("signal 6 (SIGABRT)", failed["msg"])
        # Started once more, some seconds later, it reads the row again.
        isolated = relay.wait_for_log("pipeline_failed", code="WR-5011")
        self.assertEqual((isolated["pipeline"], isolated["slot"]), ("payments", self.slots["payments"]))
        self.wait_for_pipelines(relay, orders="streaming", payments="stopped", refunds="streaming")
        self.assertNotIn(_worker_of(relay), (0, first))
        self.insert("orders", 2)
        self.settled(relay, "orders")
        self.assertEqual(self.published_by("orders"), {1, 2})

        shown = self.pipeline(relay, "payments")
        self.assertEqual(([each["code"] for each in shown["problems"]], shown["relay"]["waits_for"]),
                         (["WR-5011"], "a reload"))
        self.assertEqual(relay.metric("walrelay_isolated", slot=self.slots["payments"]), 1)
        self.assertEqual(relay.metric("walrelay_internal_errors_total", slot=self.slots["payments"]), 2)
        self.assertEqual(relay.metric("walrelay_isolated", slot=self.slots["orders"]), 0)
        self.assertEqual(relay.metric("walrelay_internal_errors_total", slot=self.slots["orders"]), None)
        status, text = relay.get("/readyz")
        self.assertEqual(status, 503)
        self.assertIn("payments: not ready: stopped\nWR-5011", text)
        self.assertEqual(relay.get("/readyz/orders")[0], 200)
        self.assertEqual(relay.get("/livez")[0], 200)
        self.assertEqual(len(relay.logs("pipeline_failed")), 2)

        # A reload starts it again, and it is isolated at once if it fails. That may be before the answer to the reload.
        self.reload()
        relay.wait_for_log("pipeline_failed", code="WR-5011", count=2)
        self.wait_for_pipelines(relay, orders="streaming", payments="stopped", refunds="streaming")
        wait_until(lambda: not self.database.slot(self.slots["payments"], "active"), 30, "the slot to be free")
        # Without the row it runs.
        self.sql("SELECT pg_catalog.pg_replication_slot_advance(%s, pg_catalog.pg_current_wal_insert_lsn())",
                 self.slots["payments"])
        self.write("payments", **{"pipeline.progress": "off"})
        result = self.reload()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.wait_for_pipelines(relay, orders="streaming", payments="streaming", refunds="streaming")
        self.insert("payments", 3)
        self.settled(relay, "payments")
        self.assertEqual(self.published_by("payments"), {1, 3})
        self.assertEqual(relay.metric("walrelay_isolated", slot=self.slots["payments"]), 0)
        # Isolated no longer, also for the next worker.
        self.insert("refunds", 1, "fail: address")
        relay.wait_for_log("pipeline_failed", code="WR-5010", slot=self.slots["refunds"])
        self.wait_for_pipelines(relay, orders="streaming", payments="streaming")
        relay.wait_for_log("pipeline_failed", code="WR-5011", slot=self.slots["refunds"])
        self.wait_for_pipelines(relay, orders="streaming", payments="streaming", refunds="stopped")
        self.assertEqual(relay.stop(), 0)

    def test_unknown_cause_ends_the_process_the_second_time(self) -> None:
        relay = self.start_fleet()
        self.wait_for_pipelines(relay, orders="streaming", payments="streaming", refunds="streaming")
        self.insert("payments", 1, "fail: kill")
        self.assertEqual(relay.wait_exit(), 70)
        failed = relay.logs("worker_failed")
        self.assertEqual([line["code"] for line in failed], ["WR-5012"])
        self.assertIn("signal 9 (SIGKILL)", failed[0]["msg"])
        self.assertIn("walrelay: WR-5012", relay.log_text)

    def test_signals_to_every_process_of_the_service_drain_once(self) -> None:
        relay = self.start_fleet()
        self.wait_for_pipelines(relay, orders="streaming", payments="streaming", refunds="streaming")
        worker = _worker_of(relay)
        # As systemd does with KillMode=control-group.
        os.kill(worker, signal.SIGTERM)
        relay.terminate()
        os.kill(worker, signal.SIGTERM)
        self.assertEqual(relay.wait_exit(), 0)
        self.assertEqual(len(relay.logs("stopped")), 3)

    def test_worker_does_not_outlive_its_parent(self) -> None:
        relay = self.start_fleet()
        self.wait_for_pipelines(relay, orders="streaming", payments="streaming", refunds="streaming")
        relay.kill()
        relay.wait_until(lambda: not any(self.database.slot(slot, "active") for slot in self.slots.values()), 60,
                         "the slots to be free", ended=True)

    def reload(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run([relay_program(), "reload", "--config-dir", self.directory], capture_output=True,
                              text=True, timeout=patient(30), check=False)


if __name__ == "__main__":
    main()
