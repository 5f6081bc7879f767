#!/usr/bin/python3
"""Columns and tables: found by walrelay's names, by Debezium's names, or by configured names."""

from walrelay_test.testcase import DEBEZIUM, IntegrationTest, Outbox, main

SIX = """(id uuid PRIMARY KEY, aggregate_type text, aggregate_id text, event_type text, payload json,
          trace_id text)"""
UUID = "7b7c9a52-30a9-4a71-a5a4-9c0a5e0c4b11"


class ColumnNameTest(IntegrationTest):
    def prepare(self) -> None:
        """Each test creates its own table."""

    def expect_record(self, key: bytes, value: bytes, headers: dict[str, bytes | None]) -> None:
        self.settle()
        (record,) = self.published()
        self.assertEqual((record.key, record.value, record.headers), (key, value, [*headers.items()]))

    def test_canonical_names_need_no_configuration(self) -> None:
        self.sql(f"CREATE TABLE outbox {SIX}")
        self.publish("outbox")
        self.start_relay()
        self.sql("INSERT INTO outbox VALUES (%s, %s, 'k', 'made', '[1]', 'trace')", UUID, self.name)
        self.expect_record(b"k", b"[1]", {"id": UUID.encode(), "event_type": b"made",
                                          "trace_id": b"trace"})

    def test_debezium_names_need_no_configuration(self) -> None:
        self.outbox = Outbox(self.database, self.name, columns=DEBEZIUM)
        self.publish("outbox")
        self.start_relay()
        self.outbox.insert(1)
        self.expect_record(b"k", b"{}", {"id": b"1", "event_type": b"made"})

    def test_canonical_name_takes_precedence_over_debezium_name(self) -> None:
        self.outbox = Outbox(self.database, self.name, more_columns=", aggregateid text, type text")
        self.publish("outbox")
        self.start_relay()
        self.outbox.insert(1, more={"aggregateid": "wrong", "type": "wrong"})
        self.expect_record(b"k", b"{}", {"id": b"1", "event_type": b"made"})

    def test_optional_columns_may_be_absent(self) -> None:
        self.sql("CREATE TABLE outbox (payload json, aggregate_id int, aggregate_type text, id int)")
        self.publish("outbox")
        self.start_relay()
        self.sql("INSERT INTO outbox VALUES ('[1]', 42, %s, 1)", self.name)
        self.expect_record(b"42", b"[1]", {"id": b"1"})

    def test_optional_columns_can_be_switched_off(self) -> None:
        self.sql(f"CREATE TABLE outbox {SIX}")
        self.publish("outbox")
        self.start_relay({f"source.columns.{part}": "" for part in ("id", "event_type", "trace_id")})
        self.sql("INSERT INTO outbox VALUES (%s, %s, 'k', 'made', '[1]', 'trace')", UUID, self.name)
        self.expect_record(b"k", b"[1]", {})

    def test_null_in_an_optional_column_is_a_null_header(self) -> None:
        self.sql(f"CREATE TABLE outbox {SIX}")
        self.publish("outbox")
        self.start_relay()
        self.sql("INSERT INTO outbox VALUES (%s, %s, 'k', NULL, '[1]', NULL)", UUID, self.name)
        self.expect_record(b"k", b"[1]", {"id": UUID.encode(), "event_type": None, "trace_id": None})

    def test_any_table_with_any_names_can_be_mapped(self) -> None:
        self.sql("""CREATE SCHEMA "my app"; CREATE TABLE "my app"."Out Box" ("Event Id" int, "the type"
                    text, "ключ" text, what text, body text, "order" text)""")
        self.publish('"my app"."Out Box"')
        self.start_relay({
            "source.table": "my app.Out Box", "source.columns.id": "Event Id",
            "source.columns.aggregate_type": "the type", "source.columns.aggregate_id": "ключ",
            "source.columns.event_type": "what", "source.columns.payload": "body",
            "source.columns.trace_id": "order"})
        self.sql("""INSERT INTO "my app"."Out Box" VALUES (1, %s, 'k', 'made', 'text', 'o')""", self.name)
        self.expect_record(b"k", b"text", {"id": b"1", "event_type": b"made", "trace_id": b"o"})

    def test_publication_can_have_any_name(self) -> None:
        self.outbox = Outbox(self.database, self.name)
        self.sql("""CREATE PUBLICATION "it's, a ""name""\" FOR TABLE outbox""")
        self.database.create_slot(self.slot)
        self.start_relay({"source.publication": 'it\'s, a "name"'})
        self.outbox.insert(1)
        self.expect_published(1)


class SeveralTablesTest(IntegrationTest):
    def prepare(self) -> None:
        self.sql("CREATE SCHEMA shop; CREATE SCHEMA bank")
        self.shop = Outbox(self.database, self.name, table="shop.outbox")
        self.bank = Outbox(self.database, self.name, table="bank.outbox", columns=DEBEZIUM)
        self.other = Outbox(self.database, self.name, table="public.outbox")
        self.publish("shop.outbox", "bank.outbox", "public.outbox")

    def test_each_table_has_its_own_mapping(self) -> None:
        self.start_relay({"source.tables": [
            {"name": "shop.outbox", "columns": {"event_type": ""}},
            {"name": "bank.outbox", "placement": [{"column": "type", "to": "header", "as": "kind"}]}]})
        self.shop.insert(1)
        self.bank.insert(2)
        self.settle()
        self.assertEqual([record.headers for record in self.published()], [
            [("id", b"1")], [("id", b"2"), ("event_type", b"made"), ("kind", b"made")]])

    def test_order_is_kept_across_tables(self) -> None:
        self.start_relay({"source.tables": [{"name": "shop.outbox"}, {"name": "bank.outbox"}]})
        for number in range(1, 50, 2):
            with self.database.transaction() as cursor:
                self.bank.insert(number, cursor=cursor)
                self.shop.insert(number + 1, cursor=cursor)
        self.expect_published(*range(1, 51))

    def test_published_table_that_is_not_configured_is_ignored(self) -> None:
        self.start_relay({"source.table": "shop.outbox"})
        self.other.insert(1)
        self.shop.insert(2)
        self.expect_published(2)


class PartitionedTableTest(IntegrationTest):
    def prepare(self) -> None:
        self.sql("""CREATE TABLE outbox (id bigint, aggregate_type text, aggregate_id text,
                        event_type text, payload jsonb) PARTITION BY RANGE (id);
                    CREATE TABLE first PARTITION OF outbox FOR VALUES FROM (0) TO (10)""")

    def insert(self, *ids: int) -> None:
        for number in ids:
            self.sql("INSERT INTO outbox VALUES (%s, %s, 'k', 'made', '{}')", number, self.name)

    def test_rows_of_old_and_new_partitions_are_published(self) -> None:
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert', "
                 "publish_via_partition_root = true)")
        self.database.create_slot(self.slot)
        self.start_relay()
        self.insert(1, 2)
        self.sql("CREATE TABLE second PARTITION OF outbox FOR VALUES FROM (10) TO (20)")
        self.insert(11, 3)
        self.expect_published(1, 2, 11, 3)

    def test_publication_without_publish_via_partition_root_is_refused(self) -> None:
        self.publish("outbox")
        self.expect_exit(78, "WR-2308")


if __name__ == "__main__":
    main()
