#!/usr/bin/python3
"""Publication, tables and role are checked before anything is read."""

from walrelay_test.testcase import IntegrationTest, main


class PublicationTest(IntegrationTest):
    def publish(self, *tables: str) -> None:
        """Creates nothing: each test creates its own publication."""

    def expect_refused(self, code: str, publication: str, exit_code: int = 78) -> str:
        """Starts the relay with this publication and a slot created after it."""
        self.sql(publication)
        self.database.create_slot(self.slot)
        self.outbox.insert(1)
        message = self.expect_exit(exit_code, code)
        self.assertNotIn(self.topic, self.kafka.topics())
        return message

    def test_missing_publication_is_refused(self) -> None:
        self.expect_refused("WR-2301", "CREATE PUBLICATION another FOR TABLE outbox")

    def test_table_that_is_not_published_is_refused(self) -> None:
        self.assertIn("public.outbox", self.expect_refused(
            "WR-2303", "CREATE TABLE other (); CREATE PUBLICATION walrelay FOR TABLE other"))

    def test_publication_without_inserts_is_refused(self) -> None:
        self.expect_refused("WR-2304", "CREATE PUBLICATION walrelay FOR TABLE outbox "
                                       "WITH (publish = 'delete')")

    def test_row_filter_is_refused(self) -> None:
        self.expect_refused("WR-2304", "CREATE PUBLICATION walrelay FOR TABLE outbox WHERE (id > 5) "
                                       "WITH (publish = 'insert')")

    def test_column_list_with_all_mapped_columns_is_accepted(self) -> None:
        self.sql("ALTER TABLE outbox ADD private text")
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox (id, aggregate_type, aggregate_id, "
                 "event_type, payload) WITH (publish = 'insert')")
        self.database.create_slot(self.slot)
        self.start_relay()
        self.outbox.insert(1)
        self.expect_published(1)

    def test_column_list_without_a_mapped_column_blocks_publishing(self) -> None:
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox (id, aggregate_type, aggregate_id) "
                 "WITH (publish = 'insert')")
        self.database.create_slot(self.slot)
        relay = self.start_relay()
        self.outbox.insert(1)
        relay.wait_for_state("blocked")
        self.assertIn("WR-3001", relay.get("/readyz")[1])

    def test_missing_table_is_refused(self) -> None:
        self.sql("ALTER TABLE outbox RENAME TO outgoing")
        self.outbox.table = "outgoing"
        self.assertIn("public.outbox", self.expect_refused(
            "WR-2302", "CREATE PUBLICATION walrelay FOR TABLE outgoing"))

    def test_unlogged_table_is_refused(self) -> None:
        self.sql("ALTER TABLE outbox SET UNLOGGED")
        self.expect_refused("WR-2305", "CREATE PUBLICATION walrelay FOR ALL TABLES")

    def test_publication_of_all_tables_is_accepted(self) -> None:
        self.sql("CREATE PUBLICATION walrelay FOR ALL TABLES")
        self.database.create_slot(self.slot)
        self.start_relay()
        self.outbox.insert(1)
        self.expect_published(1)

    def test_publication_of_the_schema_is_accepted(self) -> None:
        self.sql("CREATE PUBLICATION walrelay FOR TABLES IN SCHEMA public WITH (publish = 'insert')")
        self.database.create_slot(self.slot)
        self.start_relay()
        self.outbox.insert(1)
        self.expect_published(1)

    def test_publication_younger_than_the_slot_never_loses_a_row_silently(self) -> None:
        self.database.create_slot(self.slot)
        self.outbox.insert(1)
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
        self.outbox.insert(2)
        before = self.database.confirmed(self.slot)
        relay = self.start_relay()
        relay.wait_for_log("disconnected", code="WR-2306", count=2)
        self.assertEqual(self.database.confirmed(self.slot), before)
        relay.wait_for_state("blocked")
        self.assertNotIn(self.topic, self.kafka.topics())


class RoleTest(IntegrationTest):
    def start_as(self, role: str) -> dict[str, str]:
        self.sql(f"CREATE ROLE {self.name}_user {role}")
        self.addCleanup(self.postgres.psql, f"DROP ROLE {self.name}_user")
        return {"source.dsn": self.postgres.dsn(self.name, user=f"{self.name}_user")}

    def test_role_without_replication_is_refused(self) -> None:
        self.expect_exit(77, "WR-2007", self.start_as("LOGIN"))

    def test_role_without_connect_is_told_so(self) -> None:
        options = self.start_as("LOGIN REPLICATION")
        self.sql(f"REVOKE CONNECT ON DATABASE {self.name} FROM public")
        message = self.expect_exit(77, "WR-2026", options)
        self.assertIn("CONNECT", message)
        self.sql(f"GRANT CONNECT ON DATABASE {self.name} TO {self.name}_user")
        self.addCleanup(self.sql, f"REVOKE CONNECT ON DATABASE {self.name} FROM {self.name}_user")
        self.start_relay(options)
        self.outbox.insert(1)
        self.expect_published(1)

    def test_role_needs_nothing_but_replication(self) -> None:
        options = self.start_as("LOGIN REPLICATION")
        self.sql("REVOKE ALL ON SCHEMA public FROM public; REVOKE ALL ON outbox FROM public")
        self.start_relay(options)
        self.outbox.insert(1)
        self.expect_published(1)

    def test_unknown_role_is_retried_and_reported(self) -> None:
        relay = self.start_relay({"source.dsn": self.postgres.dsn(self.name, user="missing_role")})
        relay.wait_for_log("disconnected", code="WR-2002", count=2)
        relay.wait_for_state("degraded")

    def test_missing_database_is_refused(self) -> None:
        self.expect_exit(78, "WR-2003", {"source.dsn": self.postgres.dsn("nowhere")})


class LoginTriggerTest(IntegrationTest):
    postgres_options = {"major": 17}

    def test_error_of_a_login_trigger_is_reported_as_it_is(self) -> None:
        self.sql("CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN "
                 "IF current_setting('application_name') LIKE 'walrelay%' THEN "
                 "RAISE 'not today' USING HINT = 'ask the administrator'; END IF; END $$; "
                 "CREATE EVENT TRIGGER refuse ON login EXECUTE FUNCTION refuse()")
        relay = self.start_relay()
        line = relay.wait_for_log("disconnected", code="WR-2025")
        self.assertIn("not today", line["msg"])
        self.assertIn("ask the administrator", line["msg"])
        self.sql("DROP EVENT TRIGGER refuse")
        self.outbox.insert(1)
        self.expect_published(1)


class WalLevelTest(IntegrationTest):
    postgres_options = {"settings": {"wal_level": "replica"}}

    def publish(self, *tables: str) -> None:
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")

    def test_wal_level_below_logical_is_refused(self) -> None:
        self.expect_exit(78, "WR-2008", {"source.create_slot": True})


if __name__ == "__main__":
    main()
