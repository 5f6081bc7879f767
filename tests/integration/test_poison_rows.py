#!/usr/bin/python3
"""Rows that cannot be published block publishing by default: all earlier rows are published, no later one."""

from typing import Any

from walrelay_test.testcase import IntegrationTest, main


class PoisonRowTest(IntegrationTest):
    def expect_blocked(self, code: str, options: dict[str, Any] | None = None, *,
                       settings: dict[str, Any] | None = None, **poison: Any) -> str:
        """Inserts rows 1 (good), 2 (bad) and 3 (good): only the first is published and confirmed.

        Row 2 is skipped after a restart with `options`. Returns the page of /readyz while publishing is blocked.
        """
        relay = self.start_relay({"source.wal_sender_timeout": "2s", **(settings or {})})
        self.outbox.insert(1)
        self.settle()
        self.outbox.insert(2, **poison)
        bad_row = self.database.log_end()
        self.outbox.insert(3)
        relay.wait_for_state("blocked")
        status, page = relay.get("/readyz?verbose")
        self.assertEqual(status, 503)
        self.assertIn(code, page)
        self.assertIn("id=2", page)
        self.wait_for_status_updates(2)
        self.assertLess(self.database.confirmed(self.slot), bad_row)
        self.assertEqual(self.ids(), [1])
        self.assertEqual(relay.stop(), 0)
        if options:
            self.start_relay({**(settings or {}), **options})
            self.expect_published(1, 3)
        return page

    def wait_for_status_updates(self, count: int) -> None:
        def sent() -> float:
            return self.relays[0].metric("walrelay_replication_status_updates_total") or 0
        goal = sent() + count
        self.relays[0].wait_until(lambda: sent() >= goal, 60, "status updates")

    def test_illegal_topic_blocks_publishing(self) -> None:
        page = self.expect_blocked("WR-3005", {"on_error.topic": "skip"}, type="a b")
        self.assertIn("lsn=", page)

    def test_topic_that_is_not_allowed_blocks_publishing(self) -> None:
        self.expect_blocked("WR-3005", {"on_error.topic": "skip"}, type="other",
                            settings={"route.allow": [f"outbox.event.{self.name}*"]})

    def test_topic_beyond_max_topics_blocks_publishing(self) -> None:
        self.expect_blocked("WR-3005", type=f"{self.name}.second", settings={"route.max_topics": 1})

    def test_null_aggregate_type_blocks_publishing(self) -> None:
        self.expect_blocked("WR-3003", {"on_error.null_route": "skip"}, type=None)

    def test_null_key_blocks_publishing(self) -> None:
        self.expect_blocked("WR-3004", {"on_error.null_key": "skip"}, key=None)

    def test_row_that_is_too_large_blocks_publishing(self) -> None:
        self.expect_blocked("WR-3006", {"on_error.too_large": "skip"},
                            payload='"%s"' % ("x" * 1_100_000))

    def test_row_that_is_too_large_is_published_with_a_larger_limit(self) -> None:
        self.kafka.create_topic(self.topic, config={"max.message.bytes": 2_000_000})
        self.expect_blocked("WR-3006", payload='"%s"' % ("x" * 1_100_000))
        self.start_relay({"kafka.max_record_bytes": 1_500_000})
        self.expect_published(1, 2, 3)

    def test_partition_that_does_not_exist_blocks_publishing(self) -> None:
        self.check_partition(7)

    def test_negative_partition_blocks_publishing(self) -> None:
        self.check_partition(-1)

    def check_partition(self, number: int) -> None:
        self.sql("ALTER TABLE outbox ADD part int")
        self.expect_blocked("WR-3007", {"on_error.value": "skip"}, more={"part": number}, settings={
            "source.placement": [{"column": "part", "to": "partition"}]})

    def test_timestamp_that_kafka_cannot_represent_blocks_publishing(self) -> None:
        self.sql("ALTER TABLE outbox ADD at timestamptz")
        self.expect_blocked("WR-3007", {"on_error.value": "skip"}, more={"at": "infinity"}, settings={
            "route.timestamp": "column:at"})

    def test_stop_while_blocked_loses_nothing(self) -> None:
        relay = self.start_relay()
        with self.database.transaction() as cursor:
            self.outbox.insert(1, cursor=cursor)
            self.outbox.insert(2, cursor=cursor, key=None)
            self.outbox.insert(3, cursor=cursor)
        relay.wait_for_state("blocked")
        self.assertEqual(relay.stop(), 0)
        self.start_relay({"on_error.null_key": "skip"})
        # The first row of the transaction was published before the second one blocked publishing.
        self.expect_published(1, 1, 3)


if __name__ == "__main__":
    main()
