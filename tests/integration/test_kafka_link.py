#!/usr/bin/python3
"""The link to Kafka breaks or is half-open: nothing is lost, reordered or duplicated.

The producer retries requests without a response, and the broker deduplicates the batches by their sequence
numbers: none of these faults requires a new producer.
"""

import random
import time
from collections.abc import Callable

from walrelay_test.linked import KafkaLinkTest
from walrelay_test.testcase import RelayProcess, main
from walrelay_test.workload import Workload


class LinkTest(KafkaLinkTest):
    def expect_nothing_repeated(self, seed: int, disturb: Callable[[RelayProcess, Workload], object],
                                options: dict[str, object] | None = None) -> None:
        relay = self.start_relay(options)
        with self.load(seed, rate=200) as workload:
            self.expect_progress(relay, workload)
            disturb(relay, workload)
            self.expect_progress(relay, workload)
        self.assertEqual(self.expect_no_problem(seconds=120).duplicates, 0)
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 1)
        self.assertEqual(relay.logs("disconnected"), [])

    def cut_ten_times(self, relay: RelayProcess, *, reset: bool) -> None:
        for _ in range(10):
            accepted = self.links[1].accepted
            self.links[1].cut(reset=reset)
            relay.wait_until(lambda: self.links[1].accepted > accepted, 60, "another connection")

    def test_closed_connections_repeat_nothing(self) -> None:
        self.expect_nothing_repeated(431, lambda relay, _: self.cut_ten_times(relay, reset=False))

    def test_reset_connections_repeat_nothing(self) -> None:
        self.expect_nothing_repeated(432, lambda relay, _: self.cut_ten_times(relay, reset=True))

    def test_connections_reset_after_any_number_of_bytes_repeat_nothing(self) -> None:
        chance = random.Random(433)

        def disturb(relay: RelayProcess, _: Workload) -> None:
            for _ in range(15):
                accepted = self.links[1].accepted
                self.links[1].cut_after(chance.randint(1, 5_000))
                relay.wait_until(lambda: self.links[1].accepted > accepted, 60, "another connection")
            self.links.heal()
        self.expect_nothing_repeated(433, disturb)

    def test_temporarily_refused_connections_repeat_nothing(self) -> None:
        def disturb(relay: RelayProcess, _: Workload) -> None:
            self.links[1].refuse()
            self.links[1].cut()
            relay.wait_for_state("degraded")
            self.assertIn("WR-4001", relay.get("/readyz")[1])
            self.links[1].accept()
        self.expect_nothing_repeated(434, disturb)

    def test_flapping_link_repeats_nothing(self) -> None:
        chance = random.Random(435)

        def disturb(_: RelayProcess, __: Workload) -> None:
            for _ in range(30):
                self.links[1].refuse()
                self.links[1].cut(reset=True)
                time.sleep(chance.uniform(0, 0.2))
                self.links[1].accept()
                time.sleep(chance.uniform(0, 0.4))
        self.expect_nothing_repeated(435, disturb)

    def hold(self, relay: RelayProcess, toward: str) -> None:
        """Holds traffic until the relay reports that acknowledgements are missing, then heals the link."""
        self.links[1].hold(toward)
        relay.wait_for_state("degraded")
        self.assertIn("WR-4008", relay.get("/readyz")[1])
        before = self.database.confirmed(self.slot)
        time.sleep(1)  # nothing may be confirmed in this time
        self.assertEqual(self.database.confirmed(self.slot), before)
        self.links.heal()

    def test_link_half_open_in_both_directions_repeats_nothing(self) -> None:
        self.expect_nothing_repeated(436, lambda relay, _: self.hold(relay, "both"))

    def test_link_half_open_toward_the_broker_repeats_nothing(self) -> None:
        self.expect_nothing_repeated(437, lambda relay, _: self.hold(relay, "server"))

    def test_link_half_open_from_a_broker_that_still_appends_repeats_nothing(self) -> None:
        self.expect_nothing_repeated(438, lambda relay, _: self.hold(relay, "client"))

    def test_requests_that_time_out_repeat_nothing(self) -> None:
        def disturb(relay: RelayProcess, _: Workload) -> None:
            accepted = self.links[1].accepted
            self.links[1].hold("client")
            relay.wait_until(lambda: self.links[1].accepted > accepted, 60, "another connection")
            self.links.heal()
        self.expect_nothing_repeated(439, disturb, {"kafka.librdkafka.socket.timeout.ms": "3000"})


if __name__ == "__main__":
    main()
