#!/usr/bin/python3
"""A confirmed position becomes durable later: the position that survives a crash, and the resulting duplicates.

Here the relay is killed with the server. (A relay that survives remembers its position: test_server_restarts.)
"""

from typing import Literal

from walrelay_test.pgoutput import parse_lsn
from walrelay_test.testcase import main, wait_until
from walrelay_test.verified import VerifiedTest

Stop = Literal["fast", "immediate", "kill"]


class ServerStopTest(VerifiedTest):
    """Load, then quiet, then a stop of both; checks the lost part of the slot's position and the duplicates.

    With a progress record nothing is repeated: test_progress.
    """

    def options(self) -> dict[str, object]:
        return super().options() | {"pipeline.progress": "off"}

    def publish_some(self, seed: int) -> None:
        """Runs load; afterwards everything is acknowledged and confirmed, and nothing is in flight."""
        if not self.relays:
            self.start_relay()
        with self.load(seed, rate=300) as workload:
            self.relays[0].wait_until(lambda: workload.committed > 300, 60, "transactions")
        self.settle()

    def stop_both(self, how: Stop) -> tuple[int, int]:
        """The confirmed position before the stop, and the slot's position after the server has restarted."""
        self.relays[0].kill()
        before = self.database.confirmed(self.slot)
        if how == "kill":
            self.postgres.kill()
        else:
            self.postgres.stop(how)
        self.postgres.start()
        return before, self.database.confirmed(self.slot)

    def stop_both_until_something_is_forgotten(self, seed: int, how: Stop) -> int:
        """Returns the slot's position afterwards.

        The server may have saved the slot by itself just before: it logs a snapshot every 15 s, and saves a
        slot when its client has confirmed one.
        """
        for attempt in range(5):
            self.publish_some(seed + attempt)
            before, after = self.stop_both(how)
            self.assertLessEqual(after, before)
            if after < before:
                return after
            self.relays[0].start()
        self.fail("the slot never lost a confirmed position")

    def save_slot(self) -> int:
        """Returns a position that is on disk; nothing is in flight.

        A checkpoint alone does not write a slot whose client has confirmed more. But it logs a snapshot,
        and once the restart position has followed it, the slot has been saved.
        """
        durable = self.database.confirmed(self.slot)

        def saved() -> bool:
            self.sql("CHECKPOINT")
            return parse_lsn(self.database.slot(self.slot, "restart_lsn")) >= durable
        wait_until(saved, 60, "the slot to be saved")
        return durable

    def expect_exactly_the_forgotten_repeated(self, remembered: int) -> int:
        self.relays[0].start()
        verdict = self.expect_no_problem()
        forgotten = {each.id for each in self.ground_truth.events() if each.end_lsn > remembered}
        self.assertEqual({each.id for each in verdict.repeated}, forgotten)
        self.assertEqual(verdict.duplicates, len(forgotten), "once each")
        return verdict.duplicates


class CrashTest(ServerStopTest):
    postgres_options = {}

    def expect_forgotten_back_to_what_was_saved(self, seed: int, how: Stop) -> None:
        self.publish_some(seed)
        durable = self.save_slot()
        after = self.stop_both_until_something_is_forgotten(seed + 1, how)
        self.assertGreaterEqual(after, durable)
        self.assertGreater(self.expect_exactly_the_forgotten_repeated(after), 0)

    def test_immediate_stop_loses_unsaved_confirmed_positions(self) -> None:
        self.expect_forgotten_back_to_what_was_saved(4510, "immediate")

    def test_killed_postmaster_loses_unsaved_confirmed_positions(self) -> None:
        self.expect_forgotten_back_to_what_was_saved(4530, "kill")

    def test_saved_position_survives_an_immediate_stop(self) -> None:
        self.publish_some(4550)
        durable = self.save_slot()
        _, after = self.stop_both("immediate")
        self.assertGreaterEqual(after, durable)
        self.assertEqual(self.expect_exactly_the_forgotten_repeated(after), 0)


class RestartOf15Test(ServerStopTest):
    postgres_options = {"major": 15}

    def test_clean_restart_may_lose_confirmed_positions(self) -> None:
        self.publish_some(456)
        before, after = self.stop_both("fast")
        self.assertLessEqual(after, before)
        self.expect_exactly_the_forgotten_repeated(after)


class RestartOf18Test(ServerStopTest):
    postgres_options = {"major": 18}

    def test_clean_restart_keeps_the_confirmed_position(self) -> None:
        self.publish_some(457)
        before, after = self.stop_both("fast")
        self.assertEqual(after, before)
        self.assertEqual(self.expect_exactly_the_forgotten_repeated(after), 0)

    def test_immediate_stop_still_loses_confirmed_positions(self) -> None:
        after = self.stop_both_until_something_is_forgotten(4580, "immediate")
        self.expect_exactly_the_forgotten_repeated(after)


if __name__ == "__main__":
    main()
