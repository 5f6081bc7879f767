#!/usr/bin/python3
"""Transactions that replication applied: events, or not, as source.origin says."""

import itertools
from collections import Counter
from typing import Any

from walrelay_dev.errors import ServerError
from walrelay_test.database import Database
from walrelay_test.once_case import OnceCase
from walrelay_test.outbox import Outbox
from walrelay_test.recover_case import RecoverCase
from walrelay_test.testcase import IntegrationTest, RelayProcess, for_each_major, main, wait_until

NONE = {"source.origin": "none"}


class OriginCase(IntegrationTest):
    """Writes as replication does: in sessions with a replication origin."""

    def setUp(self) -> None:
        super().setUp()
        self.replication: Any = None  # the session

    def replicate(self, *statements: str) -> None:
        """Each is a transaction with an origin."""
        self.sql("SELECT pg_replication_origin_create(%s) WHERE NOT EXISTS "
                 "(SELECT FROM pg_replication_origin WHERE roname = %s)", self.name, self.name)
        if self.replication is None:
            self.addCleanup(self.drop_origin)
            self.replication = self.database.connect()
            self.replication.cursor().execute("SELECT pg_replication_origin_session_setup(%s)", (self.name,))
        for statement in statements:
            self.replication.cursor().execute(statement)

    def drop_origin(self) -> None:
        if self.replication is not None:
            self.replication.close()

        def dropped() -> bool:
            try:
                self.postgres.psql("SELECT pg_replication_origin_drop(roname) FROM pg_replication_origin "
                                   f"WHERE roname = '{self.name}'")
            except ServerError:  # a session that ends still holds it for a moment
                return False
            return True
        wait_until(dropped, 60, "the origin to be dropped")

    def row(self, id: int) -> str:
        return f"INSERT INTO outbox VALUES ({id}, '{self.name}', 'k', 'made', '{{}}')"

    def expect_skipped(self, count: int) -> None:
        relay = self.relays[-1]
        self.assertEqual(relay.metric("walrelay_events_skipped_total", reason="origin"), count)
        words = f"rows that replication wrote are not published: {count} skipped"
        relay.wait_until(lambda: words in relay.get("/status.txt")[1], 60, "the status to show them")


@for_each_major(OriginCase, [13, 14, 15, 16, 18])
class MajorTest:
    """All majors behave the same."""

    def test_rows_of_another_origin_are_events_unless_configured(self) -> None:
        relay = self.start_relay()
        self.replicate(self.row(1))
        self.outbox.insert(2)
        self.expect_published(1, 2)
        self.replicate(self.row(3))
        self.settle()
        self.assertEqual(relay.stop(), 0)
        # The last published transaction has an origin: this is not a reason for a gap.
        relay = self.start_relay(NONE)
        self.replicate(self.row(4), "SELECT pg_logical_emit_message(true, 'other', 'x')")
        self.outbox.insert(5)
        self.replicate(self.row(6))
        self.expect_published(1, 2, 3, 5)
        self.expect_skipped(2)
        self.assertEqual(relay.logs("gap"), [])

    def test_origin_that_was_dropped_is_known(self) -> None:
        self.replicate(self.row(1), self.row(2))
        self.outbox.insert(3)
        self.drop_origin()
        self.sql("VACUUM pg_replication_origin")
        self.outbox.insert(4)
        self.start_relay(NONE)
        self.expect_published(3, 4)
        self.expect_skipped(2)

    def test_origin_that_its_own_transaction_creates_ends_no_session(self) -> None:
        """Postgres 13 sends an empty message for it."""
        with self.database.transaction() as cursor:
            cursor.execute("SELECT pg_replication_origin_create(%s)", (self.name,))
            cursor.execute("SELECT pg_replication_origin_session_setup(%s)", (self.name,))
            self.outbox.insert(1, cursor=cursor)
        self.addCleanup(self.drop_origin)
        self.database.close()
        self.outbox.insert(2)
        relay = self.start_relay()
        self.expect_published(1, 2)
        self.assertEqual(relay.logs(code="WR-2401"), [])


class RestartTest(OnceCase, OriginCase):
    def test_mixture_is_published_once_across_kills_of_the_relay(self) -> None:
        relay = self.start_recording(NONE)
        numbers = itertools.count(1)
        for kill in (True, False, True):
            for _ in range(20):
                self.outbox.insert(next(numbers))
                self.replicate(*(self.row(-next(numbers)) for _ in range(3)))
            relay.kill() if kill else relay.stop()
            self.replicate(self.row(-next(numbers)))
            relay.start().wait_ready()
        # The frontier and the record of progress pass transactions without an event.
        self.replicate(*(self.row(-next(numbers)) for _ in range(20)))
        self.settle()
        self.expect_once(*(id for id, in self.sql("SELECT id::int FROM outbox WHERE id > 0 ORDER BY id")))


class TableCase(RecoverCase, OriginCase):
    def write_without_slot(self) -> None:
        self.publish_rows(1, relay=self.new_relay(NONE))
        self.drop_slot()
        self.outbox.insert(2)
        self.replicate(self.row(3))


class CommitTimesTest(TableCase):
    """The table shows the origins of its rows."""

    postgres_options = {"settings": {"track_commit_timestamp": "on"}}

    def test_recover_and_republish_skip_rows_of_other_origins(self) -> None:
        self.write_without_slot()
        plan = self.plan("--all")
        self.assertEqual((plan["rows"], plan["found"], plan["to_publish"]), (2, 1, 1))
        self.assertNotIn("other", " ".join(plan["warnings"]))
        self.assertIn("2 published", self.walrelay("republish", "--all", "--dry-run"))
        self.recover("--all")
        self.assertEqual(self.ids(), [1, 2])

    def test_rows_of_other_origins_do_not_wait(self) -> None:
        relay = self.publish_rows(1, relay=self.new_relay(NONE | {"metrics.table_count_interval": "200ms"}))
        self.replicate(self.row(2), self.row(3))
        self.assertNotIn("among them", self.walrelay("status"))
        relay.start()
        # A row that blocks before the first proof leaves the number unknown.
        relay.wait_until(lambda: relay.metric("walrelay_table_unpublished_rows") is not None, 60, "the first count")
        self.outbox.insert(4, key=None)
        # The first row is counted if no horizon is behind it.
        relay.wait_until(lambda: relay.metric("walrelay_table_unpublished_rows") in (1, 2), 60, "the count of one row")


class NoCommitTimesTest(TableCase):
    def test_recover_and_republish_say_that_the_table_does_not_show_the_origins(self) -> None:
        self.write_without_slot()
        plan = self.plan("--all")
        self.assertEqual((plan["rows"], plan["found"], plan["to_publish"]), (3, 1, 2))
        self.assertIn("The tables do not show which rows have another origin", " ".join(plan["warnings"]))
        answer = self.walrelay("republish", "--all", "--dry-run")
        self.assertIn("3 published", answer)
        self.assertIn("the tables do not show which rows have another origin", answer)


class BidirectionalTest(OriginCase):
    """Two databases, each with a subscription of the other one and a relay."""

    postgres_options = {"major": 18, "settings": {"max_worker_processes": 16, "track_commit_timestamp": "on"}}

    def setUp(self) -> None:
        super().setUp()
        self.other = Database.create(self.postgres, f"{self.name}_b")
        self.addCleanup(self.other.drop)
        self.other_outbox = Outbox(self.other, self.name)
        self.other.execute("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
        self.other.create_slot(f"{self.slot}_b")
        self.subscribe(self.database, self.other)
        self.subscribe(self.other, self.database)

    def subscribe(self, database: Database, publisher: Database) -> None:
        """Within a server, CREATE SUBSCRIPTION would wait for its own transaction."""
        name = f"{database.name}_sub"
        publisher.create_slot(name)
        database.execute(f"CREATE SUBSCRIPTION {name} CONNECTION '{publisher.dsn}' PUBLICATION walrelay "
                         "WITH (create_slot = false, copy_data = false, origin = none)")
        self.addCleanup(database.execute, f"ALTER SUBSCRIPTION {name} DISABLE; ALTER SUBSCRIPTION {name} "
                        f"SET (slot_name = NONE); DROP SUBSCRIPTION {name}")
        wait_until(lambda: publisher.slot(name, "active"), 60, "the subscription to begin")

    def start_both(self, options: dict[str, Any]) -> list[RelayProcess]:
        there = {"source.dsn": self.other.dsn, "source.slot": f"{self.slot}_b"}
        return [self.start_relay(options | there), self.start_relay(options)]

    def settle(self, seconds: float = 60) -> None:
        def replicated() -> bool:
            return len({str(sorted(each.execute("SELECT id FROM outbox"))) for each in (self.database, self.other)}) == 1
        wait_until(replicated, seconds, "the rows to be replicated")
        super().settle(seconds)
        wait_until(lambda: self.other.confirmed(f"{self.slot}_b") >= self.other_end, seconds, "the other relay")

    def write(self) -> list[int]:
        for id in range(1, 21):
            (self.outbox if id % 2 else self.other_outbox).insert(id)
        self.other_end = self.other.log_end()
        return list(range(1, 21))

    def test_each_event_is_published_once_with_none_at_both_ends(self) -> None:
        self.start_both(NONE)
        ids = self.write()
        self.settle()
        self.assertEqual(sorted(self.ids()), ids)
        self.expect_skipped(10)

    def test_each_event_is_published_twice_with_any(self) -> None:
        self.start_both({"source.origin": "any"})
        ids = self.write()
        self.settle()
        self.assertEqual(Counter(self.ids()), Counter(ids * 2))


if __name__ == "__main__":
    main()
