#!/usr/bin/python3
"""Tests of the tap on the connection to Postgres, with synthetic bytes: its records, and the problems it finds."""

import struct
import unittest

from walrelay_test.replication_tap import ReplicationLog, ReplicationRecord, ReplicationTap


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">I", len(body) + 4) + body


def status(flushed: int, written: int | None = None, applied: int | None = None) -> bytes:
    return message(b"d", b"r" + struct.pack(">QQQqB", written or flushed, flushed,
                                            flushed if applied is None else applied, 0, 0))


def keepalive(lsn: int) -> bytes:
    return message(b"d", b"k" + struct.pack(">QqB", lsn, 0, 0))


def data(payload: bytes) -> bytes:
    return message(b"d", b"w" + struct.pack(">QQq", 0, 0, 0) + payload)


def transaction(commit_lsn: int, end_lsn: int) -> bytes:
    return (data(b"B" + struct.pack(">QqI", commit_lsn, 0, 1)) + data(b"I" + bytes(20))
            + data(b"C\0" + struct.pack(">QQq", commit_lsn, end_lsn, 0)))


class ReplicationTapTest(unittest.TestCase):
    def setUp(self) -> None:
        self.record = ReplicationRecord()
        self.tap = self.connect()

    def connect(self, position: str = "0/64") -> ReplicationTap:
        """A connection that requests encryption, is declined, and streams from `position`."""
        tap = self.record.tap()
        tap.to_server(struct.pack(">II", 8, 80877103))
        tap.to_client(b"N")
        tap.to_server(struct.pack(">II", 13, 196608) + b"user\0")
        tap.to_client(message(b"R", bytes(4)) + message(b"Z", b"I"))
        tap.to_server(message(b"Q", f"START_REPLICATION SLOT s LOGICAL {position} (a 'b')\0".encode()))
        tap.to_client(message(b"W", bytes(3)))
        return tap

    def expect(self, *problems: str) -> ReplicationLog:
        log = self.record.take()
        self.assertEqual(log.problems, list(problems))
        return log

    def test_bytes_are_forwarded_unchanged(self) -> None:
        self.assertEqual(self.tap.to_client(transaction(200, 210)), transaction(200, 210))
        self.assertEqual(self.tap.to_server(status(210)), status(210))

    def test_start_keepalive_and_end_of_transaction_may_be_confirmed(self) -> None:
        self.tap.to_server(status(0x64))
        self.tap.to_client(transaction(200, 210) + keepalive(300))
        self.tap.to_server(status(210, 300) + status(300))
        log = self.expect()
        self.assertEqual([sample.lsn for sample in log.samples], [0x64, 210, 300])
        self.assertEqual(log.statuses, 3)

    def test_fragmented_messages_are_reassembled(self) -> None:
        for byte in transaction(200, 210):
            self.tap.to_client(bytes([byte]))
        for byte in status(210):
            self.tap.to_server(bytes([byte]))
        self.assertEqual([sample.lsn for sample in self.expect().samples], [210])

    def test_start_of_a_commit_record_may_not_be_confirmed(self) -> None:
        self.tap.to_client(transaction(200, 210))
        self.tap.to_server(status(200))
        self.expect("0/C8 was confirmed, but the server had not sent it")

    def test_position_may_not_go_back_on_a_connection(self) -> None:
        self.tap.to_client(transaction(200, 210) + transaction(220, 230))
        self.tap.to_server(status(230) + status(210))
        self.expect("0/D2 was confirmed after 0/E6")

    def test_position_after_the_last_one_sent_may_not_be_reported_as_received(self) -> None:
        self.tap.to_client(transaction(200, 210))
        self.tap.to_server(status(210, 211))
        self.assertIn("0/D3 was reported as received", self.record.take().problems[0])

    def test_applied_position_must_equal_the_confirmed_one(self) -> None:
        self.tap.to_client(keepalive(200) + keepalive(210))
        self.tap.to_server(status(200, 210, applied=210))
        self.assertIn("0/D2 was reported as applied", self.record.take().problems[0])

    def test_position_sent_on_one_connection_may_be_confirmed_on_the_next(self) -> None:
        self.tap.to_client(transaction(200, 210) + transaction(220, 230))
        self.tap = self.connect("0/E6")
        self.tap.to_server(status(210, 230))
        self.expect()

    def test_transactions_are_counted_each_time_they_are_sent(self) -> None:
        self.tap.to_client(transaction(200, 210))
        self.tap = self.connect()
        self.tap.to_client(transaction(200, 210) + transaction(220, 230))
        self.assertEqual(self.expect().sent, {200: 2, 220: 1})
        self.assertEqual(self.record.take().sent, {})


if __name__ == "__main__":
    unittest.main()
