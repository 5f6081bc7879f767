#!/usr/bin/python3
"""SIGKILL of the relay at random moments: no event is lost, reordered, invented or confirmed too early."""

import random
import time
from collections import Counter

from walrelay_test.relay_process import RelayProcess
from walrelay_test.testcase import main
from walrelay_test.verified import VerifiedTest


class KillTest(VerifiedTest):
    kafka_options = {}

    def test_fifty_kills_under_load_lose_nothing(self) -> None:
        chance = random.Random(50)
        relay = self.start_relay()
        with self.load(seed=50, rate=250):
            for number in range(50):
                # Every third kill happens while a broker is suspended, with records in flight.
                paused = number % 3 == 0
                if paused:
                    self.kafka.pause_node(1)
                time.sleep(chance.uniform(0, 0.6))  # the random moment
                relay.kill()
                if paused:
                    self.kafka.resume_node(1)
                relay.start()
        self.expect_once_per_start(relay)

    def test_kills_during_a_backlog_lose_nothing(self) -> None:
        chance = random.Random(51)
        with self.load(seed=51) as workload:
            while workload.committed < 4000:
                time.sleep(0.1)
        relay = self.start_relay()
        with self.load(seed=52, rate=50):
            for _ in range(15):
                time.sleep(chance.uniform(0.05, 0.25))
                relay.kill()
                relay.start()
        self.expect_once_per_start(relay)

    def expect_once_per_start(self, relay: RelayProcess) -> None:
        """Checks the verdict, and that each start of the relay published an event at most once.

        How many events a kill repeats depends on how far the process got, and thus on the machine; the tests of chaos
        limit their number.
        """
        for event, times in Counter(self.expect_no_problem().repeated).items():
            self.assertLess(times, relay.starts, f"{event} was repeated {times} times")


if __name__ == "__main__":
    main()
