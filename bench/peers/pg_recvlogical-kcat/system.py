"""A pipeline of two stock programs: the lower bound without features."""

import subprocess

from walrelay_bench.environment import SLOT, TOPIC
from walrelay_bench.program import Program
from walrelay_bench.system import Programs, Work
from walrelay_dev.postgres_binaries import client_program

_HELD = 4  # records that kcat may hold back until its input buffer has a KiB


class Peer(Programs):
    title = "pg_recvlogical ∣ kcat"
    workloads = ("steady", "drain", "transaction", "idle", "kills", "outage", "start")
    plugin = "wal2json"

    def launch(self, work: Work) -> list[Program]:
        reader = Program([client_program("pg_recvlogical"), "-d", self.dsn, "-S", SLOT, "--start", "-n", "-f", "-",
                          "-o", "format-version=2", "-o", "include-transaction=false",
                          "-o", "add-tables=public.outbox", "-o", "actions=insert"],
                         self.log, stdout=subprocess.PIPE)
        sender = Program(["kcat", "-P", "-b", self.environment.kafka.bootstrap, "-t", TOPIC,
                          "-F", self.folder / "kcat.conf"], self.log, stdin=reader.stdout)
        reader.close_stdout()
        return [reader, sender]

    def caught_up(self, work: Work) -> bool:
        return self.environment.records() >= work.events - _HELD

    @classmethod
    def versions(cls) -> dict[str, str]:
        shown = subprocess.run(["kcat", "-V"], capture_output=True, text=True).stdout
        package = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "postgresql-15-wal2json"],
                                 capture_output=True, text=True).stdout
        return {"kcat": shown.split("Version ")[-1].split()[0], "wal2json": package}
