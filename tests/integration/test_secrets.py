#!/usr/bin/python3
"""Passwords are used and never shown."""

import re
import subprocess
from pathlib import Path
from typing import Any

from walrelay_dev.process import wait_until
from walrelay_test.testcase import IntegrationTest, RelayProcess, main, relay_program

CANARY = "canary'W \\%41é/@:#"  # has the special characters of URIs, libpq strings, shells and TOML
IN_URI = "canary%27W%20%5C%2541%C3%A9%2F%40%3A%23"
PART = "canary"  # survives every kind of quoting


class PasswordTest(IntegrationTest):
    postgres_options = {"password": CANARY, "tcp": True}

    def options(self) -> dict[str, Any]:
        return super().options() | {"log.level": "debug",
                                    "source.dsn": self.postgres.dsn(self.name, host="tcp")}

    def secret_file(self, content: str, mode: int = 0o600) -> str:
        path = Path(self.postgres.data.parent) / f"{self.name}-secret"
        path.write_text(content)
        path.chmod(mode)
        self.addCleanup(path.unlink)
        return str(path)

    def expect_hidden(self, relay: RelayProcess) -> None:
        """Checks that the password is in no log, page or command line of the relay."""
        places = {"log": relay.log_text, **{page: relay.get(page)[1] for page in
                                            ("/metrics", "/readyz?verbose", "/livez", "/")},
                  "command line": Path(f"/proc/{relay.pid}/cmdline").read_text()}
        for place, text in places.items():
            self.assertNotIn(PART, text, place)

    def expect_works_and_hides(self, options: dict[str, Any], **process: Any) -> None:
        relay = self.start_relay(options, **process)
        self.outbox.insert(1)
        self.expect_published(1)
        self.sql("SELECT pg_terminate_backend(%s)", self.database.walsender(self.slot))
        relay.wait_for_log("streaming", count=2)
        self.expect_hidden(relay)

    def test_password_from_a_file_is_used_and_hidden(self) -> None:
        self.expect_works_and_hides({"source.password_file": self.secret_file(CANARY + "\n")})

    def test_password_from_the_configuration_is_used_and_hidden(self) -> None:
        self.expect_works_and_hides({"source.password": CANARY})

    def test_password_in_the_connection_uri_is_used_and_hidden(self) -> None:
        self.expect_works_and_hides({"source.dsn": f"postgresql://postgres:{IN_URI}@127.0.0.1:"
                                                   f"{self.postgres.port}/{self.name}"})

    def test_password_from_pgpassword_is_used_and_hidden(self) -> None:
        self.expect_works_and_hides({}, environment={"PGPASSWORD": CANARY})

    def test_password_from_walrelay_environment_variable_is_used_and_hidden(self) -> None:
        self.expect_works_and_hides({}, environment={"WALRELAY_SOURCE__PASSWORD": CANARY})

    def test_wrong_password_is_refused_without_being_shown(self) -> None:
        relay = self.start_relay({"source.password": f"{CANARY}wrong"})
        relay.wait_for_log("disconnected", code="WR-2002", count=3)  # the login is retried
        relay.wait_for_state("degraded")
        self.expect_hidden(relay)

    def test_login_is_retried_until_it_succeeds(self) -> None:
        path = self.secret_file("not yet")
        relay = self.start_relay({"source.password_file": path})
        self.outbox.insert(1)
        relay.wait_for_log("disconnected", code="WR-2002", count=2)
        Path(path).write_text(CANARY)
        self.expect_published(1)

    def test_temporarily_unreadable_password_file_does_not_end_a_running_relay(self) -> None:
        path = self.secret_file(CANARY)
        relay = self.start_relay({"source.password_file": path})
        self.outbox.insert(1)
        self.settle()
        Path(path).chmod(0o644)
        self.sql("SELECT pg_terminate_backend(%s)", self.database.walsender(self.slot))
        relay.wait_for_log("disconnected", code="WR-1005", count=3)
        relay.wait_for_state("blocked")
        status, body = relay.get("/readyz")
        self.assertEqual(status, 503)
        self.assertIn("WR-1005", body)
        Path(path).chmod(0o600)
        self.outbox.insert(2)
        self.expect_published(1, 2)

    def test_invalid_connection_string_is_not_logged(self) -> None:
        relay = self.start_relay({"source.dsn": f"host=x password={CANARY}"})
        self.assertEqual(relay.wait_exit(), 78)
        self.assertNotIn(PART, relay.log_text)

    def test_configuration_with_a_password_that_others_can_read_is_reported(self) -> None:
        relay = self.new_relay({"source.password": CANARY})
        Path(relay.config).chmod(0o644)
        relay.start()
        line = relay.wait_for_log("secret_exposed")
        self.assertIn(f"{relay.config} contains source.password", line["msg"])
        self.assertIn("chmod o=", line["msg"])
        relay.wait_ready()

    def test_no_core_file_is_written(self) -> None:
        relay = self.start_relay({"source.password": CANARY})
        relay.wait_ready()
        limits = Path(f"/proc/{relay.pid}/limits").read_text()
        self.assertRegex(limits, r"Max core file size +0 +0 ")

    def test_no_command_writes_a_core_file(self) -> None:
        command = subprocess.Popen([relay_program(), "import", "debezium", "-"], cwd="/", stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(command.communicate)  # standard input ends, and with it the command
        limits = Path(f"/proc/{command.pid}/limits")
        wait_until(lambda: re.search(r"Max core file size +0 +0 ", limits.read_text()), 30, "no limit of core files")

    def test_password_file_readable_by_others_is_refused(self) -> None:
        self.expect_refused("WR-1005", {"source.password_file": self.secret_file(CANARY, 0o644)})

    def test_changed_password_file_is_read_at_the_next_connection(self) -> None:
        path = self.secret_file(CANARY)
        relay = self.start_relay({"source.password_file": path})
        self.outbox.insert(1)
        self.settle()
        self.sql("ALTER ROLE postgres PASSWORD 'another'")
        self.addCleanup(self.sql, "ALTER ROLE postgres PASSWORD %s", CANARY)
        Path(path).write_text("another")
        self.sql("SELECT pg_terminate_backend(%s)", self.database.walsender(self.slot))
        relay.wait_for_log("streaming", count=2)
        self.outbox.insert(2)
        self.expect_published(1, 2)

    def test_config_show_hides_passwords(self) -> None:
        shown = subprocess.run(
            [relay_program(), "config", "show", "--set", f"source.password={CANARY}",
             "--set", f"kafka.sasl_password={CANARY}", "--dsn", f"postgresql://u:{IN_URI}@h/d",
             "--kafka", "127.0.0.1:1"], capture_output=True, text=True, cwd="/", check=True)
        self.assertIn("***", shown.stdout)
        self.assertNotIn(PART, shown.stdout + shown.stderr)


class KafkaPasswordTest(IntegrationTest):
    def test_kafka_password_is_not_shown_when_the_login_fails(self) -> None:
        relay = self.start_relay({
            "log.level": "debug", "kafka.security_protocol": "SASL_PLAINTEXT",
            "kafka.sasl_mechanism": "PLAIN", "kafka.sasl_username": "walrelay",
            "kafka.sasl_password": CANARY, "kafka.librdkafka.debug": "broker,protocol"})
        self.outbox.insert(1)
        relay.wait_for_state("degraded")
        for text in (relay.log_text, relay.get("/readyz?verbose")[1], relay.get("/metrics")[1]):
            self.assertNotIn(PART, text)

    def test_debug_contexts_that_show_secrets_are_refused(self) -> None:
        self.expect_refused("WR-4006", {"kafka.librdkafka.debug": "security"})


if __name__ == "__main__":
    main()
