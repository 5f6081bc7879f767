#!/usr/bin/python3
"""`walrelay prune`: what a pass would change, and one pass, with the proof of the relay on this host."""

import json

from walrelay_test.prune_case import PruneCase
from walrelay_test.relay_process import RelayProcess
from walrelay_test.testcase import main


class CommandTest(PruneCase):
    """`walrelay prune`, while `run` does not prune."""

    mode = {"prune.mode": "off"}
    flags = ("prune", "--set", "prune.mode=delete", "--set", "prune.keep=0")

    def start_proven(self) -> RelayProcess:
        """A relay that answers with a proof, a moment after its record has one."""
        relay = self.start_pruning()
        self.touch(relay)
        relay.wait_until(lambda: self.run_walrelay(*self.flags).returncode == 0, 60, "a proof")
        return relay

    def test_plan_and_apply(self) -> None:
        self.outbox.insert(1)  # from before the slot
        relay = self.start_proven()
        self.outbox.insert(2, 3)
        self.settle()
        relay.wait_until(lambda: ": 2 to delete\n" in self.walrelay(*self.flags), 60, "two rows")
        plan = self.walrelay(*self.flags)
        self.assertIn("published rows older than 0 µs: 2 to delete\n", plan)
        self.assertIn("rows without proof that they are published: 1 kept", plan)
        self.assertEqual(self.rows(), [1, 2, 3])
        self.assertIn("2 deleted\n", self.walrelay(*self.flags, "--apply"))
        self.assertEqual(self.rows(), [1])
        self.assertIn("0 deleted\n", self.walrelay(*self.flags, "--apply"))

    def test_older_rows(self) -> None:
        self.outbox.insert(1)
        self.outbox.insert(2, more={"created_at": "2000-01-01"})
        self.start_proven()
        other = self.database.connect()
        self.addCleanup(other.close)
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT txid_current()")  # as long as it is open, nothing proves the following rows
            self.outbox.insert(3)
            output = self.walrelay(*self.flags, "--older-rows-published", "--json")
            plan = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
            self.assertEqual((plan["rows"], plan["unproven_rows"], plan["applied"]), (2, 1, False))
            self.assertEqual(self.rows(), [1, 2, 3])
            self.walrelay(*self.flags, "--older-rows-published", "--apply")
            self.assertEqual(self.rows(), [3])

    def test_without_a_relay(self) -> None:
        relay = self.start_proven()
        self.outbox.insert(1)
        self.settle()
        relay.stop()
        self.assertIn("WR-5007", self.walrelay(*self.flags, "--apply", code=69))
        self.assertEqual(self.rows(), [1])

    def test_mode_is_required(self) -> None:
        self.new_relay()
        self.assertIn('prune.mode is "off"', self.walrelay("prune", code=64))


if __name__ == "__main__":
    main()
