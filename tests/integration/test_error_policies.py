#!/usr/bin/python3
"""Rows that cannot be published are skipped or sent to a dead-letter topic if so configured."""

from typing import Any

from walrelay_test.protobuf_types import message_type
from walrelay_test.testcase import IntegrationTest, main

TOO_LARGE = '"%s"' % ("x" * 1_100_000)


class SkipTest(IntegrationTest):
    def test_skipped_row_is_logged_and_counted(self) -> None:
        relay = self.start_relay({"on_error.null_key": "skip"})
        self.outbox.insert(1)
        self.outbox.insert(2, key=None)
        self.outbox.insert(3)
        self.expect_published(1, 3)
        line = relay.wait_for_log("row_skipped")
        self.assertEqual((line["code"], line["row"]), ("WR-3004", "id=2 key=NULL"))
        self.assertEqual(relay.metric("walrelay_events_skipped_total", reason="WR-3004"), 1)

    def test_each_of_many_skipped_rows_is_logged(self) -> None:
        relay = self.start_relay({"on_error.null_key": "skip", "log.level": "error"})
        count = 10_000
        self.outbox.insert(*range(1, count + 1), key=None)
        self.outbox.insert(count + 1)
        self.expect_published(count + 1)
        relay.wait_for_log("row_skipped", count=count)
        lines = relay.logs("row_skipped")
        self.assertEqual([(line["row"], line["ordinal"]) for line in lines],
                         [(f"id={id} key=NULL", id) for id in range(1, count + 1)])
        self.assertEqual({line["table"] for line in lines}, {"public.outbox"})

    def test_huge_document_is_too_large_before_it_is_parsed(self) -> None:
        """Ten million values: as a tree they would need hundreds of megabytes."""
        relay = self.start_relay({"on_error.too_large": "skip", "format.value": "json",
                                  "format.expand_json": True})
        self.outbox.insert(1)
        self.outbox.insert(2, payload='{"a": [' + "1," * 10_000_000 + "1]}")
        self.outbox.insert(3)
        self.expect_published(1, 3)
        self.assertEqual(relay.wait_for_log("row_skipped")["code"], "WR-3006")
        self.assertLess(relay.memory_mb(), 150)

    def test_transaction_of_skipped_rows_only_is_confirmed(self) -> None:
        self.start_relay({"on_error.null_route": "skip"})
        self.outbox.insert(1, 2, type=None)
        self.settle()

    def test_policy_of_one_cause_does_not_apply_to_another(self) -> None:
        relay = self.start_relay({"on_error.null_key": "skip"})
        self.outbox.insert(1, type=None)
        relay.wait_for_state("blocked")


class DeadLetterCase(IntegrationTest):
    def options(self) -> dict[str, Any]:
        causes = ("null_route", "null_key", "topic", "too_large", "value")
        return super().options() | {f"on_error.{cause}": "dead_letter" for cause in causes} | {
            "on_error.dead_letter_topic": f"{self.name}.dead"}

    def dead_letters(self) -> list[Any]:
        return [message_type("walrelay.events.v1.DeadLetter").FromString(record.value)
                for record in self.kafka.consume(f"{self.name}.dead")]


class DeadLetterTest(DeadLetterCase):
    def expect_dead_letter(self, code: str, **poison: Any) -> Any:
        """Inserts rows 1 (good), 2 (bad) and 3 (good): the second goes to the dead-letter topic."""
        self.start_relay()
        with self.database.transaction() as cursor:
            self.outbox.insert(1, cursor=cursor)
            self.outbox.insert(2, cursor=cursor, **poison)
            self.outbox.insert(3, cursor=cursor)
        self.expect_published(1, 3)
        (letter,) = self.dead_letters()
        self.assertEqual(letter.code, code)
        self.assertEqual((letter.schema, letter.table, letter.ordinal), ("public", "outbox", 2))
        self.assertLess(letter.row_lsn, letter.commit_lsn)
        self.assertEqual(letter.row_index, 1)
        return letter

    def test_dead_letter_holds_the_whole_row(self) -> None:
        self.sql("ALTER TABLE outbox ADD raw bytea")
        letter = self.expect_dead_letter("WR-3005", type="a b", payload='{"a": 1}',
                                         more={"raw": b"\0\xff"})
        self.assertEqual([(column.name, column.value if column.HasField("value") else None)
                          for column in letter.columns], [
            ("id", b"2"), ("aggregate_type", b"a b"), ("aggregate_id", b"k"), ("event_type", b"made"),
            ("payload", b'{"a": 1}'), ("raw", b"\\x00ff")])
        self.assertEqual({column.name: column.type_oid for column in letter.columns}["raw"], 17)

    def test_dead_letter_record_has_key_headers_and_commit_time(self) -> None:
        letter = self.expect_dead_letter("WR-3005", type="a b")
        (record,) = self.kafka.consume(f"{self.name}.dead")
        self.assertEqual(record.key, b"k")
        self.assertEqual(record.headers, [("walrelay.code", b"WR-3005"),
                                          ("walrelay.reason", letter.reason.encode())])
        self.assertEqual(record.timestamp_ms, letter.commit_time_us // 1000)
        self.assertEqual(self.published()[0].timestamp_ms, record.timestamp_ms)

    def test_null_aggregate_type_is_a_dead_letter(self) -> None:
        self.expect_dead_letter("WR-3003", type=None)

    def test_null_key_is_a_dead_letter_without_key(self) -> None:
        letter = self.expect_dead_letter("WR-3004", key=None)
        self.assertFalse(letter.columns[2].HasField("value"))
        self.assertIsNone(self.kafka.consume(f"{self.name}.dead")[0].key)

    def test_row_that_is_too_large_is_a_dead_letter(self) -> None:
        letter = self.expect_dead_letter("WR-3006", payload=TOO_LARGE)
        payload = letter.columns[4]
        self.assertEqual((payload.value, payload.cut_from), (TOO_LARGE[:100_000].encode(), len(TOO_LARGE)))
        self.assertEqual(letter.columns[0].cut_from, 0)

    def test_row_whose_key_is_too_large_is_a_dead_letter_without_key(self) -> None:
        self.expect_dead_letter("WR-3006", key=TOO_LARGE)
        self.assertIsNone(self.kafka.consume(f"{self.name}.dead")[0].key)

    def test_dead_letters_are_counted(self) -> None:
        self.expect_dead_letter("WR-3003", type=None)
        relay = self.relays[0]
        self.assertEqual(relay.metric("walrelay_dead_letters_total", code="WR-3003"), 1)
        line = relay.wait_for_log("dead_letter")
        self.assertEqual((line["code"], line["table"], line["row"], line["ordinal"]),
                         ("WR-3003", "public.outbox", "id=2 key=k", 2))


class UnacknowledgedDeadLetterTest(DeadLetterCase):
    kafka_options = {}

    def test_nothing_is_confirmed_before_the_dead_letter_is_acknowledged(self) -> None:
        relay = self.start_relay()
        self.outbox.insert(1, key=None)
        self.settle()
        self.kafka.pause_node(1)
        self.addCleanup(self.kafka.resume_node, 1)
        self.outbox.insert(2, key=None)
        bad_row = self.database.log_end()
        relay.wait_for_log("dead_letter", count=2)
        relay.wait_for_state("degraded")
        self.assertLess(self.database.confirmed(self.slot), bad_row)
        self.kafka.resume_node(1)
        self.settle()
        self.assertEqual([letter.columns[0].value for letter in self.dead_letters()], [b"1", b"2"])


if __name__ == "__main__":
    main()
