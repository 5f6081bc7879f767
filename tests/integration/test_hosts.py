#!/usr/bin/python3
"""Several hosts in source.dsn: the primary is meant, whichever it is."""

import shutil
import socket
import subprocess
from typing import Any

from testcase import IntegrationTest, main

from servers import test_folder
from walrelay_dev.postgres import Postgres


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
        """A hot standby, which follows nobody."""
        folder = test_folder() / f"{self.name}-standby"
        self.postgres.stop()
        subprocess.run(["cp", "-a", self.postgres.directory, folder], check=True)
        self.postgres.start()
        signal = folder / "data" / "standby.signal"
        signal.touch()
        shutil.chown(signal, folder.owner(), folder.group())
        standby = Postgres(15, directory=folder, settings={**self.postgres.settings,
                                                           "restore_command": "false"})
        self.addCleanup(standby.remove)
        standby.start()
        self.assertEqual(standby.psql("SELECT pg_is_in_recovery()"), "t")
        return str(folder), standby.port

    def deaf_host(self) -> tuple[str, int]:
        """Takes connections and says nothing."""
        folder = test_folder() / f"{self.name}-deaf"
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
        relay.wait_until(lambda: relay.metric("walrelay_slot_restart_lsn"), 60, "a look at the slot")

    def test_standby_is_passed_over(self) -> None:
        self.use(self.start_standby(), self.primary)
        self.expect_relayed()

    def test_host_that_is_not_there_is_passed_over(self) -> None:
        self.use(self.missing_host(), self.primary)
        self.expect_relayed()

    def test_host_that_says_nothing_is_passed_over(self) -> None:
        self.use(self.deaf_host(), self.missing_host(), self.primary)
        self.expect_relayed()

    def test_primary_that_is_away_is_waited_for(self) -> None:
        self.use(self.primary, self.start_standby())
        relay = self.start_relay()
        self.outbox.insert(1)
        self.expect_published(1)
        self.postgres.stop()
        relay.wait_for_log("disconnected", code="WR-2010")  # the only one that answers
        self.postgres.start()
        self.outbox.insert(2)
        self.expect_published(1, 2)

    def test_standbys_alone_are_told_as_such(self) -> None:
        self.use(self.start_standby(), self.missing_host())
        relay = self.start_relay()
        relay.wait_for_log("disconnected", code="WR-2010", count=2)

    def test_termination_does_not_wait_for_a_host_that_says_nothing(self) -> None:
        self.use(self.deaf_host())
        relay = self.new_relay({"source.connect_timeout": "60s"}).start()
        relay.wait_for_log("listening")
        self.assertEqual(relay.stop(20), 0)


if __name__ == "__main__":
    main()
