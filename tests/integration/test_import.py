#!/usr/bin/python3
"""A Debezium connector's configuration instead of walrelay.toml: imported, or run unchanged."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from psycopg2.extensions import parse_dsn
from walrelay_dev.patience import patient
from walrelay_test.servers import test_folder
from walrelay_test.testcase import (DEBEZIUM, IntegrationTest, Outbox, RelayProcess, main,
                      relay_program)

ROOT = Path(__file__).resolve().parents[2]
SECRET = "never to be shown"


class ImportTest(IntegrationTest):
    """A table with Debezium's columns, and the connector configuration for it."""

    def prepare(self) -> None:
        self.outbox = Outbox(self.database, self.name, columns=DEBEZIUM)
        self.publish("outbox")
        self.folder = test_folder() / f"{self.name}-import"
        self.folder.mkdir()

    def connector(self, **more: Any) -> dict[str, Any]:
        parts = parse_dsn(self.database.dsn)
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "plugin.name": "pgoutput",
            "database.hostname": parts["host"], "database.port": parts["port"],
            "database.user": parts["user"], "database.dbname": parts["dbname"],
            "database.password": SECRET,
            "topic.prefix": "srv", "slot.name": self.slot, "publication.name": "walrelay",
            "table.include.list": "public.outbox", "snapshot.mode": "no_data",
            "transforms": "outbox",
            "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
            "transforms.outbox.table.fields.additional.placement": "type:header:eventType",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "producer.override.bootstrap.servers": self.kafka.bootstrap,
        } | {name.replace("__", "."): value for name, value in more.items()}

    def write(self, connector: dict[str, Any]) -> str:
        path = self.folder / "connector.json"
        path.write_text(json.dumps({"name": "outbox", "config": connector}))
        return str(path)

    def without_workers_part(self, connector: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in connector.items() if "converter" not in name and "producer" not in name}

    def write_worker(self, name: str) -> None:
        (self.folder / name).write_text(
            f"bootstrap.servers={self.kafka.bootstrap}\n"
            "key.converter=org.apache.kafka.connect.storage.StringConverter\n"
            "value.converter=org.apache.kafka.connect.storage.StringConverter\n")

    def call(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """Standard output and standard error of a command that exits with `code`."""
        run = subprocess.run([relay_program(), *arguments], cwd=self.folder, text=True, timeout=patient(60),
                             capture_output=True)
        self.assertEqual(run.returncode, code, run.stderr)
        self.assertNotIn(SECRET, run.stdout + run.stderr)
        return run.stdout, run.stderr

    def start_file(self, path: str) -> RelayProcess:
        """A relay with this file, plus the settings that tests need."""
        return self.start_relay(config=Path(path), arguments=[
            "--set", "http.listen=127.0.0.1:0", "--set", "metrics.slot_poll_interval=200ms"])

    def expect_events(self) -> None:
        self.outbox.insert(1, payload='{"a": 1}')
        self.settle()
        record, = self.published()
        headers = dict(record.headers)
        self.assertEqual((record.key, record.value), (b"k", b'"{\\"a\\": 1}"'))
        self.assertEqual(headers["id"], b"1")
        self.assertIn("eventType", headers)
        self.assertEqual(headers["__debezium.context.connectorLogicalName"], b"srv")

    def test_connector_configuration_runs_unchanged(self) -> None:
        relay = self.start_file(self.write(self.connector()))
        relay.wait_for_log("imported")
        self.expect_events()
        self.assertNotIn(SECRET, relay.log_text)

    def test_imported_file_runs(self) -> None:
        connector = self.write(self.connector())
        toml, report = self.call("import", "debezium", connector)
        self.assertIn("[source]", toml)
        self.assertRegex(report, r"slot\.name +→ source\.slot")
        imported = self.folder / "imported.toml"
        imported.write_text(toml)
        self.call("check", "--offline", "-c", str(imported))
        self.start_file(str(imported))
        self.expect_events()

    def test_file_with_secrets_is_readable_by_its_owner_only(self) -> None:
        connector = self.write(self.connector())
        self.call("import", "debezium", connector, "-o", "whole.toml")
        whole = self.folder / "whole.toml"
        self.assertIn(SECRET, whole.read_text())
        self.assertEqual(whole.stat().st_mode & 0o777, 0o600)
        whole.chmod(0o644)
        _, report = self.call("import", "debezium", connector, "-o", "whole.toml", code=64)
        self.assertIn("already exists", report)
        self.assertIn("--force", report)
        self.call("import", "debezium", connector, "-o", "whole.toml", "--force")
        self.assertEqual(whole.stat().st_mode & 0o777, 0o600)
        self.assertEqual(list(self.folder.glob("whole.toml*")), [whole])
        _, report = self.call("import", "debezium", connector, "-o", "absent/whole.toml", code=78)
        self.assertIn("cannot be read or written", report)

    def test_refused_connector_writes_nothing(self) -> None:
        connector = self.write(self.connector(column__mask__hash="x", errors__tolerance="all"))
        toml, report = self.call("import", "debezium", connector, code=65)
        self.assertEqual(toml, "")
        self.assertIn("errors.tolerance", report)
        self.call("check", "--offline", "-c", connector, code=78)
        toml, _ = self.call("import", "debezium", connector, "--allow-lossy")
        self.assertIn("[source]", toml)

    def test_regex_that_re2_does_not_support_is_refused(self) -> None:
        connector = self.write(self.connector(
            transforms__outbox__route__topic__regex="(?<routedByValue>.*)(?!x)"))
        self.call("import", "debezium", connector, code=65)
        self.call("import", "debezium", connector, "--allow-lossy", code=65)

    def test_every_property_is_listed(self) -> None:
        connector = self.connector()
        _, report = self.call("import", "debezium", self.write(connector))
        for name in connector:
            self.assertTrue(re.search(rf"^  {re.escape(name)} ", report, re.MULTILINE), name)

    def test_import_reads_standard_input_and_a_worker_file(self) -> None:
        connector = self.without_workers_part(self.connector())
        self.write_worker("worker.properties")
        run = subprocess.run([relay_program(), "import", "debezium", "-", "--worker",
                              "worker.properties"], input=json.dumps(connector), text=True,
                             capture_output=True, cwd=self.folder, timeout=patient(60))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(self.kafka.bootstrap, run.stdout)

    def test_commands_of_the_guide_work_as_written(self) -> None:
        """Each walrelay command of docs/guides/from-debezium.md, in a folder with the files that it names."""
        self.write_worker("connect-distributed.properties")
        connector = self.without_workers_part(self.connector())
        self.write(connector)
        self.outbox.insert(1, payload='{"a": 1}')
        relay = self.start_relay(config=self.folder / "connector.json", arguments=[
            "--worker", str(self.folder / "connect-distributed.properties"), "--set", "http.listen=127.0.0.1:0"])
        self.settle()
        self.assertEqual(relay.stop(), 0)
        for command in self.guide_commands():
            with self.subTest(command):
                self.run_as_written(command, connector)

    def guide_commands(self) -> list[str]:
        page = (ROOT / "docs/guides/from-debezium.md").read_text()
        blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        lines = "".join(blocks).replace("\\\n", "").splitlines()
        commands = [re.sub(r" +#.*", "", line) for line in lines if re.search(r"(^|\| )walrelay ", line)]
        self.assertGreaterEqual(len(commands), 8)
        return commands

    def run_as_written(self, command: str, connector: dict[str, Any]) -> None:
        """With this test's servers in the place of kafka-1:9093, and the row's id."""
        source, _, walrelay = command.rpartition("| ")
        for written, here in (("kafka-1:9093", self.kafka.bootstrap), ("6f5252e0-…", "1"),
                              ("--seconds 600", "--seconds 1")):
            walrelay = walrelay.replace(written, here)
        arguments = walrelay.split()[1:]
        if arguments[0] == "run":
            self.assertEqual(arguments, ["run", "-c", "connector.json", "--worker", "connect-distributed.properties"])
            return  # the test has started it with these arguments
        if "-o" in arguments:
            (self.folder / arguments[arguments.index("-o") + 1]).unlink(missing_ok=True)
        (self.folder / "application.properties").write_text(self.server_properties(connector))
        text = (self.resource(connector) if source.startswith("kubectl")
                else (self.folder / "connector.json").read_text())
        run = subprocess.run([relay_program(), *arguments], input=text, cwd=self.folder, text=True, timeout=patient(120),
                             capture_output=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    @staticmethod
    def server_properties(connector: dict[str, Any]) -> str:
        lines = [f"debezium.{'' if name.startswith('transforms') else 'source.'}{name}={value}"
                 for name, value in connector.items()]
        headers = "debezium.format.header.class=org.apache.kafka.connect.storage.SimpleHeaderConverter"
        return "\n".join([*lines, headers, ""])

    @staticmethod
    def resource(connector: dict[str, Any]) -> str:
        text = "org.apache.kafka.connect.storage.StringConverter"
        return json.dumps({
            "apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaConnector", "metadata": {"name": "outbox"},
            "spec": {"class": connector["connector.class"],
                     "config": connector | {"key.converter": text, "value.converter": text}}})


if __name__ == "__main__":
    main()
