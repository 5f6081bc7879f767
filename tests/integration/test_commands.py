#!/usr/bin/python3
"""The first steps with walrelay: setup, check and run, as described in the README."""

import subprocess
from pathlib import Path

from walrelay_dev.patience import patient
from walrelay_test.relay_config import relay_environment
from walrelay_test.servers import test_folder
from walrelay_test.testcase import IntegrationTest, main, relay_program


class CommandTest(IntegrationTest):
    """An empty database, without the objects that walrelay needs, and servers without those of other tests."""

    postgres_options = {}
    kafka_options = {}

    def setUp(self) -> None:
        self.addCleanup(self.drop_role)  # after the database with its privileges is dropped
        super().setUp()

    def prepare(self) -> None:
        self.slot = "walrelay"
        self.folder = test_folder() / f"{self.name}-commands"
        self.folder.mkdir()

    def drop_role(self) -> None:
        self.postgres.psql("DROP ROLE IF EXISTS relaying")

    def call(self, *arguments: str, code: int = 0, environment: dict[str, str] | None = None) -> str:
        """Runs a command to completion and returns its output."""
        run = subprocess.run([relay_program(), *arguments], cwd=self.folder, text=True, timeout=patient(60),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             env=relay_environment() | (environment or {}))
        self.assertEqual(run.returncode, code, run.stdout)
        return run.stdout

    def setup(self, *more: str) -> str:
        return self.call("setup", "--dsn", self.database.dsn, "--apply", "--create-table", *more)

    def insert(self) -> None:
        self.sql("INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload) "
                 "VALUES (%s, 'k', 'made', '{}')", self.name)

    def write_file(self, text: str) -> None:
        (self.folder / "walrelay.toml").write_text(text)

    # --- setup ---

    def test_setup_prints_sql_and_changes_nothing(self) -> None:
        script = self.call("setup", "--dsn", self.database.dsn)
        self.assertEqual(self.sql("SELECT 1 FROM pg_publication"), [])
        self.assertLess(script.index("CREATE PUBLICATION"),
                        script.index("pg_create_logical_replication_slot"))

    def test_setup_script_runs_in_psql(self) -> None:
        script = self.call("setup", "--dsn", self.database.dsn, "--role", "relaying")
        self.postgres.psql(script, self.name)
        self.insert()
        self.assertIn("ok", self.call("check", "--dsn", self.database.dsn, "--kafka",
                                      self.kafka.bootstrap))

    def test_second_setup_finds_nothing_to_do(self) -> None:
        self.assertIn("CREATE PUBLICATION", self.setup("--role", "relaying"))
        self.assertIn("Nothing to do", self.setup("--role", "relaying"))

    def test_setup_publishes_inserts_only(self) -> None:
        self.setup()
        self.assertEqual(self.sql("SELECT pubinsert, pubupdate, pubdelete, pubtruncate "
                                  "FROM pg_publication"), [(True, False, False, False)])

    # --- check ---

    def test_check_reports_missing_objects_and_the_fix(self) -> None:
        printed = self.call("check", "--dsn", self.database.dsn, "--kafka", self.kafka.bootstrap, code=3)
        self.assertIn("problem", printed)
        self.assertIn("walrelay setup", printed)

    def test_check_passes_after_setup(self) -> None:
        self.setup()
        printed = self.call("check", "--dsn", self.database.dsn, "--kafka", self.kafka.bootstrap)
        self.assertNotIn("problem", printed)
        self.assertIn("topic from aggregate_type, key from aggregate_id", printed)

    def test_check_reports_unreachable_kafka(self) -> None:
        self.setup()
        self.assertIn("WR-4001", self.call("check", "--dsn", self.database.dsn, "--kafka",
                                           "127.0.0.1:1", code=3))

    def test_offline_check_connects_to_nothing(self) -> None:
        self.call("check", "--offline", "--dsn", "host=127.0.0.1 port=1", "--kafka", "127.0.0.1:1")

    def test_unknown_key_is_reported_with_its_position_and_a_suggestion(self) -> None:
        self.write_file('[source]\ndsn = "dbname=x"\n[kafka]\nbootstrap_server = "127.0.0.1:1"\n')
        printed = self.call("check", "--offline", code=78)
        for part in ("walrelay.toml:4:1", "bootstrap_server", "bootstrap_servers"):
            self.assertIn(part, printed)

    # --- run ---

    def expect_relayed(self, *arguments: str, environment: dict[str, str] | None = None) -> None:
        self.insert()
        with open(self.folder / "log", "wb") as log:
            relay = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", relay_program(), "run", *arguments],
                cwd=self.folder, stderr=log, env=relay_environment() | (environment or {}))
        self.addCleanup(relay.wait)
        self.addCleanup(relay.kill)
        self.wait_for_records(1)
        relay.terminate()
        self.assertEqual(relay.wait(60), 0, Path(log.name).read_text())

    def test_run_works_with_a_file_of_four_lines(self) -> None:
        self.setup()
        self.write_file(f'[source]\ndsn = "{self.database.dsn}"\n'
                        f'[kafka]\nbootstrap_servers = "{self.kafka.bootstrap}"\n')
        self.expect_relayed()

    def test_run_works_with_flags_only(self) -> None:
        self.setup()
        self.expect_relayed("--dsn", self.database.dsn, "--kafka", self.kafka.bootstrap)

    def test_run_works_with_environment_variables_only(self) -> None:
        self.setup()
        self.expect_relayed(environment={
            "WALRELAY_SOURCE__DSN": self.database.dsn,
            "WALRELAY_KAFKA__BOOTSTRAP_SERVERS": self.kafka.bootstrap})

    def test_run_works_as_the_role_created_by_setup(self) -> None:
        self.setup("--role", "relaying")
        self.expect_relayed("--dsn", f"{self.database.dsn} user=relaying", "--kafka",
                            self.kafka.bootstrap)

    def test_run_without_configuration_names_the_missing_key(self) -> None:
        self.assertIn("source.dsn", self.call("run", code=78))

    def test_unknown_flag_is_a_usage_error(self) -> None:
        self.assertIn("--nonsense", self.call("run", "--nonsense", code=64))


class DemoTest(IntegrationTest):
    postgres_options = {}

    def prepare(self) -> None:
        """The demo creates everything that it needs."""

    def test_demo_with_real_servers_leaves_nothing_in_the_database(self) -> None:
        run = subprocess.run([relay_program(), "demo", "--seconds", "6", "--postgres",
                              self.database.dsn, "--kafka", self.kafka.bootstrap], cwd="/",
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=patient(120))
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("0 lost", run.stdout)
        for catalogue in ("pg_publication", "pg_replication_slots", "pg_stat_user_tables"):
            self.assertEqual(self.sql(f"SELECT 1 FROM {catalogue}"), [], catalogue)


if __name__ == "__main__":
    main()
