#!/usr/bin/python3
"""docs/quickstart.md, block by block: Postgres and Kafka with TLS and private authorities, an owner without superuser
rights, a user without root.

The blocks run as they are. Only the values of "Set these to yours" are those of the servers here, and HTTP listens on a
free port, because other tests run at the same time. With WALRELAY_TRANSCRIPT=1 prints each block, its output and its
duration. A person needs a moment from one block to the next; here the
test waits until the slot is confirmed. The package's test runs the installation.
"""

import os
import re
import shutil
import subprocess
import textwrap
import time
from typing import Any, ClassVar

from walrelay_dev.certificates import Authority, BrokerKeystore, use_in_postgres
from walrelay_dev.paths import REPOSITORY
from walrelay_dev.patience import patient
from walrelay_dev.ports import free_ports
from walrelay_dev.unprivileged_user import set_owner, unprivileged_user, write_file
from walrelay_test.page_runner import Block, Shell, blocks_of
from walrelay_test.relay_config import relay_environment
from walrelay_test.servers import test_folder
from walrelay_test.testcase import IntegrationTest, main, relay_program, wait_until

PAGE = REPOSITORY / "docs" / "quickstart.md"
SET_THESE = "# Set these to yours.\n"


class QuickstartTest(IntegrationTest):
    postgres_options: ClassVar[dict[str, Any]] = {"password": "administrator's", "tcp": True}
    kafka_options: ClassVar[dict[str, Any]] = {}

    @classmethod
    def setUpClass(cls) -> None:
        for name in ("postgres-authority", "kafka-authority"):
            (test_folder() / name).mkdir()
        cls.authority = Authority(test_folder() / "postgres-authority")
        cls.kafka_authority = Authority(test_folder() / "kafka-authority")
        keystore = BrokerKeystore(test_folder() / "kafka.pem", cls.kafka_authority.issue("kafka", 30))
        cls.kafka_options = keystore.kafka_options
        super().setUpClass()
        use_in_postgres(cls.postgres, cls.authority.issue("postgres", 30))

    def prepare(self) -> None:
        """A database as an administrator gives it to a team; a user's folder."""
        self.owner = f"{self.name}_owner"
        self.sql(f"CREATE ROLE {self.owner} LOGIN PASSWORD 'owner'; ALTER DATABASE {self.name} OWNER TO {self.owner}")
        self.addCleanup(self.drop_roles)
        self.user = unprivileged_user("nobody")
        self.home = test_folder() / f"{self.name}-home"
        self.home.mkdir()
        set_owner(self.home, self.user)
        self.http = f"127.0.0.1:{free_ports(1)[0]}"
        write_file(self.home / ".pgpass", f"*:*:*:{self.owner}:owner\n*:*:*:postgres:administrator's\n", self.user, 0o600)
        for name, authority in (("db-ca.pem", self.authority), ("kafka-ca.pem", self.kafka_authority)):
            write_file(self.home / name, authority.certificate.read_text(), self.user)

    def drop_roles(self) -> None:
        self.sql("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
        self.sql(f"ALTER DATABASE {self.name} OWNER TO postgres")
        for role in (self.owner, "walrelay"):
            if self.sql("SELECT 1 FROM pg_roles WHERE rolname = %s", role):
                self.sql(f"DROP OWNED BY {role} CASCADE; DROP ROLE {role}")

    def shell(self) -> Shell:
        programs = self.home / "bin"
        programs.mkdir()
        shutil.copy(relay_program(), programs / "walrelay")  # the build folder may be closed to other users
        return Shell(self.home, self.user, {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(self.home), "LC_ALL": "C.UTF-8",
                                            "WALRELAY_HTTP__LISTEN": self.http})

    def own_values(self, block: str) -> str:
        values = {"PGHOST": "localhost", "PGPORT": str(self.postgres.port), "PGDATABASE": self.name, "PGUSER": self.owner,
                  "PGSSLMODE": "verify-full", "PGSSLROOTCERT": str(self.home / "db-ca.pem"),
                  "KAFKA": self.kafka.config.secured_bootstrap, "KAFKA_CA": str(self.home / "kafka-ca.pem"),
                  "ADMINISTRATOR": "postgres"}
        names = re.findall(r"\b([A-Z_]+)=", block)
        self.assertEqual(sorted(names), sorted(values), "the page sets other variables than this test")
        return "export " + " ".join(f"{name}={value}" for name, value in values.items())

    def command(self, block: Block) -> str:
        if block.text.startswith(SET_THESE):
            return self.own_values(block.text)
        # ON_ERROR_STOP: a person would see the error.
        return block.text if block.language == "sh" else f"psql -v ON_ERROR_STOP=1 <<'SQL'\n{block.text}SQL"

    def run_block(self, shell: Shell, block: Block) -> str:
        began = time.monotonic()
        code, output = shell.run(self.command(block))
        if "WALRELAY_TRANSCRIPT" in os.environ:
            print(f"\n{textwrap.indent(block.text, '$ ')}{output.strip()}\n[{time.monotonic() - began:.1f} s]", flush=True)
        log = self.home / "walrelay.log"
        self.assertEqual(code, 0, f"{block.text}\n{output}\n{log.read_text()[-3000:] if log.exists() else ''}")
        if block.language == "sql":
            self.settle_slot()
        return output

    def settle_slot(self) -> None:
        end = self.database.log_end()
        wait_until(lambda: self.database.confirmed("walrelay") >= end, 60, "the slot to be confirmed")

    def expect_shown(self, expected: str, output: str) -> None:
        """Each line of the page is part of the output, with the name of the owner as it is here."""
        for line in expected.splitlines():
            self.assertIn(line.strip().replace("role shop", f"role {self.owner}"), output)

    def test_every_block_works(self) -> None:
        shown: list[str] = []
        with self.shell() as shell:
            output = ""
            for block in blocks_of(PAGE):
                if block.language in ("sh", "sql"):
                    output = self.run_block(shell, block)
                elif block.language == "text":
                    self.expect_shown(block.text, output)
                    shown.append(block.text)
                elif block.language == "toml":
                    self.expect_valid(shell, block.text)
        self.assertEqual(len(shown), 3)
        self.assertEqual((self.home / "walrelay.password").stat().st_mode & 0o777, 0o600)
        self.assertIn("all acknowledged events are confirmed", (self.home / "walrelay.log").read_text())
        (record,) = self.kafka.consume("outbox.event.order")
        self.assertEqual((record.key, record.value), (b"customer-7", b'{"order": 1, "total": 4200}'))

    def expect_valid(self, shell: Shell, text: str) -> None:
        write_file(self.home / "example.toml", text, self.user)
        code, output = shell.run("walrelay check --offline --config example.toml")
        self.assertEqual(code, 0, output)


class ErrorsTest(IntegrationTest):
    """The table "If something is wrong": each row is the error of a mistake, and says what to write."""

    postgres_options: ClassVar[dict[str, Any]] = {"password": "administrator's", "tcp": True}

    def prepare(self) -> None:
        pass

    def expect_error(self, code: str, what_to_write: str, *arguments: str) -> None:
        self.assertIn(f"| {code} |", PAGE.read_text())
        run = subprocess.run([relay_program(), *arguments], cwd="/", capture_output=True, text=True, timeout=patient(60),
                             env=relay_environment() | {"HOME": str(test_folder())})
        self.assertIn(run.returncode, (69, 77, 78), run.stdout + run.stderr)
        self.assertIn(code, run.stderr)
        self.assertIn(what_to_write, run.stderr)
        self.assertNotIn("No event is lost", run.stderr)  # there is no slot yet

    def setup_with(self, dsn: str) -> tuple[str, ...]:
        return "setup", "--apply", "--dsn", f"user=postgres dbname={self.name} {dsn}"

    def test_missing_authority_file(self) -> None:
        self.expect_error("WR-2016", "sslrootcert=FILE", *self.setup_with("host=db.internal"))

    def test_host_that_does_not_exist(self) -> None:
        self.expect_error("WR-2001", "Check host, port", *self.setup_with("host=db.invalid sslmode=verify-full "
                                                                         "sslrootcert=/etc/hostname"))

    def test_server_without_tls(self) -> None:
        self.expect_error("WR-1006", "allow_insecure = true in [source]", *self.setup_with(
            f"host=localhost port={self.postgres.port} sslmode=require"))

    def test_connection_string_without_tls(self) -> None:
        self.expect_error("WR-1006", "allow_insecure = true", *self.setup_with("host=postgres sslmode=disable"))

    def test_brokers_without_tls(self) -> None:
        self.expect_error("WR-1006", "allow_insecure = true", "check", "--offline", "--kafka", "kafka:9092",
                          "--dsn", "host=localhost")

    def test_wrong_password(self) -> None:
        self.expect_error("WR-2002", "pg_hba.conf", *self.setup_with(
            f"host=localhost port={self.postgres.port} password=wrong"))

    def test_local_file_needs_no_permission(self) -> None:
        run = subprocess.run([relay_program(), *self.setup_with(f"host=localhost port={self.postgres.port}"),
                              "--create-table"], cwd="/", capture_output=True, text=True,
                             env=relay_environment() | {"PGPASSWORD": self.postgres.password})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.sql("SELECT pg_drop_replication_slot('walrelay')")


if __name__ == "__main__":
    main()
