#!/usr/bin/python3
"""`walrelay setup`: the SQL that it prints and executes is valid for every mapping."""

import re
import subprocess
from pathlib import Path

from walrelay_dev.paths import REPOSITORY
from walrelay_dev.patience import patient
from walrelay_test.relay_config import relay_environment
from walrelay_test.servers import test_folder
from walrelay_test.testcase import IntegrationTest, main, relay_program

_DOUBLE = """
[source]
table = "app.events"
columns = { aggregate_type = "type", event_type = "type", trace_id = "", id = "event id" }
placement = [{ column = "tenant", to = "header" }, { column = "type", to = "header", as = "kind" },
             { column = "part", to = "partition" }]
"""
_SEVERAL = """
[[source.tables]]
name = "app.a"
[[source.tables]]
name = "app.b"
columns = { payload = "Body" }
"""


def documented() -> list[str]:
    """Every configuration example in the documentation that configures the source."""
    texts = [path.read_text() for path in (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md")))]
    examples = [each for text in texts for each in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    return [each for each in examples if "source" in each]


class SetupTest(IntegrationTest):
    def prepare(self) -> None:
        self.role = f"{self.name}_role"
        self.slot = f"{self.name}_slot"
        self.folder = test_folder() / f"{self.name}-setup"
        self.folder.mkdir()
        self.addCleanup(self.drop_role)

    def call(self, *arguments: str) -> str:
        run = subprocess.run([relay_program(), "setup", *arguments], cwd=self.folder, text=True, timeout=patient(60),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=relay_environment())
        self.assertEqual(run.returncode, 0, run.stdout)
        return run.stdout

    def file(self, text: str) -> list[str]:
        path = Path(self.folder / "example.toml")
        path.write_text(text)
        return ["--config", str(path), "--dsn", self.database.dsn, "--slot", self.slot, "--role", self.role]

    def drop_role(self) -> None:
        if self.sql("SELECT 1 FROM pg_roles WHERE rolname = %s", self.role):
            self.sql(f"DROP OWNED BY {self.role}; DROP ROLE {self.role}")

    def clear(self) -> None:
        self.sql("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", self.slot)
        for (name,) in self.sql("SELECT pubname FROM pg_publication"):
            self.sql(f'DROP PUBLICATION "{name}"')
        self.drop_role()
        for (schema,) in self.sql("SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'"):
            self.sql(f'DROP SCHEMA "{schema}" CASCADE')
        self.sql("CREATE SCHEMA public")

    def test_script_of_every_mapping_is_valid(self) -> None:
        for example in [*documented(), _DOUBLE, _SEVERAL]:
            with self.subTest(example):
                self.postgres.psql(self.call(*self.file(example)), self.name)
                self.clear()

    def test_every_mapping_is_complete_after_apply(self) -> None:
        for example in [*documented(), _DOUBLE, _SEVERAL]:
            with self.subTest(example):
                self.call(*self.file(example), "--apply", "--create-table")
                self.assertIn("Nothing to do", self.call(*self.file(example), "--apply", "--create-table"))
                self.clear()

    def test_examples_are_found_in_the_documentation(self) -> None:
        self.assertGreater(len(documented()), 3)

    def test_partitioned_table_is_published_by_its_root(self) -> None:
        self.sql("CREATE TABLE outbox (id bigint, aggregate_type text, aggregate_id text, event_type text, "
                 "payload jsonb) PARTITION BY RANGE (id)")
        self.sql("CREATE TABLE outbox_1 PARTITION OF outbox FOR VALUES FROM (0) TO (1000)")
        self.call(*self.file(""), "--apply")
        self.assertEqual(self.sql("SELECT pubviaroot FROM pg_publication"), [(True,)])
        self.start_relay({"source.slot": self.slot})
        self.sql("INSERT INTO outbox VALUES (1, %s, 'k', 'made', '{}')", self.name)
        self.expect_published(1)

    def test_publication_of_a_partitioned_table_is_completed(self) -> None:
        self.sql("CREATE TABLE outbox (id bigint, aggregate_type text, aggregate_id text, event_type text, "
                 "payload jsonb) PARTITION BY RANGE (id)")
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
        self.database.create_slot(self.slot)
        self.assertIn("publish_via_partition_root", self.call(*self.file(""), "--apply"))
        self.assertIn("Nothing to do", self.call(*self.file(""), "--apply"))

    def test_partitioned_table_is_created_with_partitions_ahead(self) -> None:
        self.call(*self.file(""), "--apply", "--create-table", "--partitioned", "daily")
        self.assertIn("Nothing to do", self.call(*self.file(""), "--apply", "--create-table", "--partitioned", "daily"))
        names = [name for (name,) in self.sql("SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = inhrelid "
                                              "WHERE inhparent = 'outbox'::regclass ORDER BY 1")]
        self.assertEqual((len(names), names[0]), (9, "outbox_default"))
        self.start_relay({"source.slot": self.slot})
        self.sql("INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload) "
                 "VALUES (%s, 'k', 'made', '{}')", self.name)
        self.sql("INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, created_at) "
                 "VALUES (%s, 'k', 'made', '{}', '2020-01-01')", self.name)
        self.settle()
        self.assertEqual(len(self.published()), 2)
        self.assertEqual(self.sql("SELECT count(*) FROM outbox_default"), [(1,)])

    def test_printed_script_of_a_partitioned_table_is_valid(self) -> None:
        for period in ("hourly", "daily", "weekly", "monthly"):
            with self.subTest(period):
                script = self.call(*self.file(_SEVERAL), "--create-table", "--partitioned", period)
                self.postgres.psql(script, self.name)
                self.clear()

    def test_partitions_that_a_table_lacks_are_created(self) -> None:
        self.call(*self.file(""), "--apply", "--create-table", "--partitioned", "weekly")
        (name,), = self.sql("SELECT max(relname) FROM pg_class WHERE relname ~ '^outbox_p[0-9]+$'")
        self.sql(f"DROP TABLE {name}")
        self.assertIn(f"-- done: partition {name}", self.call(*self.file(""), "--apply", "--partitioned", "weekly"))


if __name__ == "__main__":
    main()
