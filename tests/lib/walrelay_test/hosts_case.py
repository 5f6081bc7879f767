"""Base of tests with several hosts in source.dsn: a primary and a hot standby."""

import shutil
import subprocess
from typing import Any

from walrelay_dev.postgres import Postgres

from .servers import test_folder
from .testcase import IntegrationTest


class HostsCase(IntegrationTest):
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

    def start_standby(self, upstream: dict[str, str] | None = None) -> tuple[str, int]:
        """A hot standby; without settings that name an upstream server, it has none."""
        folder = test_folder() / f"{self.name}-standby"
        self.postgres.stop()
        subprocess.run(["cp", "-a", self.postgres.directory, folder], check=True)
        self.postgres.start()
        signal = folder / "data" / "standby.signal"
        signal.touch()
        shutil.chown(signal, folder.owner(), folder.group())
        standby = Postgres(self.postgres.major, directory=folder, settings={**self.postgres.settings,
                                                           **(upstream or {"restore_command": "false"})})
        self.addCleanup(standby.remove)
        standby.start()
        self.standby = standby
        self.assertEqual(standby.psql("SELECT pg_is_in_recovery()"), "t")
        return str(folder), standby.port
