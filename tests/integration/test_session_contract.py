#!/usr/bin/python3
"""Settings and objects of roles, databases and other users change no byte and run no foreign code."""

import subprocess
from typing import Any

import psycopg2
from walrelay_dev.patience import patient
from walrelay_test.hostile_database import MARK, make_hostile, statements, unqualified
from walrelay_test.relay_config import relay_environment
from walrelay_test.testcase import IntegrationTest, for_each_major, main, relay_program

_ROWS = 200
_LARGE = 30_000

# Columns whose text representation depends on session settings.
_COLUMNS = {
    "f4": ("real", "1e-5::real + n / 3::real"), "f8": ("float8", "n / 3::float8"),
    "f8s": ("float8[]", "ARRAY[n / 7::float8, NULL]"), "pt": ("point", "point(n / 3.0, 0.1)"),
    "day": ("date", "date '2024-02-03' + n"), "at": ("timestamp", "timestamp '2024-02-03 04:05:06.7' + n * interval '1 hour'"),
    "tz": ("timestamptz", "timestamptz '2024-02-03 04:05:06.7+00' + n * interval '1 hour'"),
    "span": ("tstzrange", "tstzrange(timestamptz '2024-02-03 04:05:06+00', NULL)"),
    "took": ("interval", "interval '1 day 2 hours 3 seconds' * n"), "raw": ("bytea", r"'\x00ff5c41'::bytea"),
    "cost": ("money", "n::money"), "doc": ("xml", "'<a/>'::xml"), "num": ("numeric", "n / 3::numeric"),
    "umlaut": ("text", "'ä€'")}


@for_each_major(IntegrationTest, settings={"log_statement": "all", "log_line_prefix": "%a|"})
class SessionContractTest:
    def setUp(self) -> None:
        self.addCleanup(self.drop_role)
        super().setUp()

    def prepare(self) -> None:
        columns = ", ".join(f"{name} {type}" for name, (type, _) in _COLUMNS.items())
        self.sql(f"CREATE TABLE outbox (id bigint, aggregate_type text, aggregate_id text, event_type text, "
                 f"payload jsonb, {columns})")
        self.publish("outbox")
        self.database.create_slot(f"{self.slot}_hostile")
        self.sql("CREATE ROLE relaying LOGIN REPLICATION")
        self.sql("GRANT SELECT ON outbox TO relaying")

    def drop_role(self) -> None:
        if self.postgres.running():
            self.postgres.psql("DROP ROLE IF EXISTS relaying")

    def insert(self, count: int) -> None:
        values = ", ".join(value for _, value in _COLUMNS.values())
        self.sql(f"INSERT INTO outbox SELECT n, %s, 'k' || n %% 5, 'made', "
                 f"jsonb_build_object('n', n), {values.replace('%', '%%')} FROM generate_series(1, {count}) n",
                 self.name)

    def contract_options(self, topic: str) -> dict[str, Any]:
        return {"route.topic": f"{topic}.${{routedByValue}}", "metrics.slot_poll_interval": "600ms",
                "source.placement": [{"column": name, "to": "header"} for name in _COLUMNS]}

    def records(self, topic: str) -> list[tuple]:
        return [(record.key, record.value, record.headers) for record in
                self.kafka.consume(f"{topic}.{self.name}")]

    def run_hostile(self) -> Any:
        return self.start_relay(self.contract_options("hostile") | {
            "source.dsn": f"{self.database.dsn} user=relaying", "source.slot": f"{self.slot}_hostile"})

    def call(self, command: str, *arguments: str, user: str = "relaying", codes: tuple = (0,)) -> str:
        run = subprocess.run(
            [relay_program(), command, "--dsn", f"{self.database.dsn} user={user}", "--slot",
             f"{self.slot}_hostile", *arguments], cwd="/", text=True, timeout=patient(120), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=relay_environment())
        self.assertIn(run.returncode, codes, run.stdout)
        return run.stdout

    def test_hostile_settings_and_objects_change_no_byte_and_run_no_code(self) -> None:
        self.insert(_ROWS)
        self.start_relay(self.contract_options("clean"))
        self.settle()
        make_hostile(self.database, "relaying")
        hostile = self.run_hostile()
        end = self.database.log_end()
        hostile.wait_until(lambda: self.database.confirmed(f"{self.slot}_hostile") >= end, 60, "confirmation")
        expected = self.records("clean")
        self.assertEqual(len(expected), _ROWS)
        self.assertEqual(self.records("hostile"), expected)
        headers = dict(expected[0][2])
        for name, text in {"f8": b"0.3333333333333333", "day": b"2024-02-04", "raw": b"\x00\xff\\A",
                           "took": b"1 day 02:00:03", "tz": b"2024-02-03 05:05:06.7+00"}.items():
            self.assertEqual(headers[name], text, name)
        # A long transaction, and slot samples that are far apart.
        self.insert(_LARGE)
        end = self.database.log_end()
        hostile.wait_until(lambda: self.database.confirmed(f"{self.slot}_hostile") >= end, 120, "confirmation")
        sampled = hostile.metric("walrelay_slot_last_sample_timestamp_seconds")
        hostile.wait_until(lambda: hostile.metric("walrelay_slot_last_sample_timestamp_seconds") > sampled + 1, 60,
                           "more slot samples")
        self.assertEqual(hostile.metric("walrelay_slot_sample_errors_total"), 0)
        self.assertEqual(hostile.logs("disconnected"), [])
        self.run_commands()
        self.expect_own_code_alone()

    def run_commands(self) -> None:
        self.assertIn("slot.reader", self.call("doctor", "--kafka", self.kafka.bootstrap, "--json", codes=(0, 3)))
        self.call("check", "--kafka", self.kafka.bootstrap, codes=(0, 3))
        self.call("status", "--set", "http.listen=")
        self.assertIn("id=1", self.call("print", "--id", "1"))
        self.insert(1)
        self.call("print", "--limit", "1")
        self.sql("ALTER ROLE postgres SET search_path = public, pg_catalog")
        self.sql("ALTER ROLE postgres SET default_transaction_read_only = on")
        try:
            self.call("setup", "--apply", "--create-table", "--role", "another", "--set", "source.table=app.events",
                      "--set", "source.publication=another", "--set", "source.slot=another", user="postgres")
            self.call("doctor", "--kafka", self.kafka.bootstrap, user="postgres", codes=(0, 3))
        finally:
            self.postgres.psql("SET default_transaction_read_only = off; SET search_path = pg_catalog;"
                               "ALTER ROLE postgres RESET ALL; DROP ROLE IF EXISTS another_unused")
        self.sql("SELECT pg_catalog.pg_drop_replication_slot('another')")
        self.sql("DROP PUBLICATION another; DROP SCHEMA app CASCADE; DROP ROLE another")

    def expect_own_code_alone(self) -> None:
        log = self.postgres.log.read_text(errors="replace")
        self.assertEqual([line for line in log.splitlines() if f"LOG:  {MARK}" in line and
                          line.startswith("walrelay|")], [])
        ran = statements(self.postgres.log, "walrelay")
        self.assertGreater(len(ran), 50)
        self.assertEqual({text: found for text in ran if (found := unqualified(text))}, {})

    def test_hostile_objects_take_effect_without_the_contract(self) -> None:
        """Without the contract the hostile code runs; otherwise the test above would prove nothing."""
        make_hostile(self.database, "relaying")
        connection = psycopg2.connect(f"{self.database.dsn} user=relaying "
                                      "options='-c statement_timeout=0 -c client_encoding=utf8'")
        self.addCleanup(connection.close)
        connection.autocommit = True
        connection.cursor().execute("SELECT current_setting('x'), name'a' = name'b'")
        log = self.postgres.log.read_text(errors="replace")
        self.assertIn(f"{MARK} current_setting", log)
        self.assertIn(f"{MARK} operator_0", log)

    def test_session_whose_warnings_are_hidden_is_refused(self) -> None:
        """A login trigger changes a setting after the connection is established."""
        if self.postgres.major < 17:
            self.skipTest("login triggers exist since Postgres 17")
        self.sql("""CREATE FUNCTION on_login() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
                    PERFORM set_config('client_min_messages', 'error', false); END $$;
                    CREATE EVENT TRIGGER hide ON login EXECUTE FUNCTION on_login();
                    ALTER EVENT TRIGGER hide ENABLE ALWAYS""")
        message = self.expect_exit(78, "WR-2013")
        self.assertIn('client_min_messages: expected "log", got "error"', message)


if __name__ == "__main__":
    main()
