#!/usr/bin/python3
"""SIGTERM: records in flight are completed and confirmed; a second signal exits immediately."""

import signal
import subprocess
import time

from walrelay_dev.patience import patient
from walrelay_test.servers import test_folder
from walrelay_test.testcase import NO_BROKER, IntegrationTest, main
from walrelay_test.verified import VerifiedTest

EX_TEMPFAIL = 75


class StopUnderLoadTest(VerifiedTest):
    timestamp_type = "CreateTime"

    def test_stops_under_load_leave_no_duplicate(self) -> None:
        relay = self.start_relay()
        with self.load(seed=1) as workload:
            for _ in range(5):
                goal = workload.committed + 200
                relay.wait_until(lambda: workload.committed >= goal, 60, "more transactions")
                self.assertEqual(relay.stop(), 0)
                relay.start()
        self.assertEqual(self.expect_no_problem().duplicates, 0)


class StopTest(IntegrationTest):
    kafka_options = {}

    def pause_kafka(self) -> None:
        self.kafka.pause_node(1)
        self.addCleanup(self.kafka.resume_node, 1)

    def start_and_fill_window(self, **options: object) -> None:
        """Leaves rows in flight to a broker that does not respond."""
        self.relay = self.start_relay(options)
        self.outbox.insert(1)
        self.settle()
        self.pause_kafka()
        self.outbox.insert(2, 3, 4)
        self.relay.wait_until(lambda: self.relay.metric("walrelay_inflight_records") == 3, 60,
                              "rows in flight")

    def test_stop_waits_for_records_in_flight(self) -> None:
        self.start_and_fill_window()
        self.relay.terminate()
        self.relay.wait_for_log("draining")
        self.kafka.resume_node(1)
        self.assertEqual(self.relay.wait_exit(), 0)
        self.assertEqual(self.relay.wait_for_log("stopped")["in_flight"], 0)
        self.relay.start()
        self.expect_published(1, 2, 3, 4)

    def test_second_signal_exits_immediately_and_confirms_nothing(self) -> None:
        self.start_and_fill_window()
        before = self.database.confirmed(self.slot)
        self.relay.terminate()
        self.relay.wait_for_log("draining")
        started = time.monotonic()
        self.relay.signal(signal.SIGINT)
        self.assertEqual(self.relay.wait_exit(), EX_TEMPFAIL)
        self.assertLess(time.monotonic() - started, patient(20), "less than drain_timeout")
        self.assertEqual(self.database.confirmed(self.slot), before)

    def test_stop_abandons_records_in_flight_after_the_drain_timeout(self) -> None:
        self.start_and_fill_window(**{"pipeline.drain_timeout": "1s"})
        before = self.database.confirmed(self.slot)
        self.assertEqual(self.relay.stop(seconds=10), 0)
        self.assertEqual(self.relay.wait_for_log("drain_timeout")["code"], "WR-5003")
        self.assertEqual(self.database.confirmed(self.slot), before)
        self.kafka.resume_node(1)
        self.relay.start()
        self.settle()
        self.assertEqual(sorted(set(self.ids())), [1, 2, 3, 4])

    def test_stop_in_the_middle_of_a_transaction_finishes_it(self) -> None:
        self.sql("INSERT INTO outbox SELECT i, %s, 'k', 'made', '{}' FROM generate_series(1, 50000) i",
                 self.name)
        relay = self.start_relay({"pipeline.max_in_flight_records": 100})
        relay.wait_until(lambda: (relay.metric("walrelay_events_received_total") or 0) > 1000, 60,
                         "the middle of the transaction")
        self.assertEqual(relay.stop(), 0)
        self.assertEqual(len(self.ids()), 50_000)
        self.outbox.insert(50_001)
        relay.start()
        self.expect_published(*range(1, 50_002))

    def test_resolver_that_does_not_answer_does_not_delay_the_end(self) -> None:
        """A library that is loaded before libc's resolver waits for ten minutes."""
        source = test_folder() / "resolver.c"
        source.write_text("#include <unistd.h>\nint getaddrinfo() { sleep(600); return 0; }\n")
        library = source.with_suffix(".so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
        options = {"source.dsn": "host=postgres.example dbname=x user=x", "source.allow_insecure": True,
                   "source.connect_timeout": "60s"} | NO_BROKER
        relay = self.start_relay(options, environment={"LD_PRELOAD": str(library)})
        relay.wait_for_log("listening")
        self.assertEqual(relay.stop(), 0)

    def test_stop_is_quick_while_kafka_is_unreachable_and_nothing_is_in_flight(self) -> None:
        relay = self.start_relay()
        self.outbox.insert(1)
        self.settle()
        self.pause_kafka()
        self.assertEqual(relay.stop(seconds=20), 0)  # less than drain_timeout

    def test_stop_before_kafka_was_ever_reached_ends_after_the_drain_timeout(self) -> None:
        relay = self.start_relay(NO_BROKER | {"pipeline.drain_timeout": "1s"})
        self.outbox.insert(1)
        relay.wait_for_state("degraded")
        self.assertEqual(relay.stop(), 0)
        self.assertIn("0 records are still in flight; publishing waits for Kafka to return the metadata",
                      relay.wait_for_log("drain_timeout")["msg"])

    def test_stop_of_a_standby_is_quick(self) -> None:
        self.start_relay().wait_ready()
        standby = self.start_relay()
        standby.wait_for_state("standby")
        self.assertEqual(standby.stop(seconds=20), 0)  # less than drain_timeout

    def test_stop_while_connecting_is_quick(self) -> None:
        # No server listens on this port.
        relay = self.start_relay({"source.dsn": "host=127.0.0.1 port=1 dbname=x user=x"})
        relay.wait_for_log("disconnected", code="WR-2001")
        self.assertEqual(relay.stop(seconds=20), 0)  # less than drain_timeout


if __name__ == "__main__":
    main()
