#!/usr/bin/python3
"""Several hosts in source.dsn: the relay connects to the primary among them."""

import shutil
import socket
import subprocess
from typing import Any

from walrelay_dev.postgres import Postgres
from walrelay_test.servers import test_folder
from walrelay_test.testcase import IntegrationTest, main


class HostsTest(IntegrationTest):
    postgres_options: dict[str, Any] = {}

    def setUp(self) -> None:
        super().setUp()
        self.hosts: list[str] = []
        self.ports: list[str] = []

    def use(self, *hosts: tuple[str, int]) -> None:
        self.hosts = [host for host, _ in hosts]
        self.ports = [str(port) for _, port in hosts]

    def options(self) -> dict[str, Any]:
        return super().options() | {
            "source.dsn": f"host={','.join(self.hosts)} port={','.join(self.ports)} user=postgres "
                          f"dbname={self.name}", "source.connect_timeout": "2s"}

    @property
    def primary(self) -> tuple[str, int]:
        return str(self.postgres.directory), self.postgres.port

    def start_standby(self) -> tuple[str, int]:
        """A hot standby without an upstream server."""
        folder = test_folder() / f"{self.name}-standby"
        self.postgres.stop()
        subprocess.run(["cp", "-a", self.postgres.directory, folder], check=True)
        self.postgres.start()
        signal = folder / "data" / "standby.signal"
        signal.touch()
        shutil.chown(signal, folder.owner(), folder.group())
        standby = Postgres(self.postgres.major, directory=folder, settings={**self.postgres.settings,
                                                           "restore_command": "false"})
        self.addCleanup(standby.remove)
        standby.start()
        self.assertEqual(standby.psql("SELECT pg_is_in_recovery()"), "t")
        return str(folder), standby.port

    def silent_host(self) -> tuple[str, int]:
        """A host that accepts connections and sends nothing."""
        folder = test_folder() / f"{self.name}-silent"
        folder.mkdir()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(folder / ".s.PGSQL.5432"))
        listener.listen(100)
        self.addCleanup(listener.close)
        return str(folder), 5432

    def missing_host(self) -> tuple[str, int]:
        return "/no/such/folder", 5432

    def expect_relayed(self) -> None:
        relay = self.start_relay()
        self.outbox.insert(1)
        self.expect_published(1)
        self.assertEqual(relay.logs("disconnected"), [])
        relay.wait_until(lambda: relay.metric("walrelay_slot_restart_lsn"), 60, "a slot sample")

    def test_standby_is_skipped(self) -> None:
        self.use(self.start_standby(), self.primary)
        self.expect_relayed()

    def test_missing_host_is_skipped(self) -> None:
        self.use(self.missing_host(), self.primary)
        self.expect_relayed()

    def test_unresponsive_host_is_skipped(self) -> None:
        self.use(self.silent_host(), self.missing_host(), self.primary)
        self.expect_relayed()

    def test_relay_waits_for_an_unavailable_primary(self) -> None:
        self.use(self.primary, self.start_standby())
        relay = self.start_relay()
        self.outbox.insert(1)
        self.expect_published(1)
        self.postgres.stop()
        relay.wait_for_log("disconnected", code="WR-2010")  # the standby is the only host that answers
        self.postgres.start()
        self.outbox.insert(2)
        self.expect_published(1, 2)

    def test_hosts_without_a_primary_are_reported(self) -> None:
        self.use(self.start_standby(), self.missing_host())
        relay = self.start_relay()
        relay.wait_for_log("disconnected", code="WR-2010", count=2)

    def test_termination_does_not_wait_for_an_unresponsive_host(self) -> None:
        self.use(self.silent_host())
        relay = self.new_relay({"source.connect_timeout": "60s"}).start()
        relay.wait_for_log("listening")
        self.assertEqual(relay.stop(20), 0)


if __name__ == "__main__":
    main()
