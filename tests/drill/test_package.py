#!/usr/bin/python3
"""Drills: docs/guides/install.md in a Debian system that systemd has booted, with the package as it was built."""

import unittest
from pathlib import Path

from walrelay_dev.patience import patient
from walrelay_dev.process import wait_until
from walrelay_package import booted, chroot
from walrelay_package.booted import Booted
from walrelay_package.debian import OUTPUT, DebianPackage
from walrelay_test.relay_config import to_toml
from walrelay_test.runbook import blocks_of
from walrelay_test.testcase import IntegrationTest, main

RELEASE = "bookworm"


def package() -> Path | None:
    return next(iter(sorted((OUTPUT / RELEASE).glob("walrelay_*.deb"))), None)


@unittest.skipIf(why := chroot.reason_not_possible() or booted.reason_not_possible(), why)
@unittest.skipUnless(package(), "the package is not built: scripts/dev package bookworm")
class PackageTest(IntegrationTest):
    postgres_options = {"tcp": True, "password": "of-the-superuser"}

    def setUp(self) -> None:
        super().setUp()
        self.system = Booted(RELEASE)
        self.addCleanup(self.system.close)
        built, root = package(), self.system.path("/root")
        for name, version in (("walrelay_OLD.deb", "0.0.1"), ("walrelay_NEW.deb", "9.0.0"), ("walrelay_NEWER.deb", "9.0.1")):
            DebianPackage.repack(built, root / name, version)
        self.role = f"{self.name}_role"
        self.rotate("first")
        self.sql(f"GRANT SELECT ON outbox TO {self.role}")
        self.addCleanup(self.postgres.psql, f"DROP OWNED BY {self.role}; DROP ROLE {self.role}", dbname=self.name)

    def rotate(self, password: str) -> None:
        """Sets the password of the role, and the file that the page installs."""
        exists = self.sql("SELECT 1 FROM pg_roles WHERE rolname = %s", self.role)
        self.sql(f"{'ALTER' if exists else 'CREATE'} ROLE {self.role} LOGIN REPLICATION PASSWORD '{password}'")
        self.system.path("/root/postgres.password").write_text(password + "\n")

    def configure(self, password_file: str, more: str = "") -> None:
        dsn = f"host=127.0.0.1 port={self.postgres.port} dbname={self.name} user={self.role}"
        settings = self.options() | {"source.dsn": dsn, "source.password_file": password_file}
        self.system.path("/etc/walrelay/walrelay.toml").write_text(to_toml(settings) + more)

    def type(self, first: str) -> str:
        """Types the block of the page that begins so; returns what it prints."""
        block = next(block for block in blocks_of("guides/install") if block.text.startswith(first))
        commands = block.text.replace("sudo ", "").replace("apt install", "apt-get install -y -qq").replace("\\\n", "")
        return "".join(self.system.type(line) for line in commands.splitlines() if line.strip())

    def pid(self) -> str:
        self.assertEqual(self.system.type("systemctl is-active walrelay").strip(), "active")
        return self.system.type("systemctl show -P MainPID walrelay").strip()

    def expect_events(self, *ids: int) -> None:
        self.outbox.insert(ids[-1])
        self.wait_for_records(len(ids))
        self.assertEqual(self.ids(), list(ids))

    def start(self) -> str:
        """Installs the older version, as the page says, and starts the unit; returns its process."""
        self.system.type("apt-get update -qq; apt-get install -y -qq --no-install-recommends ./walrelay_OLD.deb")
        self.type("sudo install -o root -g walrelay")
        self.configure("/etc/walrelay/postgres.password")
        self.system.type("systemctl start walrelay")
        self.expect_events(1)
        return self.pid()

    def test_upgrade_and_rollback(self) -> None:
        old = self.start()
        self.assertEqual(self.system.type(f"stat -c %U /proc/{old}").strip(), "walrelay")
        self.type("walrelay version")  # the upgrade
        new = self.pid()
        self.assertNotEqual(new, old)
        self.expect_events(1, 2)
        # The configuration has a key that the next version does not know.
        self.configure("/etc/walrelay/postgres.password", more="[other]\nkey = 1\n")
        said = self.system.type("apt-get install -y -qq --no-install-recommends ./walrelay_NEWER.deb")
        self.assertIn("WR-1002", said)
        self.assertIn("walrelay.service was not restarted", said)
        self.assertIn("install version 9.0.0 again", said)
        self.assertEqual(self.pid(), new)
        self.expect_events(1, 2, 3)
        self.configure("/etc/walrelay/postgres.password")
        self.system.type("systemctl restart walrelay")
        self.assertNotEqual(self.pid(), new)
        self.expect_events(1, 2, 3, 4)
        newest = self.pid()
        self.type("sudo apt install --allow-downgrades")
        self.assertNotEqual(self.pid(), newest)
        self.assertEqual(self.system.type("dpkg-query -W -f '${Version}' walrelay"), "0.0.1")
        self.expect_events(1, 2, 3, 4, 5)

    def test_rotation_of_a_file_of_the_group(self) -> None:
        pid = self.start()
        self.rotate("second")
        self.type("sudo install -o root -g walrelay")
        self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", self.role)
        self.expect_events(1, 2)
        self.assertEqual(self.pid(), pid)
        self.system.type("systemctl stop walrelay")
        self.system.type("walrelay check")  # a stopped unit is no obstacle

    def test_credentials_of_systemd(self) -> None:
        self.start()
        drop_in = self.system.path("/etc/systemd/system/walrelay.service.d")
        drop_in.mkdir()
        page = (Path(__file__).parents[2] / "docs/guides/install.md").read_text()
        (drop_in / "override.conf").write_text(page.split("```ini\n")[1].split("```")[0])
        self.configure("/run/credentials/walrelay.service/postgres")
        self.system.type("systemctl daemon-reload; systemctl restart walrelay")
        self.expect_events(1, 2)
        self.rotate("second")
        self.type("sudo install -o root -g walrelay")
        self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", self.role)
        wait_until(lambda: "WR-2002" in self.system.enter(["walrelay", "status"]).stdout, patient(60), "the old password to be refused")
        # The command with the file itself has the new password; the relay that runs keeps the old one until it is restarted.
        self.type("sudo walrelay doctor --set source.password_file")
        self.system.type("systemctl restart walrelay")
        self.expect_events(1, 2, 3)
        # Stopped, the unit has no credential.
        self.system.type("systemctl stop walrelay")
        check = self.system.enter(["walrelay", "check"])
        self.assertIn("WR-1005", check.stdout)
        self.assertIn("walrelay.service has this credential only while it runs", check.stdout)
        self.system.type("walrelay check --set source.password_file=/etc/walrelay/postgres.password")
        self.system.type("systemd-creds encrypt --name=postgres /etc/walrelay/postgres.password /etc/walrelay/postgres.cred")
        self.type("sudo sh -c 'WALRELAY_SOURCE__PASSWORD=")


if __name__ == "__main__":
    main()
