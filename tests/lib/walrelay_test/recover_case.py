"""Base of the tests of `walrelay recover`: a relay whose slot is lost while it does not run."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg2
import psycopg2.extras

from walrelay_dev.patience import patient
from .progress_case import ProgressCase
from .relay_config import relay_environment, relay_program
from .relay_process import RelayProcess

OK, CHANGED, UNPROVEN, ROW, USAGE, BUSY = 0, 3, 4, 5, 64, 69  # exit codes


class RecoverCase(ProgressCase):
    """A relay whose slot does not exist any more when it is not running."""

    def arguments(self, *arguments: str) -> list[Any]:
        return [relay_program(), "recover", "--config", self.relays[-1].config, *arguments]

    def plan(self, *arguments: str, code: int = OK) -> dict[str, Any]:
        """The plan as JSON; {} if there is nothing to do."""
        run = subprocess.run(self.arguments("--json", *arguments), text=True, capture_output=True,
                             timeout=patient(120), cwd="/",
                             env=relay_environment())
        self.assertEqual(run.returncode, code, run.stderr)
        self.errors = run.stderr
        found = json.loads(run.stdout) if run.stdout else {}
        return found if found.get("plan") else {}

    def recover(self, *arguments: str, code: int = OK) -> str:
        """Executes the plan of these flags; returns what the command prints."""
        return self.walrelay("recover", *arguments, "--apply", self.plan(*arguments)["plan"], code=code)

    def start_with_proof(self, *ids: int, options: dict[str, Any] | None = None, xid: int | None = None) -> RelayProcess:
        """A new relay that has published these rows; the record proves it, or has a horizon with `xid`.

        The first horizon is read when the relay starts, and later ones every ten seconds.
        """
        relay = self.new_relay(options)
        if not self.database.slot(self.slot, "slot_name"):
            self.database.create_slot(self.slot)
        self.walrelay("progress", "init")
        if ids:
            self.outbox.insert(*ids)
        xid = xid or self.next_xid()
        relay.start()
        relay.wait_ready()
        self.await_horizon(xid)
        self.assertEqual(self.ids(), list(ids))
        return relay

    def next_xid(self) -> int:
        return int(self.database.value("SELECT pg_snapshot_xmax(pg_current_snapshot())::text"))

    def drop_slot(self) -> None:
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)

    def await_horizon(self, xid: int | None = None) -> None:
        """Waits until the record proves that the rows before this xid are published; by default all that exist now."""
        relay = self.relays[-1]
        before = xid or self.next_xid()

        def proven() -> bool:
            self.sql("SELECT pg_logical_emit_message(true, 'filler', 'x')")  # the frontier moves, and is recorded
            return any(each.xid >= before for record in self.records() for each in record.horizons)
        relay.wait_until(proven, 90, "a horizon behind the rows")

    def start_again(self) -> None:
        """The relay continues without a gap."""
        relay = self.relays[-1]
        relay.start()
        relay.wait_ready()
        self.assertEqual(relay.logs("gap"), [])

    @contextmanager
    def replication_connection(self) -> Iterator[Any]:
        connection = psycopg2.connect(self.database.dsn,
                                      connection_factory=psycopg2.extras.LogicalReplicationConnection)
        try:
            yield connection.cursor()
        finally:
            connection.close()
