#!/usr/bin/python3
"""Postgres with TLS and a private authority: what is wrong with the connection string is an error that says what to write."""

import subprocess
from typing import Any

from walrelay_dev.certificates import Authority, use_in_postgres
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


class NoTlsTest(IntegrationTest):
    def options(self) -> dict[str, Any]:
        return super().options() | {"source.dsn": self.postgres.dsn(self.name, host="tcp") + " sslmode=verify-full "
                                    "sslrootcert=/etc/hostname"}

    def test_server_without_tls_is_a_configuration_error(self) -> None:
        relay = self.start_relay()
        line = relay.wait_for_log("failed", code="WR-1006")
        self.assertIn("allow_insecure = true in [source]", line["hint"])
        self.assertEqual(relay.wait_exit(), 78)


if __name__ == "__main__":
    main()
