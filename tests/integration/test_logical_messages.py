#!/usr/bin/python3
"""pg_logical_emit_message(true, …) as an outbox without a table, and in addition to one."""

import json
from typing import Any

from walrelay_test.testcase import IntegrationTest, main


class LogicalMessagesTest(IntegrationTest):
    def emit(self, id: int, *, cursor: Any = None, prefix: str = "outbox", transactional: bool = True,
             **more: Any) -> None:
        event = {"id": id, "aggregate_type": self.name, "aggregate_id": "k", "event_type": "made",
                 "payload": {"n": id}} | more
        text = json.dumps({name: value for name, value in event.items() if value is not ...})
        self.emit_text(text, cursor=cursor, prefix=prefix, transactional=transactional)

    def emit_text(self, text: str, *, cursor: Any = None, prefix: str = "outbox",
                  transactional: bool = True) -> None:
        sql = "SELECT pg_logical_emit_message(%s, %s, %s)"
        if cursor is None:
            self.sql(sql, transactional, prefix, text)
        else:
            cursor.execute(sql, (transactional, prefix, text))

    def start_with_messages(self, options: dict[str, Any] | None = None) -> Any:
        return self.start_relay({"source.message_prefixes": ["outbox"]} | (options or {}))

    def test_messages_and_rows_are_published_in_commit_order(self) -> None:
        self.start_with_messages()
        with self.database.transaction() as cursor:
            self.emit(1, cursor=cursor)
            self.outbox.insert(2, cursor=cursor)
            self.emit(3, cursor=cursor)
        self.outbox.insert(4)
        self.emit(5)
        self.emit(6, prefix="audit")
        with self.database.transaction("ROLLBACK") as cursor:
            self.emit(7, cursor=cursor)
        self.emit(8)
        self.expect_published(1, 2, 3, 4, 5, 8)
        record = self.published()[0]
        self.assertEqual((record.key, record.value), (b"k", b'{"n": 1}'))
        self.assertEqual(dict(record.headers)["event_type"], b"made")

    def test_messages_are_not_lost_or_repeated_across_a_restart(self) -> None:
        relay = self.start_with_messages()
        for id in range(1, 21):
            self.emit(id)
        self.settle()
        self.assertEqual(relay.stop(), 0)
        for id in range(21, 41):
            self.emit(id)
        relay.start()
        self.expect_published(*range(1, 41))

    def test_outbox_needs_no_table(self) -> None:
        self.sql("DROP PUBLICATION walrelay; DROP TABLE outbox; CREATE PUBLICATION walrelay")
        self.start_with_messages({"source.table": ""})
        self.emit(1)
        self.emit(2)
        self.expect_published(1, 2)

    def test_message_without_required_members_blocks_publishing(self) -> None:
        relay = self.start_with_messages()
        self.emit(1)
        self.settle()
        self.emit(2, payload=...)
        self.emit(3)
        relay.wait_for_state("blocked")
        self.assertIn("WR-3007", relay.get("/readyz?verbose")[1])
        self.assertEqual(relay.stop(), 0)
        self.start_with_messages({"on_error.value": "skip"})
        self.expect_published(1, 3)

    def test_message_that_is_not_json_becomes_a_dead_letter(self) -> None:
        dead = f"{self.name}.dead"
        self.start_with_messages({"on_error.value": "dead_letter",
                                  "on_error.dead_letter_topic": dead})
        self.emit_text("no JSON at all")
        self.emit(2)
        self.expect_published(2)
        letter, = self.kafka.consume(dead)
        self.assertIn(b"no JSON at all", letter.value)

    def test_non_transactional_message_is_never_published(self) -> None:
        relay = self.start_with_messages()
        with self.database.transaction("ROLLBACK") as cursor:
            self.emit(1, cursor=cursor, transactional=False)
        self.emit(2)
        self.expect_published(2)
        line = relay.wait_for_log("message_skipped")
        self.assertEqual((line["code"], line["msg"].rpartition(": ")[2]),
                         ("WR-3009", 'prefix "outbox"'))
        self.assertEqual(relay.metric("walrelay_events_skipped_total", reason="WR-3009"), 1)

    def test_messages_are_encoded_in_connect_formats(self) -> None:
        self.start_with_messages({"format.key": "json", "format.value": "json_schema",
                                  "format.headers": "simple"})
        self.emit(1, aggregate_id=42, payload={"a": [1, 2], "b": "x"})
        self.settle()
        record, = self.published()
        value = json.loads(record.value)
        self.assertEqual((record.key, value["payload"]), (b"42", {"a": [1, 2], "b": "x"}))
        self.assertEqual(value["schema"]["name"], "payload")

    def test_messages_are_not_sent_unless_configured(self) -> None:
        relay = self.start_relay()
        self.emit(1)
        self.outbox.insert(2)
        self.expect_published(2)
        self.assertIsNone(relay.metric("walrelay_events_skipped_total", reason="other_message"))


class OldServerTest(IntegrationTest):
    postgres_options = {"major": 13}

    def test_server_that_cannot_send_messages_is_refused(self) -> None:
        message = self.expect_exit(78, "WR-1003", {"source.message_prefixes": ["outbox"]})
        self.assertIn("version 14", message)


if __name__ == "__main__":
    main()
