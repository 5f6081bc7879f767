#!/usr/bin/python3
"""Tests of the judge of pruning: with synthetic deletions and records, and of its trigger on a real server."""

import unittest

from walrelay_dev.kafka_records import Record
from walrelay_test.deletions import Deletion, DeletionLog, early_deletions
from walrelay_test.testcase import IntegrationTest, main


def record(id: str, time_ms: int, offset: int = 0) -> Record:
    return Record(topic="t", partition=0, offset=offset, timestamp_ms=time_ms, key=b"k", value=b"", received_ns=0,
                  headers=[("id", id.encode())])


class JudgeTest(unittest.TestCase):
    def test_deletions_after_the_append_are_correct(self) -> None:
        self.assertEqual(early_deletions([Deletion("a", 900, 1000.0), Deletion("b", 900, 1000.2)],
                                         [record("a", 1000), record("b", 999), record("c", 2000)]), [])

    def test_the_first_record_of_an_event_counts(self) -> None:
        self.assertEqual(early_deletions([Deletion("a", 900, 1000)], [record("a", 2000, 1), record("a", 950, 0)]), [])

    def test_deletion_before_the_append(self) -> None:
        (problem,) = early_deletions([Deletion("a", 900, 1000)], [record("a", 1001)])
        self.assertIn("event a, 0.1 s old, was deleted 1 ms before its event was appended", problem)

    def test_deletion_of_an_event_that_is_not_in_kafka(self) -> None:
        (problem,) = early_deletions([Deletion("a", 0, 1000)], [record("b", 500)])
        self.assertIn("event a, 1.0 s old, was deleted, and the event is not in Kafka", problem)

    def test_deletion_before_the_age(self) -> None:
        deletions = [Deletion("a", 0, 9_999), Deletion("b", 0, 10_000)]
        (problem,) = early_deletions(deletions, [record("a", 1), record("b", 1)], keep_seconds=10)
        self.assertIn("event a, 10.0 s old, was deleted before it was 10 s old", problem)


class LogTest(IntegrationTest):
    def prepare(self) -> None:
        self.sql("CREATE TABLE outbox (id int, created_at timestamptz NOT NULL DEFAULT now())")

    def test_committed_deletions_are_recorded_once(self) -> None:
        log = DeletionLog(self.database)
        self.sql("INSERT INTO outbox VALUES (1), (2), (3)")
        before = self.database.value("SELECT extract(epoch FROM clock_timestamp())::float8 * 1000")
        self.sql("DELETE FROM outbox WHERE id < 3")
        with self.database.transaction(end="ROLLBACK") as cursor:
            cursor.execute("DELETE FROM outbox")
        found = log.take()
        self.assertEqual([each.event_id for each in found], ["1", "2"])
        self.assertTrue(all(each.written_ms < before <= each.deleted_ms for each in found), found)
        self.assertEqual(log.take(), [])

    def test_rows_that_their_own_transaction_deletes_are_not_recorded(self) -> None:
        log = DeletionLog(self.database)
        with self.database.transaction() as cursor:
            cursor.execute("INSERT INTO outbox VALUES (1)")
            cursor.execute("DELETE FROM outbox")
        self.assertEqual(log.take(), [])


if __name__ == "__main__":
    main()
