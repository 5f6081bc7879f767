#!/usr/bin/python3
"""Tests of the verifier with synthetic logs: it must report precisely what is wrong with each."""

import struct
import unittest
from dataclasses import replace

from walrelay_dev.kafka_records import Record
from walrelay_test.java_partitioner import murmur2, partition_for
from walrelay_test.pgoutput import parse_lsn, read_transactions
from walrelay_test.verifier import Event, Sample, Verdict, verify

PARTITIONS = {"t": 4, "u": 4}


def event(number: int, key: str = "k", n: int | None = None) -> Event:
    """Committed at millisecond `number`, ending at LSN 100 × `number`."""
    return Event(id=f"e{number}", topic="t", key=key.encode(), n=n or number,
                 value=f"v{number}".encode(), headers=[("id", f"e{number}".encode()), ("type", None)],
                 commit_time_us=number * 1000 + 999, end_lsn=100 * number)


def record(of: Event, offset: int, **changes: object) -> Record:
    """The correct record of an event, appended when the event was committed."""
    right = Record(topic=of.topic, partition=partition_for(of.key, PARTITIONS["t"]), offset=offset,
                   timestamp_ms=of.commit_time_us // 1000, key=of.key, value=of.value,
                   headers=of.headers, received_ns=0)
    return replace(right, **changes)


class VerifierTest(unittest.TestCase):
    def setUp(self) -> None:
        self.events = [event(number) for number in (1, 2, 3, 4)]
        self.log = [record(each, offset) for offset, each in enumerate(self.events)]

    def judge(self, log: list[Record] | None = None, **options: object) -> Verdict:
        return verify(self.events, self.log if log is None else log, PARTITIONS, **options)

    def expect(self, verdict: Verdict, *problems: str) -> None:
        self.assertEqual([str(problem) for problem in verdict.problems], list(problems))

    def test_correct_log_has_no_problem(self) -> None:
        samples = [Sample(time_ms=number, lsn=100 * number) for number in (1, 2, 3, 4)]
        verdict = self.judge(samples=samples, check_timestamps=True)
        self.expect(verdict)
        self.assertEqual((verdict.events, verdict.duplicates), (4, 0))

    def test_lost_event_is_named(self) -> None:
        self.expect(self.judge(self.log[:3]),
                    "lost: event e4 (key k, n 4, 0/190) was committed and is not in Kafka")

    def test_lost_event_between_others_is_a_gap_as_well(self) -> None:
        del self.log[1]
        partition = self.log[0].partition
        self.expect(self.judge(), "lost: event e2 (key k, n 2, 0/C8) was committed and is not in Kafka",
                    f"order: key k has a gap before n 3, at t[{partition}]@2: n 2 never appears")

    def test_phantom_is_named(self) -> None:
        self.log.append(record(event(9), offset=4))
        self.expect(self.judge(),
                    f"phantom: {self.place(4)} holds event e9, which was not committed")

    def test_record_without_an_id_is_a_phantom(self) -> None:
        for headers in ([], [("id", None)], [("id", b"e1"), ("id", b"e1")]):
            self.expect(self.judge([*self.log, replace(self.log[0], offset=4, headers=headers)]),
                        f"phantom: {self.place(4)} holds event None, which was not committed")

    def test_swapped_events_are_a_disorder(self) -> None:
        self.log[1:3] = [replace(self.log[2], offset=1), replace(self.log[1], offset=2)]
        self.expect(self.judge(), "order: event e2 (key k, n 2, 0/C8) first appears at "
                                  f"{self.place(2)}, after n 3 of its key")

    def test_order_is_by_offset_not_by_arrival(self) -> None:
        self.expect(self.judge(list(reversed(self.log))))

    def test_order_is_per_key(self) -> None:
        self.events = [event(1, "a", 1), event(2, "b", 1), event(3, "a", 2), event(4, "b", 2)]
        self.expect(self.judge([record(each, offset) for offset, each in
                                enumerate([self.events[i] for i in (1, 3, 0, 2)])]))

    def test_duplicates_are_counted_and_are_no_problem(self) -> None:
        again = [replace(each, offset=each.offset + 4) for each in self.log[1:]]
        verdict = self.judge(self.log + again)
        self.expect(verdict)
        self.assertEqual(verdict.duplicates, 3)

    def test_duplicate_before_its_predecessor_is_still_a_disorder(self) -> None:
        order = [self.log[0], self.log[2], self.log[1], self.log[2], self.log[3]]
        self.assertEqual([problem.kind for problem in self.judge(
            [replace(each, offset=offset) for offset, each in enumerate(order)]).problems], ["order"])

    def test_every_wrong_part_of_a_record_is_named(self) -> None:
        wrong = {"topic": "u", "key": b"K", "value": b"v1 ", "partition": self.log[0].partition ^ 1,
                 "headers": [("id", b"e1"), ("type", b"")]}
        self.events = self.events[:1]
        for name, value in wrong.items():
            verdict = self.judge([replace(self.log[0], **{name: value})])
            self.assertEqual([problem.kind for problem in verdict.problems], ["content"], name)
            self.assertIn(f"has {name} {value!r}, not ", str(verdict.problems[0]))

    def test_null_is_not_empty(self) -> None:
        self.events[0] = replace(self.events[0], value=None)
        self.log[0] = replace(self.log[0], value=b"")
        self.assertIn("has value b'', not None", str(self.judge().problems[0]))

    def test_duplicate_with_different_content_is_found(self) -> None:
        self.log.append(replace(self.log[0], offset=4, value=b"changed"))
        self.assertEqual([problem.kind for problem in self.judge().problems], ["content"])

    def test_timestamp_other_than_the_commit_time_is_named(self) -> None:
        self.log[0] = replace(self.log[0], timestamp_ms=2)
        self.expect(self.judge())
        self.expect(self.judge(check_timestamps=True),
                    f"timestamp: event e1 (key k, n 1, 0/64) at {self.place(0)} has time 2, not 1")

    def test_position_confirmed_before_an_event_was_appended_is_named(self) -> None:
        self.log[2] = replace(self.log[2], timestamp_ms=50)
        self.expect(self.judge(samples=[Sample(20, 299), Sample(40, 300), Sample(60, 300)]),
                    "confirmed: 0/12C was confirmed, and with it event e3 (key k, n 3, 0/12C), which "
                    "was appended 10 ms later")

    def test_position_confirmed_before_an_earlier_event_was_appended_is_named(self) -> None:
        self.log[0] = replace(self.log[0], timestamp_ms=50)
        verdict = self.judge(samples=[Sample(40, 400)])
        self.assertIn("event e1", str(verdict.problems[0]))

    def test_position_confirmed_with_a_lost_event_is_named(self) -> None:
        verdict = self.judge(self.log[:3], samples=[Sample(9, 400)])
        self.assertIn("was never appended", str(verdict.problems[-1]))

    def test_duplicate_appended_later_does_not_matter(self) -> None:
        self.log.append(replace(self.log[0], offset=4, timestamp_ms=1000))
        self.expect(self.judge(samples=[Sample(40, 400)]))

    def test_append_time_is_rounded(self) -> None:
        self.log[3] = replace(self.log[3], timestamp_ms=5)
        self.expect(self.judge(samples=[Sample(4.2, 400)]))
        self.assertEqual(len(self.judge(samples=[Sample(3.9, 400)]).problems), 1)

    def place(self, offset: int) -> str:
        return f"t[{self.log[0].partition}]@{offset}"


class JavaPartitionerTest(unittest.TestCase):
    def test_hashes_equal_those_of_kafkas_test(self) -> None:
        # org.apache.kafka.common.utils.UtilsTest.testMurmur2
        for data, expected in ((b"21", -973932308), (b"foobar", -790332482), (b"abc", 479470107),
                               (b"a-little-bit-long-string", -985981536),
                               (b"a-little-bit-longer-string", -1486304829),
                               (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971)):
            self.assertEqual(murmur2(data), expected)

    def test_negative_hash_has_a_partition(self) -> None:
        self.assertEqual(partition_for(b"21", 10), (-973932308 & 0x7FFFFFFF) % 10)


class PgoutputTest(unittest.TestCase):
    RELATION = b"R" + struct.pack(">I", 7) + b"public\0outbox\0d" + struct.pack(">H", 2) + \
        b"\1id\0" + struct.pack(">Ii", 25, -1) + b"\0payload\0" + struct.pack(">Ii", 25, -1)
    INSERT = b"I" + struct.pack(">I", 7) + b"N" + struct.pack(">H", 2) + b"t\0\0\0\2e1n"

    def begin(self, lsn: int) -> bytes:
        return b"B" + struct.pack(">QqI", lsn, 1_000_000, 42)

    def commit(self, lsn: int, end: int) -> bytes:
        return b"C\0" + struct.pack(">QQq", lsn, end, 1_000_000)

    def test_transaction_is_read_completely(self) -> None:
        (transaction,) = read_transactions([self.begin(50), self.RELATION, self.INSERT, self.INSERT,
                                            self.commit(50, 60)])
        self.assertEqual((transaction.xid, transaction.end_lsn), (42, 60))
        self.assertEqual(transaction.commit_time_us, 946_684_801_000_000)
        self.assertEqual(transaction.rows, [{"id": "e1", "payload": None}] * 2)

    def test_rows_of_one_wal_record_are_numbered(self) -> None:
        (transaction,) = read_transactions([self.begin(50), self.RELATION, self.INSERT, self.INSERT, self.INSERT,
                                            self.commit(50, 60)], [20, 0, 20, 20, 30, 60])
        self.assertEqual(transaction.positions, [(20, 1), (20, 2), (30, 1)])

    def test_unexpected_message_is_rejected(self) -> None:
        for messages in ([self.INSERT], [b"Dxxx"], [self.begin(50), self.commit(51, 60)],
                         [self.begin(50)]):
            with self.assertRaises((ValueError, AssertionError)):
                list(read_transactions(messages))

    def test_lsn_is_parsed_as_a_number(self) -> None:
        self.assertEqual(parse_lsn("1/A0"), (1 << 32) + 160)


if __name__ == "__main__":
    unittest.main()
