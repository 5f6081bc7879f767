#!/usr/bin/python3
"""Only committed transactions are published: completely, once and in commit order."""

from walrelay_test.testcase import IntegrationTest, main


class TransactionTest(IntegrationTest):
    def setUp(self) -> None:
        super().setUp()
        self.relay = self.start_relay()

    def test_rows_of_one_statement_keep_their_order(self) -> None:
        self.outbox.insert(*range(1, 101))
        self.expect_published(*range(1, 101))

    def test_rows_of_one_transaction_keep_the_order_of_their_statements(self) -> None:
        with self.database.transaction() as cursor:
            for number in (3, 1, 2):
                self.outbox.insert(number, cursor=cursor, key=str(number))
        self.expect_published(3, 1, 2)

    def test_transaction_may_touch_several_aggregates(self) -> None:
        with self.database.transaction() as cursor:
            self.outbox.insert(1, 3, cursor=cursor)
            self.outbox.insert(2, 4, cursor=cursor, type=f"{self.name}.other")
        self.expect_published(1, 3)
        self.expect_published(2, 4, type=f"{self.name}.other")

    def test_rolled_back_transaction_is_not_published(self) -> None:
        with self.database.transaction(end="ROLLBACK") as cursor:
            self.outbox.insert(1, cursor=cursor)
        self.outbox.insert(2)
        self.expect_published(2)

    def test_rolled_back_savepoint_is_not_published(self) -> None:
        with self.database.transaction() as cursor:
            self.outbox.insert(1, cursor=cursor)
            cursor.execute("SAVEPOINT a")
            self.outbox.insert(2, cursor=cursor)
            cursor.execute("ROLLBACK TO a")
            self.outbox.insert(3, cursor=cursor)
            cursor.execute("RELEASE a")
        self.expect_published(1, 3)

    def test_released_savepoint_is_published(self) -> None:
        with self.database.transaction() as cursor:
            cursor.execute("SAVEPOINT a")
            self.outbox.insert(1, cursor=cursor)
            cursor.execute("RELEASE a")
        self.expect_published(1)

    def test_copied_rows_are_published(self) -> None:
        self.outbox.copy(*range(1, 1001))
        self.expect_published(*range(1, 1001))

    def test_row_deleted_by_its_own_transaction_is_published(self) -> None:
        with self.database.transaction() as cursor:
            self.outbox.insert(1, cursor=cursor)
            cursor.execute("DELETE FROM outbox")
        self.expect_published(1)

    def test_prepared_transaction_is_published_when_it_commits(self) -> None:
        with self.database.transaction(end=f"PREPARE TRANSACTION '{self.name}'") as cursor:
            self.outbox.insert(1, cursor=cursor)
        self.outbox.insert(2)
        self.expect_published(2)
        self.sql(f"COMMIT PREPARED '{self.name}'")
        self.expect_published(2, 1)

    def test_interleaved_transactions_are_published_in_commit_order(self) -> None:
        first, second = (self.database.connect().cursor() for _ in range(2))
        first.execute("BEGIN")
        self.outbox.insert(1, cursor=first)
        second.execute("BEGIN")
        self.outbox.insert(2, cursor=second)
        self.outbox.insert(3, cursor=first)
        second.execute("COMMIT")
        self.outbox.insert(4, cursor=first)
        first.execute("COMMIT")
        self.expect_published(2, 1, 3, 4)

    def test_transactions_with_adjacent_lsns_are_all_published(self) -> None:
        # The end of one commit is the start of the next; a filter by LSN would lose such transactions.
        self.sql("CREATE PROCEDURE many() LANGUAGE plpgsql AS $$ BEGIN FOR id IN 1..500 LOOP INSERT "
                 f"INTO outbox VALUES (id, '{self.name}', 'k', 'made', '{{}}'); COMMIT; END LOOP; END $$")
        self.sql("CALL many()")
        self.expect_published(*range(1, 501))


class NotAnEventTest(IntegrationTest):
    """Uses a publication of all tables and operations, as a careless operator may create it."""

    def publish(self, *tables: str) -> None:
        self.sql("ALTER TABLE outbox ADD PRIMARY KEY (id)")
        self.sql("CREATE TABLE other (id int PRIMARY KEY); CREATE PUBLICATION walrelay FOR ALL TABLES")
        self.database.create_slot(self.slot)

    def expect_skipped(self, reason: str, count: int) -> None:
        self.settle()
        self.assertEqual(self.relays[-1].metric("walrelay_events_skipped_total", reason=reason), count)

    def test_delete_update_and_truncate_are_counted_and_not_published(self) -> None:
        self.start_relay()
        self.outbox.insert(1, 2, 3)
        self.sql("UPDATE outbox SET event_type = 'changed' WHERE id = 1")
        self.sql("DELETE FROM outbox WHERE id > 1")
        self.sql("TRUNCATE outbox")
        self.outbox.insert(4)
        self.expect_published(1, 2, 3, 4)
        self.expect_skipped("update", 1)
        self.expect_skipped("delete", 2)
        self.expect_skipped("truncate", 1)

    def test_rows_of_other_tables_are_not_published(self) -> None:
        self.start_relay()
        self.sql("INSERT INTO other SELECT generate_series(1, 10)")
        self.outbox.insert(1)
        self.expect_published(1)
        self.expect_skipped("other_table", 10)

    def test_update_blocks_publishing_with_on_update_fail(self) -> None:
        relay = self.start_relay({"source.on_update": "fail"})
        self.outbox.insert(1)
        self.settle()
        self.sql("UPDATE outbox SET event_type = 'changed'")
        self.outbox.insert(2)
        relay.wait_for_state("blocked")
        self.assertIn("WR-3008", relay.get("/readyz")[1])
        self.assertEqual(self.ids(), [1])


if __name__ == "__main__":
    main()
