"""Base of the tests of durable progress: a relay that records what it has published."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from walrelay_dev.kafka_records import Record

from walrelay_dev.patience import patient
from .pgoutput import parse_lsn
from .protobuf_types import message_type
from .relay_config import relay_environment, relay_program
from .relay_process import RelayProcess
from .testcase import IntegrationTest

OK, FOUND, USAGE, UNAVAILABLE = 0, 3, 64, 69  # exit codes


class ProgressCase(IntegrationTest):
    """The relay creates its slot, by which it knows that nothing was published before."""

    def publish(self, *tables: str) -> None:
        self.sql(f"CREATE PUBLICATION walrelay FOR TABLE {', '.join(tables)} WITH (publish = 'insert')")

    def options(self) -> dict[str, Any]:
        return super().options() | {"source.create_slot": True, "pipeline.progress": "required"}

    @property
    def pipeline(self) -> str:
        return f"{self.name}.{self.slot}"

    @property
    def progress_topic(self) -> str:
        return f"walrelay.progress.{self.pipeline}"

    def start_streaming(self, options: dict[str, Any] | None = None) -> RelayProcess:
        relay = self.start_relay(options)
        relay.wait_ready()
        return relay

    def publish_rows(self, *ids: int, relay: RelayProcess | None = None) -> RelayProcess:
        """Publishes one row per transaction with `relay`, by default a new one, and stops it."""
        relay = relay or self.start_relay()
        if not relay.running():
            relay.start()
        relay.wait_ready()
        for id in ids:
            self.outbox.insert(id)
        self.settle()
        self.assertEqual(relay.stop(), 0)
        return relay

    def first_ids(self) -> list[int]:
        """The ids of the published rows, without repetitions."""
        return list(dict.fromkeys(self.ids()))

    # --- the record ---

    def records(self, topic: str | None = None) -> list[Any]:
        """All versions of the record that are in the topic, in its order."""
        return [self.parse(record) for record in self.kafka.consume(topic or self.progress_topic)]

    @staticmethod
    def parse(record: Record) -> Any:
        return message_type("walrelay.progress.v1.Progress").FromString(record.value)

    def record(self, topic: str | None = None) -> Any:
        """The version that counts."""
        return max(self.records(topic), key=lambda each: (each.generation, each.timeline, each.frontier,
                                                          each.commit_lsn, each.partial_commit_lsn,
                                                          each.partial_row_lsn, each.partial_row_index))

    # --- commands ---

    def run_walrelay(self, *arguments: str, relay: RelayProcess | None = None) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([relay_program(), *arguments, "--config", (relay or self.relays[-1]).config], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=patient(120), cwd="/",
                              env=relay_environment())

    def walrelay(self, *arguments: str, code: int = OK, relay: RelayProcess | None = None) -> str:
        """Runs a command with the relay's configuration; returns its output."""
        run = self.run_walrelay(*arguments, relay=relay)
        self.assertEqual(run.returncode, code, run.stdout)
        return run.stdout

    def shown(self) -> dict[str, Any]:
        """The record as `walrelay progress show --json` prints it."""
        answer = json.loads(self.walrelay("progress", "show", "--json"))
        self.assertEqual(answer["topic"], self.progress_topic)
        return answer["record"]

    # --- gaps ---

    def expect_held(self, relay: RelayProcess, code: str) -> dict[str, Any]:
        """Checks that the relay is on hold with this gap; returns it."""
        relay.wait_for_log("gap", code=code)
        relay.wait_for_state("blocked")
        gap = json.loads(relay.get("/status.json")[1])["gap"]
        self.assertEqual(gap["code"], code)
        return gap

    def accept(self, relay: RelayProcess, gap: dict[str, Any]) -> None:
        self.assertIn("is accepted", self.walrelay("resume", "--accept-gap", gap["id"], relay=relay))

    def expect_restart_without_a_gap(self, relay: RelayProcess) -> None:
        """Stops and starts the relay: an operator decides about a gap once."""
        self.assertEqual(relay.stop(), 0)
        relay.start()
        relay.wait_ready()
        self.assertEqual(relay.logs("gap"), [])

    def expect_held_once(self, relay: RelayProcess, code: str, *, row: int) -> None:
        """Starts the relay, which holds with this gap, and holds again when it is restarted before an operator has
        accepted it. Then it continues: `row` is published, and a restart needs no decision."""
        generation = max((each.generation for each in self.records()), default=0)
        before = self.ids()
        relay.start()
        self.expect_held(relay, code)
        relay.kill()
        relay.start()
        gap = self.expect_held(relay, code)
        self.assertEqual(self.ids(), before)
        self.accept(relay, gap)
        relay.wait_ready()
        self.outbox.insert(row)
        self.settle()
        self.assertEqual(self.ids()[-1], row)
        self.assertEqual(self.record().generation, generation + 1)
        self.expect_restart_without_a_gap(relay)

    # --- backups of the server ---

    def back_up(self) -> Path:
        """A copy of the data directory. The relay is stopped.

        Before version 17, Postgres may not save the slot's last confirmed position when it stops.
        """
        copy = self.postgres.data.with_name(f"copy-of-{self.name}")
        self.postgres.stop()
        subprocess.run(["cp", "-a", self.postgres.data, copy], check=True)
        self.postgres.start()
        return copy

    def restore(self, copy: Path) -> None:
        """Replaces the data directory by a copy, without recovery to a new timeline. The relay is stopped."""
        self.postgres.stop()
        shutil.rmtree(self.postgres.data)
        copy.rename(self.postgres.data)
        self.postgres.start()

    def fill_wal(self, until: int = 0) -> None:
        """Writes a megabyte of WAL without events, and more until its end is at or after this position."""
        while True:
            self.sql("SELECT pg_logical_emit_message(true, 'filler', repeat('x', 1000000))")
            if self.database.log_end() >= until:
                return

    def confirmed_text(self) -> str:
        return self.database.slot(self.slot, "confirmed_flush_lsn")

    def log_end_text(self) -> str:
        return self.database.value("SELECT pg_current_wal_flush_lsn()::text")

    def frontier(self) -> int:
        return parse_lsn(self.shown()["frontier"])
