#!/usr/bin/python3
"""The link to Postgres breaks or is half-open: nothing is lost, reordered or repeated."""

import random
import time
from collections.abc import Callable
from typing import Any

from walrelay_test.linked import PostgresLinkTest
from walrelay_test.tcp_proxy import TcpProxy
from walrelay_test.testcase import IntegrationTest, main


class BrokenLinkTest(PostgresLinkTest):
    def expect_nothing_repeated(self, seed: int, breaks: int, break_link: Callable[[], object]) -> None:
        relay = self.start_relay()
        with self.load(seed, rate=200) as workload:
            for number in range(1, breaks + 1):
                self.expect_progress(relay, workload)
                break_link()
                relay.wait_for_log("streaming", count=number + 1)
        self.expect_no_problem()
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 1)

    def test_closed_connections_repeat_nothing(self) -> None:
        self.expect_nothing_repeated(401, 5, self.link.cut)

    def test_reset_connections_repeat_nothing(self) -> None:
        self.expect_nothing_repeated(402, 5, lambda: self.link.cut(reset=True))

    def test_connections_reset_after_any_number_of_bytes_lose_nothing(self) -> None:
        chance = random.Random(403)
        relay = self.start_relay()
        with self.load(seed=403, rate=200):
            relay.wait_ready()
            for _ in range(25):
                accepted = self.link.accepted
                self.link.cut_after(chance.randint(1, 12_000))
                relay.wait_until(lambda: self.link.accepted > accepted, 60, "another connection")
            self.link.heal()
        self.expect_no_problem()

    def test_temporarily_refused_connections_lose_nothing(self) -> None:
        relay = self.start_relay()
        with self.load(seed=404, rate=200) as workload:
            self.expect_progress(relay, workload)
            self.link.refuse()
            self.link.cut()
            relay.wait_for_state("degraded")
            relay.wait_for_log("disconnected", code="WR-2001", count=3)
            self.assertIn("WR-2001", relay.get("/readyz")[1])
            self.link.accept()
            self.expect_progress(relay, workload)
        self.expect_no_problem()

    def test_flapping_link_loses_nothing(self) -> None:
        chance = random.Random(405)
        relay = self.start_relay()
        with self.load(seed=405, rate=200) as workload:
            for _ in range(30):
                self.link.refuse()
                self.link.cut(reset=True)
                time.sleep(chance.uniform(0, 0.2))
                self.link.accept()
                time.sleep(chance.uniform(0, 0.4))
            self.expect_progress(relay, workload)
        self.expect_no_problem()


class CutTransactionTest(IntegrationTest):
    """A transaction of 50,000 rows, which is cut five times."""

    ROWS = 50_000

    def insert(self, cursor: Any, first: int, last: int) -> None:
        cursor.execute("INSERT INTO outbox SELECT i, %s, 'k', 'made', '{}' FROM generate_series(%s, %s) i",
                       (self.name, first, last))

    def expect_published_once(self, write: Callable[[], object]) -> None:
        with TcpProxy(self.postgres.port) as link:
            link.throttle(1_500_000)
            relay = self.start_relay({
                "source.dsn": f"host=127.0.0.1 port={link.port} user=postgres dbname={self.name}",
                "pipeline.max_in_flight_records": 500})
            relay.wait_ready()
            write()
            for cuts in range(1, 6):
                relay.wait_until(lambda: (relay.metric("walrelay_events_published_total") or 0) > cuts * 5_000, 60,
                                 "the middle of the transaction")
                link.cut(reset=True)
                relay.wait_for_log("streaming", count=cuts + 1)
                self.assertLess(relay.metric("walrelay_events_published_total"), self.ROWS)
            self.settle(120)
        self.assertEqual(self.ids(), list(range(1, self.ROWS + 1)))
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 1)

    def test_it_is_published_once(self) -> None:
        def write() -> None:
            with self.database.transaction() as cursor:
                self.insert(cursor, 1, self.ROWS)
        self.expect_published_once(write)

    def test_it_is_published_once_if_the_publication_got_a_table_meanwhile(self) -> None:
        """Whether the server sends the rows of that table depends on what it has sent before."""
        def write() -> None:
            self.sql("CREATE TABLE other (id int)")
            with self.database.transaction() as cursor:
                self.insert(cursor, 1, 2_000)
                self.sql("ALTER PUBLICATION walrelay ADD TABLE other")
                cursor.execute("INSERT INTO other SELECT generate_series(1, 2000)")
                self.insert(cursor, 2_001, self.ROWS)
        self.expect_published_once(write)


class HalfOpenLinkTest(PostgresLinkTest):
    def expect_noticed(self, seed: int, code: str, toward: str) -> None:
        """Holds traffic past all timeouts; the held bytes then arrive on connections that are already closed."""
        relay = self.start_relay()
        relay.wait_ready()
        with self.load(seed, rate=200) as workload:
            relay.wait_until(lambda: workload.committed > 100, 60, "transactions")
            self.link.hold(toward)
            relay.wait_for_log("disconnected", code=code)
            relay.wait_for_state("degraded")
            self.link.heal()
            relay.wait_for_log("streaming", count=2)
        self.expect_no_problem()
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 1)

    def test_link_dead_in_both_directions_is_detected(self) -> None:
        self.expect_noticed(411, "WR-2006", "both")

    def test_link_dead_from_the_server_is_detected(self) -> None:
        self.expect_noticed(412, "WR-2006", "client")

    def test_link_dead_toward_the_server_is_closed_by_the_server(self) -> None:
        # The server's rows still arrive, until wal_sender_timeout expires without a reply.
        self.expect_noticed(413, "WR-2005", "server")

    def test_slot_is_released_while_the_link_is_dead(self) -> None:
        """The server closes its side of a dead connection after wal_sender_timeout."""
        relay = self.start_relay()
        relay.wait_ready()
        walsender = self.database.walsender(self.slot)
        self.link.hold()
        relay.wait_until(lambda: self.database.slot(self.slot, "active_pid") != walsender, 30,
                         "the server to close the connection")
        self.link.heal()
        relay.wait_ready()


if __name__ == "__main__":
    main()
