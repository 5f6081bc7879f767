"""Postgres' client, which discards the stream."""

import subprocess

from walrelay_bench.environment import PUBLICATION, SLOT
from walrelay_bench.program import Program
from walrelay_bench.system import Programs, Work
from walrelay_dev.postgres_binaries import client_program


class Peer(Programs):
    title = "pg_recvlogical → /dev/null"
    workloads = ("drain", "transaction", "gigabyte")
    relays = False

    def launch(self, work: Work) -> list[Program]:
        assert work.end is not None
        return [Program([client_program("pg_recvlogical"), "-d", self.dsn, "-S", SLOT, "--start", "-n",
                         "-o", "proto_version=1", "-o", f"publication_names={PUBLICATION}", "-E", work.end,
                         "-f", "/dev/null"], self.log)]

    def caught_up(self, work: Work) -> bool:
        return not self.alive()

    def failure(self) -> str | None:
        return None  # it exits by itself, at the end of the backlog

    @classmethod
    def versions(cls) -> dict[str, str]:
        shown = subprocess.run([client_program("pg_recvlogical"), "--version"], capture_output=True, text=True).stdout
        return {"pg_recvlogical": shown.split()[2]}
