#!/usr/bin/python3
"""Tests of the attribution of repeated records to faults, with synthetic records."""

import unittest

from walrelay_dev.kafka_records import Record
from walrelay_test.repetitions import NO_FAULT, Effect, by_fault, by_kill, repeated_records

KILL, OTHER = Effect("kill", 100, 200), Effect("cut", 150, 300)


def record(id: str, offset: int, time_ms: int = 0) -> Record:
    return Record(topic="t", partition=0, offset=offset, timestamp_ms=time_ms, key=b"k", value=b"", received_ns=0,
                  headers=[("id", id.encode())])


def at(*times: int) -> list[Record]:
    return [record("a", number, time) for number, time in enumerate(times)]


class RepetitionTest(unittest.TestCase):
    def test_every_record_but_the_first_of_an_event_is_repeated(self) -> None:
        records = [record("a", 3), record("a", 1), record("b", 2), record("a", 4)]
        self.assertEqual([each.offset for each in repeated_records(records)], [3, 4])

    def test_records_count_for_all_faults_around_them(self) -> None:
        self.assertEqual(by_fault(at(99, 100, 170, 180, 300, 301), [KILL, OTHER]),
                         {NO_FAULT: 2, "kill": 1, "cut + kill": 2, "cut": 1})

    def test_records_count_for_the_last_kill_before_them(self) -> None:
        found = by_kill(at(115, 130, 140), [110, 120, 145], [KILL], "kill")
        self.assertEqual([[each.timestamp_ms for each in kill] for kill in found], [[115], [130, 140], []])

    def test_kills_and_records_near_another_fault_do_not_count(self) -> None:
        found = by_kill(at(130, 160, 190), [120, 180], [KILL, OTHER], "kill")
        self.assertEqual([[each.timestamp_ms for each in kill] for kill in found], [[130]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
