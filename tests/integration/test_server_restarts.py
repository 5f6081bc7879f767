#!/usr/bin/python3
"""Postgres restarts while the relay is running: the relay continues by itself and repeats nothing.

The server sends the transaction that was interrupted again, as a whole; the relay continues after the row that it sent
last.
"""

from collections.abc import Callable

from walrelay_test.testcase import main
from walrelay_test.verified import VerifiedTest


class ServerRestartTest(VerifiedTest):
    postgres_options = {}

    def expect_nothing_repeated(self, seed: int, disturb: Callable[[], object]) -> None:
        """Calls `disturb` three times under load; the relay must be disconnected each time."""
        relay = self.start_relay()
        relay.wait_ready()
        with self.load(seed, rate=300) as workload:
            for number in range(1, 4):
                goal = workload.committed + 150
                relay.wait_until(lambda: workload.committed >= goal, 60, "more transactions")
                disturb()
                relay.wait_for_log("streaming", count=number + 1)
        self.assertEqual(self.expect_no_problem().repeated, [])
        self.assertTrue(relay.running())
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 1)

    def test_fast_restart_repeats_nothing(self) -> None:
        self.expect_nothing_repeated(71, lambda: self.postgres.restart("fast"))

    def test_immediate_restart_repeats_nothing(self) -> None:
        self.expect_nothing_repeated(72, lambda: self.postgres.restart("immediate"))

    def test_kill_of_the_postmaster_repeats_nothing(self) -> None:
        def kill_and_start() -> None:
            self.postgres.kill()
            self.postgres.start()
        self.expect_nothing_repeated(73, kill_and_start)

    def test_termination_of_the_walsender_repeats_nothing(self) -> None:
        self.expect_nothing_repeated(74, lambda: self.sql(
            "SELECT pg_terminate_backend(%s)", self.database.walsender(self.slot)))

    def test_restart_while_idle_repeats_nothing(self) -> None:
        with self.load(seed=75, rate=300) as workload:
            relay = self.start_relay()
            relay.wait_until(lambda: workload.committed > 100, 60, "transactions")
        self.settle()
        for mode in ("fast", "immediate"):
            self.postgres.restart(mode)
            self.settle()
        self.assertEqual(self.expect_no_problem().duplicates, 0)


if __name__ == "__main__":
    main()
