"""Base of the tests of gaps: a relay that has published one row."""

import json
import subprocess
from typing import Any

from walrelay_dev.patience import patient
from .relay_config import relay_environment, relay_program
from .testcase import IntegrationTest

HELD, NONE_HELD, NO_ANSWER = 3, 0, 69  # exit codes of walrelay resume


class GapCase(IntegrationTest):
    def setUp(self) -> None:
        super().setUp()
        self.relay = self.start_relay(self.relay_options())
        self.outbox.insert(1)
        self.settle()

    def relay_options(self) -> dict[str, Any]:
        return {}

    def run_resume(self, *arguments: str, **process: Any) -> tuple[int, str]:
        """Runs `walrelay resume` with the relay's configuration; returns its exit code and its output."""
        run = subprocess.run([relay_program(), "resume", "--config", self.relay.config, *arguments], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=patient(60), cwd="/",
                             env=relay_environment(), **process)
        return run.returncode, run.stdout

    def resume(self, *arguments: str, code: int, **process: Any) -> str:
        """The same where the exit code is known; returns the output."""
        exited, shown = self.run_resume(*arguments, **process)
        self.assertEqual(exited, code, shown)
        return shown

    def expect_held(self, code: str) -> dict[str, Any]:
        """Checks that publishing is on hold and every page reports why; returns the gap from status.json."""
        self.relay.wait_for_log("gap", code=code)
        self.relay.wait_for_state("blocked")
        status, body = self.relay.get("/readyz")
        self.assertEqual(status, 503)
        self.assertIn(code, body)
        gap = self.gap()
        self.assertEqual(gap["code"], code)
        self.assertIn(gap["from_lsn"], body)
        self.assertEqual(self.relay.metric("walrelay_gap_held"), 1)
        self.assertIn("resume --accept-gap", self.relay.get("/status.txt")[1])
        self.assertTrue(self.relay.running())
        return gap

    def gap(self) -> dict[str, Any]:
        return json.loads(self.relay.get("/status.json")[1])["gap"]

    def expect_streaming(self) -> None:
        self.relay.wait_ready()
        self.assertEqual(self.relay.metric("walrelay_gap_held"), 0)

    def free_slot(self) -> None:
        """Suspends the relay and releases the slot."""
        self.relay.pause()
        self.sql("SELECT pg_terminate_backend(%s)", self.database.walsender(self.slot))
        self.relay.wait_until(lambda: not self.database.slot(self.slot, "active"), 60, "a free slot")
