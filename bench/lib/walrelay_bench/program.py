"""Programs under measurement, and the resource usage of any process, as the kernel counts it."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from walrelay_dev.process import wait_until

_TICK = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """Usage of one process since its start. The memory of an exited process is 0."""

    cpu_seconds: float
    rss_mib: float
    peak_rss_mib: float


def cost_of(pid: int) -> Cost | None:
    """None if the process does not exist. A process that has exited but was not reaped still has its CPU time."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    memory = {line.split(":")[0]: int(line.split()[1]) / 1024
              for line in status.splitlines() if line.startswith(("VmRSS:", "VmHWM:"))}
    return Cost((int(stat[11]) + int(stat[12])) * _TICK, memory.get("VmRSS", 0), memory.get("VmHWM", 0))


def children_of(pid: int) -> list[int]:
    """The processes that its main thread started, and that were not reaped."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def cpu_of_tree(pid: int) -> float:
    """CPU seconds of a process and its children, including exited ones, such as Postgres' backends."""
    def times(path: Path) -> list[float]:
        return [int(word) * _TICK for word in path.read_text().rpartition(")")[2].split()[11:15]]
    seconds = sum(times(Path(f"/proc/{pid}/stat")))
    for child in children_of(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            seconds += sum(times(Path(f"/proc/{child}/stat"))[:2])
    return seconds


def stolen_cpu() -> float:
    """CPU seconds that the hypervisor gave to other machines."""
    return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8]) * _TICK


def processes_but(roots: Iterable[int]) -> list[int]:
    """All processes of the machine, including kernel threads, except `roots` and their descendants."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    ours = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return [pid for pid in parents if pid not in ours]


class Program:
    """A child process. Only `end` reaps it, so that its usage can be read until then."""

    def __init__(self, argv: Sequence[str | Path], log: Path, *, stdin: int | None = subprocess.DEVNULL,
                 stdout: int | None = None, env: Mapping[str, str] | None = None) -> None:
        with open(log, "ab") as output:
            self._child = subprocess.Popen(argv, stdin=stdin, stdout=output if stdout is None else stdout,
                                           stderr=output, env=env)
        self.pid = self._child.pid
        self.stdout = self._child.stdout

    def close_stdout(self) -> None:
        """Closes this process's end of the pipe, so that the writer notices when the reader exits."""
        assert self.stdout is not None
        self.stdout.close()

    def alive(self) -> bool:
        return self.exit_status() is None

    def exit_status(self) -> int | None:
        """None while it runs; otherwise its exit code, or the number of the signal that ended it."""
        if self._child.returncode is not None:
            return abs(self._child.returncode)
        exited = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return None if exited is None else exited.si_status

    def end(self, number: int = signal.SIGTERM, seconds: float = 120) -> None:
        """Sends the signal and waits; kills the process if it does not exit within `seconds`."""
        if self._child.returncode is not None:
            return
        self._child.send_signal(number)
        try:
            self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def wait(self, seconds: float, what: str) -> None:
        wait_until(lambda: not self.alive(), seconds, what)
