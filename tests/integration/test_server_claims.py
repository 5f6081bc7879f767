#!/usr/bin/python3
"""The simulator's assumptions about Postgres, checked against Postgres itself, without a relay.

Each test checks a rule of tests/sim/wal_sender.cc or sim_postgres.cc on which the relay's behaviour depends.
"""

import threading
import time

from walrelay_dev.errors import ServerError
from walrelay_test.replication_client import Change, Ended, Keepalive, ReplicationClient
from walrelay_test.testcase import IntegrationTest, for_each_major, main, wait_until

FAR = 1 << 30
MAJORS = (15, 18)


class ServerClaims:
    """Claims about one major, each on its own cluster."""

    def connect(self, options: str = "") -> ReplicationClient:
        return self.enterContext(ReplicationClient(self.postgres, self.name, options=options))

    def reconnect(self, old: ReplicationClient, position: int = 0) -> ReplicationClient:
        """Opens another connection once the server has noticed that the old one is closed."""
        old.close()
        wait_until(lambda: not self.database.slot(self.slot, "active"), 60, "a free slot")
        return self.connect().start(self.slot, position)

    def expect_rows(self, client: ReplicationClient, count: int) -> list[Change]:
        changes = client.changes(count)
        self.assertEqual([each.kind for each in changes].count("I"), count)
        return changes

    def one_row(self, client: ReplicationClient, number: int) -> tuple[int, int]:
        """Inserts a row, receives it, and returns the start and the end of its commit record."""
        self.outbox.insert(number)
        commit = next(each for each in self.expect_rows(client, 1) if each.kind == "C")
        return commit.lsn(2), commit.lsn(10)


@for_each_major(IntegrationTest, MAJORS)
class PositionClaims(ServerClaims):
    def test_transaction_is_resent_if_its_commit_lsn_is_confirmed_but_not_if_its_end_lsn_is(self) -> None:
        client = self.connect().start(self.slot)
        start, end = self.one_row(client, 1)
        client.confirm(start)
        client = self.reconnect(client)
        self.expect_rows(client, 1)
        client.confirm(end)
        self.expect_rows(self.reconnect(client), 0)

    def test_confirmed_position_never_goes_back(self) -> None:
        client = self.connect().start(self.slot)
        _, first = self.one_row(client, 1)
        _, second = self.one_row(client, 2)
        client.confirm(second)
        wait_until(lambda: self.database.confirmed(self.slot) == second, 60, "the confirmation")
        client.confirm(first, reply=True)
        while not isinstance(client.receive(), Keepalive):
            pass
        self.assertEqual(self.database.confirmed(self.slot), second)
        self.expect_rows(self.reconnect(client, first), 0)

    def test_later_start_position_skips_earlier_rows_and_confirms_nothing(self) -> None:
        client = self.connect().start(self.slot)
        before = self.database.confirmed(self.slot)
        _, first = self.one_row(client, 1)
        self.one_row(client, 2)
        client = self.reconnect(client, first)
        self.expect_rows(client, 1)
        self.assertEqual(self.database.confirmed(self.slot), before)
        self.expect_rows(self.reconnect(client), 2)

    def test_start_position_beyond_the_wal_is_accepted_and_skips_silently(self) -> None:
        client = self.connect().start(self.slot, self.database.log_end() + FAR)
        self.outbox.insert(1)
        self.expect_rows(client, 0)
        self.expect_rows(self.reconnect(client), 1)

    def test_confirmation_beyond_the_wal_is_accepted(self) -> None:
        client = self.connect().start(self.slot)
        end = self.database.log_end()
        client.confirm(end + FAR)
        wait_until(lambda: self.database.confirmed(self.slot) == end + FAR, 60, "the confirmation")
        self.outbox.insert(1)
        self.expect_rows(self.reconnect(client), 0)

    def test_slot_in_use_is_refused(self) -> None:
        self.connect().start(self.slot)
        with self.assertRaisesRegex(ServerError, "55006"):
            self.connect().start(self.slot)


@for_each_major(IntegrationTest, MAJORS)
class KeepaliveClaims(ServerClaims):
    def next_keepalive(self, client: ReplicationClient, seconds: float = 60) -> Keepalive | None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if isinstance(message := client.receive(end - time.monotonic()), Keepalive):
                return message
        return None

    def test_wal_of_other_tables_is_reported_by_keepalives(self) -> None:
        client = self.connect().start(self.slot)
        self.sql("CREATE TABLE other AS SELECT generate_series(1, 1000)")
        end = self.database.log_end()
        wait_until(lambda: self.next_keepalive(client).wal_end >= end, 60, "a keepalive with a later position")

    def test_keepalive_within_a_transaction_reports_the_start_of_its_commit(self) -> None:
        self.sql("INSERT INTO outbox SELECT i, %s, 'k', 'made', to_json(repeat('x', 500)) "
                 "FROM generate_series(1, 60000) i", self.name)
        client = self.connect("-c wal_sender_timeout=4s").start(self.slot)
        begin = next(each for each in iter(client.receive, None)
                     if isinstance(each, Change) and each.kind == "B")
        time.sleep(2.4)  # the server requests a reply after half the timeout, while the client does not read
        client.reporting = True
        inside: list[int] = []
        while not isinstance(message := client.receive(), Change) or message.kind != "C":
            if isinstance(message, Keepalive):
                inside.append(message.wal_end)
        self.assertEqual(set(inside), {begin.lsn(1)})
        self.assertEqual(message.lsn(2), begin.lsn(1))
        self.assertGreater(message.lsn(10), begin.lsn(1))

    def test_silent_client_is_pinged_after_half_the_timeout_and_disconnected_after_all_of_it(self) -> None:
        client = self.connect("-c wal_sender_timeout=2s").start(self.slot)
        started = time.monotonic()
        asked = None
        with self.assertRaises(Ended):
            while True:
                message = client.receive()
                if isinstance(message, Keepalive) and message.reply_requested and asked is None:
                    asked = time.monotonic() - started
        self.assertIsNotNone(asked)
        self.assertGreaterEqual(asked, 0.9)
        self.assertGreaterEqual(time.monotonic() - started, 1.9)

    def test_client_that_sends_status_updates_without_reading_is_not_disconnected(self) -> None:
        self.sql("INSERT INTO outbox SELECT i, %s, 'k', 'made', to_json(repeat('x', 500)) "
                 "FROM generate_series(1, 60000) i", self.name)
        client = self.connect("-c wal_sender_timeout=2s").start(self.slot)
        for _ in range(10):
            time.sleep(0.5)
            client.confirm(0)
        client.reporting = True
        self.expect_rows(client, 60_000)


@for_each_major(IntegrationTest, MAJORS)
class ShutdownClaims(ServerClaims):
    def stop_server(self) -> threading.Thread:
        thread = threading.Thread(target=self.postgres.stop, args=("fast",), daemon=True)
        thread.start()
        return thread

    def test_shutdown_waits_until_exactly_the_sent_wal_is_confirmed(self) -> None:
        client = self.connect().start(self.slot)
        _, end = self.one_row(client, 1)
        stopping = self.stop_server()
        asked = wait_until(lambda: self.asked_for_reply(client), 60, "a keepalive that requests a reply")
        client.confirm(end - 1, asked.wal_end)
        stopping.join(2)  # long enough for a server that would stop
        self.assertTrue(stopping.is_alive(), "the server must not stop yet")
        # The last WAL is written by now; the server requests its confirmation and stops after the reply.
        with self.assertRaises(Ended):
            while True:
                if isinstance(message := client.receive(), Keepalive):
                    client.confirm(message.wal_end)
        stopping.join(60)
        self.assertFalse(stopping.is_alive())

    def test_shutdown_continues_when_the_client_disconnects(self) -> None:
        client = self.connect().start(self.slot)
        self.one_row(client, 1)
        stopping = self.stop_server()
        wait_until(lambda: self.asked_for_reply(client), 60, "a keepalive that requests a reply")
        client.close()
        stopping.join(60)
        self.assertFalse(stopping.is_alive())

    def asked_for_reply(self, client: ReplicationClient) -> Keepalive | None:
        message = client.receive(1)
        return message if isinstance(message, Keepalive) and message.reply_requested else None


if __name__ == "__main__":
    main()
