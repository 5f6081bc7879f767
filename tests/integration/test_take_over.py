#!/usr/bin/python3
"""Switching from Debezium to walrelay and back on one slot, while rows are written."""

import json
import time
from typing import Any

from walrelay_dev.connect import ConnectWorker
from walrelay_dev.debezium import outbox_connector
from walrelay_test.pgoutput import parse_lsn
from walrelay_test.servers import new_connect, require_servers, test_folder
from walrelay_test.testcase import RelayProcess, main, wait_until
from walrelay_test.verified import VerifiedTest
from walrelay_test.workload import Workload

_FLUSH_SECONDS = 3
# The flush itself takes time, especially on a small machine under load.
_AT_MOST_REPEATED_SECONDS = 3 * _FLUSH_SECONDS
_RATE = 150


class TakeOverTest(VerifiedTest):
    postgres_options = {"tcp": True}

    worker: ConnectWorker

    @classmethod
    def setUpClass(cls) -> None:
        require_servers(with_connect=True)
        super().setUpClass()
        cls.worker = cls.enterClassContext(new_connect(
            cls.kafka, properties={"offset.flush.interval.ms": _FLUSH_SECONDS * 1000}))

    def connector(self) -> dict[str, Any]:
        base = outbox_connector(self.postgres, self.name, slot=self.slot, publication="walrelay")
        text = "org.apache.kafka.connect.storage.StringConverter"
        return base | {
            "table.include.list": "public.outbox", "extended.headers.enabled": False,
            "transforms.outbox.route.by.field": "aggregate_type",
            "transforms.outbox.table.field.event.key": "aggregate_id",
            "transforms.outbox.table.fields.additional.placement": "event_type:header",
            "key.converter": text, "value.converter": text,
            "producer.override.bootstrap.servers": self.kafka.bootstrap}

    # --- the readers of the slot ---

    def start_debezium(self) -> None:
        if self.name in self.worker.connectors():
            self.worker.forget_offsets(self.name)  # or the connector fails: the slot has moved beyond them
            self.worker.resume_connector(self.name)
        else:
            self.worker.create_connector(self.name, self.connector())
        self.worker.wait_running(self.name)

    def stop_debezium(self) -> None:
        self.worker.stop_connector(self.name)
        self.left_at = self.database.log_end()
        self.stops_us.append(time.time_ns() // 1000)

    def start_walrelay(self) -> RelayProcess:
        path = test_folder() / f"{self.name}.json"
        path.write_text(json.dumps(
            {"name": self.name, "config": {key: str(value) for key, value in self.connector().items()}}))
        return self.start_relay(config=path, arguments=[
            "--set", "http.listen=127.0.0.1:0", "--set", "metrics.slot_poll_interval=200ms",
            # With a progress record, the slot that Debezium has advanced is a gap.
            "--set", "pipeline.progress=off"])

    def work(self, workload: Workload) -> None:
        """Waits for longer than the period that may be repeated, and until the slot is confirmed again."""
        enough = workload.committed + _RATE * (_AT_MOST_REPEATED_SECONDS + 1)
        wait_until(lambda: workload.committed >= enough, 300, f"{enough} transactions")
        end = self.database.log_end()
        wait_until(lambda: self.database.confirmed(self.slot) >= end, 120,
                   "the slot's reader to confirm")

    def leave_the_offsets_behind(self) -> None:
        """Waits until the slot no longer needs WAL from the time when Debezium stopped."""
        def behind() -> bool:
            self.sql("CHECKPOINT")
            return parse_lsn(self.database.slot(self.slot, "restart_lsn")) > self.left_at
        wait_until(behind, 120, "the slot's restart_lsn to advance")

    # --- the test ---

    def test_switching_to_walrelay_and_back_under_load_loses_nothing(self) -> None:
        self.stops_us: list[int] = []
        with self.load(seed=7, rate=_RATE) as workload:
            for _ in range(2):
                self.start_debezium()
                self.work(workload)
                self.stop_debezium()
                relay = self.start_walrelay()
                self.work(workload)
                self.leave_the_offsets_behind()
                self.assertEqual(relay.stop(), 0)
            self.start_walrelay()
        verdict = self.expect_no_problem()
        print(f"takeover: {verdict.events} events, {verdict.duplicates} repeated")
        for event in verdict.repeated:
            before = min(stop - event.commit_time_us for stop in self.stops_us
                         if stop >= event.commit_time_us)
            self.assertLess(before / 1e6, _AT_MOST_REPEATED_SECONDS, f"{event} was repeated")


if __name__ == "__main__":
    main()
