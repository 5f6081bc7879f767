#!/usr/bin/python3
"""Postgres with TLS and a private authority: what is wrong with the connection string is an error that says what to write."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from walrelay_dev.certificates import Authority, use_in_postgres
from walrelay_dev.paths import REPOSITORY
from walrelay_dev.unprivileged_user import write_file
from walrelay_test.relay_config import relay_environment
from walrelay_test.servers import test_folder
from walrelay_test.testcase import IntegrationTest, main, relay_program


class PostgresTlsTest(IntegrationTest):
    postgres_options = {"tcp": True}

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        for name in ("authority", "other-authority"):
            (test_folder() / name).mkdir()
        cls.authority = Authority(test_folder() / "authority")
        cls.other = Authority(test_folder() / "other-authority")
        use_in_postgres(cls.postgres, cls.authority.issue("postgres", 30))

    def dsn(self, rest: str) -> str:
        return f"port={self.postgres.port} user=postgres dbname={self.name} {rest}"

    def run_with(self, dsn: str) -> tuple[str, str, str]:
        """The error with which `run` ends, its message and its remedy."""
        relay = self.start_relay({"source.dsn": dsn})
        self.assertEqual(relay.wait_exit(), 78, relay.log_text)
        if not (lines := relay.logs("failed")):  # reported as text, before there is a log
            return relay.log_text, relay.log_text, relay.log_text
        return lines[0]["code"], lines[0]["msg"], lines[0]["hint"]

    def expect_error(self, code: str, message: str, remedy: str, dsn: str) -> None:
        for found, expected in zip(self.run_with(self.dsn(dsn)), (code, message, remedy)):
            self.assertIn(expected, found)

    def test_verified_connection_relays(self) -> None:
        self.start_relay({"source.dsn": self.dsn(
            f"host=localhost sslmode=verify-full sslrootcert={self.authority.certificate}")})
        self.outbox.insert(1)
        self.expect_published(1)

    def test_missing_authority_file_is_a_configuration_error(self) -> None:
        self.expect_error("WR-2016", "sslmode=verify-full requires the file /no/such/ca.pem: No such file",
                            "sslrootcert=FILE", "host=localhost sslmode=verify-full sslrootcert=/no/such/ca.pem")

    def test_default_of_another_host_requires_an_authority_file(self) -> None:
        self.expect_error("WR-2016", ".postgresql/root.crt", "sslrootcert=FILE", "host=db.example")

    def test_certificate_of_another_authority_is_refused(self) -> None:
        self.expect_error("WR-2016", "certificate verify failed", "sslrootcert=FILE",
                            f"host=localhost sslmode=verify-full sslrootcert={self.other.certificate}")

    def test_name_that_is_not_in_the_certificate_is_refused(self) -> None:
        self.expect_error("WR-2016", 'does not match host name "db.example"', "host=NAME",
                            f"host=db.example hostaddr=127.0.0.1 sslmode=verify-full "
                            f"sslrootcert={self.authority.certificate}")

    def test_setup_says_what_to_write(self) -> None:
        run = subprocess.run([relay_program(), "setup", "--apply", "--dsn", self.dsn("host=db.example")], cwd="/",
                             capture_output=True, text=True, env=relay_environment())
        self.assertEqual(run.returncode, 78)
        self.assertIn("WR-2016", run.stderr)
        self.assertIn("sslrootcert=FILE", run.stderr)


class ClientCertificateTest(IntegrationTest):
    """The lines of docs/guides/postgres-logins.md for pg_hba.conf, and its DSN."""

    postgres_options = {"tcp": True}

    def setUp(self) -> None:
        super().setUp()
        folder = test_folder() / self.name
        folder.mkdir()
        folder.chmod(0o755)
        self.authority = Authority(folder)
        use_in_postgres(self.postgres, self.authority.issue("postgres", 30))
        write_file(self.postgres.data / "root.crt", self.authority.certificate.read_text(), self.postgres.data.owner())
        guide = (REPOSITORY / "docs/guides/postgres-logins.md").read_text().partition("## Client certificate")[2]
        lines = re.search(r"```\n(.*?)```", guide, re.DOTALL)[1]
        lines = lines.replace(" shop ", f" {self.name} ").replace("10.0.3.17/32", "127.0.0.1/32")
        rules = self.postgres.data / "pg_hba.conf"
        rules.write_text(lines + rules.read_text())
        self.postgres.psql("ALTER SYSTEM SET ssl_ca_file = 'root.crt'; CREATE ROLE walrelay LOGIN REPLICATION")
        self.postgres.psql("SELECT pg_reload_conf()")
        self.sql("GRANT SELECT ON outbox TO walrelay")

    def options(self, certificate: str = "") -> dict[str, Any]:
        return super().options() | {"source.dsn": f"postgresql://walrelay@localhost:{self.postgres.port}/{self.name}?"
                                    f"sslmode=verify-full&sslrootcert={self.authority.certificate}{certificate}"}

    def test_certificate_of_the_role_is_the_only_login(self) -> None:
        refused = self.start_relay(self.options())
        refused.wait_for_log("disconnected", code="WR-2002")
        self.assertEqual(refused.stop(), 0)
        key, certificate = self.authority.issue("walrelay", 30)
        key.chmod(0o600)
        self.start_relay(self.options(f"&sslcert={certificate}&sslkey={key}"))
        self.outbox.insert(1)
        self.expect_published(1)


class NoTlsTest(IntegrationTest):
    def options(self) -> dict[str, Any]:
        return super().options() | {"source.dsn": self.postgres.dsn(self.name, host="tcp") + " sslmode=verify-full "
                                    "sslrootcert=/etc/hostname"}

    def test_server_without_tls_is_a_configuration_error(self) -> None:
        relay = self.start_relay()
        line = relay.wait_for_log("failed", code="WR-1006")
        self.assertIn("allow_insecure = true in [source]", line["hint"])
        self.assertEqual(relay.wait_exit(), 78)


class TransportPolicyTest(unittest.TestCase):
    """Each login of each command obeys the policy, wherever libpq finds the host and the sslmode."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.folder.chmod(0o755)

    def call(self, *arguments: str, dsn: str, file: str = "", **variables: str) -> str:
        """What the command prints. It must refuse the connection."""
        config = self.folder / "walrelay.toml"
        config.write_text(f'[source]\ndsn = "{dsn}"\n[kafka]\nbootstrap_servers = "127.0.0.1:1"\n'
                          f'[pipeline]\nprogress = "off"\n[http]\nlisten = "127.0.0.1:1"\n{file}')
        run = subprocess.run([relay_program(), *arguments, "--config", config], cwd="/", text=True, timeout=60,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=relay_environment() | variables)
        self.assertIn("WR-1006", run.stdout, arguments)
        self.assertNotEqual(run.returncode, 0, arguments)
        return run.stdout

    def test_service_file_overrides_the_variable_as_in_libpq(self) -> None:
        services = self.folder / "services"
        services.write_text("[shop]\nhost=192.0.2.2\nsslmode=disable\nuser=u\ndbname=d\n")
        for command in (["check", "--offline"], ["check"], ["doctor"], ["run"], ["print"], ["status"], ["recover"],
                        ["setup", "--apply"], ["republish", "--all"], ["init", "--from-table", "outbox"],
                        ["progress", "init"]):
            for variables in ({"PGSSLMODE": "verify-full"}, {}):
                self.assertIn("sslmode=disable", self.call(*command, dsn="service=shop",
                                                           PGSERVICEFILE=str(services), **variables))

    def test_login_of_pruning_obeys_it(self) -> None:
        prune = ('[prune]\nmode = "delete"\nkeep = "1h"\n'
                 'dsn = "postgresql://pruner:PRUNEPASS@192.0.2.2:25999/shop?sslmode=disable"\n')
        for command in (["check", "--offline"], ["run"]):
            printed = self.call(*command, dsn="host=127.0.0.1 port=1 user=u dbname=d", file=prune)
            self.assertNotIn("PRUNEPASS", printed)


if __name__ == "__main__":
    main()
