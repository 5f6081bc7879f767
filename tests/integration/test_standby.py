#!/usr/bin/python3
"""Two relays on one slot: one publishes, the other waits as standby and takes over."""

from walrelay_test.testcase import RelayProcess, main
from walrelay_test.verified import VerifiedTest


class TwoRelays(VerifiedTest):
    def options(self) -> dict[str, object]:
        return super().options() | {"source.wal_sender_timeout": "2s", "source.on_gap": "exit"}

    def setUp(self) -> None:
        super().setUp()
        self.first = self.start_relay()
        self.first.wait_ready()
        self.second = self.start_relay()
        self.second.wait_for_state("standby")

    def expect_takeover(self, by: RelayProcess, seconds: float = 30) -> None:
        """Waits until `by` has published an event as the holder of the slot."""
        by.wait_ready(seconds)
        published = by.metric("walrelay_events_published_total") or 0
        by.wait_until(lambda: (by.metric("walrelay_events_published_total") or 0) > published, seconds,
                      "the relay to publish after the takeover")

    def take_over_unseen(self) -> None:
        """The second relay publishes and is stopped in order while the first one is suspended."""
        self.expect_takeover(self.first)
        self.first.pause()
        read = self.database.log_end()  # the most that the first relay can have read
        self.expect_takeover(self.second)
        self.second.wait_until(lambda: self.database.confirmed(self.slot) > read, 30,
                               "a confirmed position that the first relay cannot know")
        self.assertEqual(self.second.stop(), 0)
        self.first.resume()


class StandbyTest(TwoRelays):
    def test_standby_is_ready_and_publishes_nothing(self) -> None:
        with self.load(seed=60, rate=100) as workload:
            self.first.wait_until(lambda: workload.committed > 50, 60, "transactions")
            self.assertEqual(self.second.get("/readyz"), (200, "ready: standby\n"))
            self.assertIsNone(self.second.metric("walrelay_events_received_total"))
        self.assertEqual(self.expect_no_problem().duplicates, 0)

    def test_standby_takes_over_from_a_killed_holder(self) -> None:
        with self.load(seed=61, rate=200):
            for holder, other in [(self.first, self.second), (self.second, self.first)] * 3:
                self.expect_takeover(holder)
                holder.kill()
                self.expect_takeover(other)
                holder.start()
                holder.wait_for_state("standby")
        self.expect_no_problem()

    def test_standby_takes_over_from_a_stopped_holder_without_a_duplicate(self) -> None:
        with self.load(seed=62, rate=200):
            self.expect_takeover(self.first)
            self.assertEqual(self.first.stop(), 0)
            self.expect_takeover(self.second)
        self.assertEqual(self.expect_no_problem().duplicates, 0)

    def test_standby_takes_over_from_a_suspended_holder_which_becomes_the_standby(self) -> None:
        with self.load(seed=63, rate=200):
            self.expect_takeover(self.first)
            self.first.pause()
            self.expect_takeover(self.second)
            self.first.resume()
            self.first.wait_for_state("standby")
            self.second.kill()
            self.expect_takeover(self.first)
        self.expect_no_problem()

    def test_holder_that_saw_no_other_continues_from_its_record(self) -> None:
        with self.load(seed=64, rate=200):
            self.take_over_unseen()
            self.expect_takeover(self.first)
        self.expect_no_problem()
        self.assertEqual(self.first.logs("gap"), [])


class StandbyWithoutRecordTest(TwoRelays):
    def options(self) -> dict[str, object]:
        return super().options() | {"pipeline.progress": "off"}

    def test_holder_that_saw_no_other_reports_a_gap(self) -> None:
        with self.load(seed=65, rate=200):
            self.take_over_unseen()
            # Nothing distinguishes the slot from one that was advanced.
            self.assertEqual(self.first.wait_exit(), 4)
            self.assertEqual(self.first.wait_for_log("failed")["code"], "WR-2106")
            self.first.start()
            self.expect_takeover(self.first)
        self.expect_no_problem()


if __name__ == "__main__":
    main()
