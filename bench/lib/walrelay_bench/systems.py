"""The systems under measurement, as processes whose cost the kernel counts."""

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .stage import Stage, binary


@dataclass
class Usage:
    """What one process cost from its start to its end."""
    cpu_seconds: float
    peak_rss_mib: float


class Measured:
    """A process; its cost is known when it has ended."""

    def __init__(self, argv: Sequence[str | Path], stdout: int | None = subprocess.DEVNULL,
                 log: str = os.devnull) -> None:
        with open(log, "ab") as error:
            self._child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=error)
        self.stdout = self._child.stdout

    @property
    def pid(self) -> int:
        return self._child.pid

    def alive(self) -> bool:
        return self._child.poll() is None

    def end(self, number: int = signal.SIGTERM) -> Usage:
        os.kill(self.pid, number)
        return self.wait()

    def wait(self) -> Usage:
        _, status, usage = os.wait4(self.pid, 0)
        self._child.returncode = os.waitstatus_to_exitcode(status)
        return Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)

    def cpu_seconds(self) -> float:
        """So far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_rss_mib(self) -> float:
        """So far."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return 0


def walrelay(stage: Stage, slot: str, *settings: str, events: bool = False) -> Measured:
    arguments: list[str | Path] = [binary("src/cli/walrelay"), "run", "--dsn", stage.dsn, "--kafka", stage.kafka.bootstrap,
                                   "--slot", slot, "--set", "http.listen=", "--set", "log.level=warning"]
    for setting in settings:
        arguments += ["--set", setting]
    if events:
        arguments += ["--events", "json"]
    return Measured(arguments, stdout=subprocess.PIPE if events else subprocess.DEVNULL,
                    log=str(stage.postgres.log.parent / "walrelay.log"))


def pg_recvlogical(stage: Stage, slot: str, end: str) -> Measured:
    """Postgres' own client, which throws away what it reads: the limit that a reader can reach."""
    return Measured(["/usr/lib/postgresql/15/bin/pg_recvlogical", "-d", stage.dsn, "-S", slot, "--start", "-n",
                     "-o", "proto_version=1", "-o", "publication_names=walrelay", "-E", end, "-f", "/dev/null"])
