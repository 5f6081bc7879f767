"""Server processes: start them in a new session, wait for them with a deadline, signal them.

A `Process` is identified by its pid and start time, so that a later command can find it through its
pid file, and a reused pid is never signalled.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from .errors import ServerError
from .patience import Deadline
from .unprivileged_user import run_as

T = TypeVar("T")

_POLL_SECONDS = 0.02


def wait_until(predicate: Callable[[], T], seconds: float, what: str) -> T:
    """Returns the first truthy result of `predicate`; raises a ServerError with `what` after `seconds`.

    On a slow machine later: `walrelay_dev.patience`.
    """
    deadline = Deadline(seconds)
    while True:
        if result := predicate():
            return result
        if deadline.passed():
            raise ServerError(f"timed out after {deadline.elapsed:.0f} s waiting for {what}")
        time.sleep(_POLL_SECONDS)


class Process:
    """One process, running or exited; a child of this process or not."""

    def __init__(self, pid: int, child: "subprocess.Popen[bytes] | None" = None) -> None:
        self.pid = pid
        self._child = child
        self._started = _start_time(pid)

    @classmethod
    def spawn(cls, argv: Sequence[str | Path], log: Path, *, user: str | None = None,
              cwd: Path | None = None, env: Mapping[str, str] | None = None) -> "Process":
        """Starts `argv` and appends its output to `log`; it outlives this process unless it is stopped."""
        with open(log, "ab") as output:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                     start_new_session=True, cwd=cwd, env=env, **run_as(user))
        return cls(child.pid, child)

    @classmethod
    def load(cls, path: Path) -> "Process | None":
        """The process that `save` wrote to `path`, if it is still running."""
        try:
            pid, started = path.read_text().split()
        except FileNotFoundError:
            return None
        process = cls(int(pid))
        return process if process._started == started else None

    def save(self, path: Path) -> None:
        path.write_text(f"{self.pid} {self._started}\n")

    def alive(self) -> bool:
        """False once it has exited, even if it has not been reaped yet."""
        if self._child is not None:
            return self._child.poll() is None
        return self._started is not None and _start_time(self.pid) == self._started

    def reaped(self) -> bool:
        """Whether it has been reaped, so that the pid is free again."""
        return not self.alive() and not Path(f"/proc/{self.pid}").exists()

    @property
    def exit_code(self) -> int | None:
        """Like subprocess.Popen.returncode; None while it runs, or if it is not a child of this process."""
        return self._child.poll() if self._child is not None else None

    def signal(self, number: int) -> None:
        """Sends a signal; does nothing if the process has exited."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def pause(self, seconds: float = 60) -> None:
        """Sends SIGSTOP and waits until all threads have stopped; SIGCONT resumes them."""
        self.signal(signal.SIGSTOP)
        wait_until(lambda: not self.alive() or _has_stopped(self.pid), seconds, f"process {self.pid} to stop running")

    def wait(self, seconds: float, what: str | None = None) -> int | None:
        """Waits until it has exited and returns `exit_code`."""
        wait_until(lambda: not self.alive(), seconds, what or f"process {self.pid} to exit")
        return self.exit_code

    def kill(self, seconds: float = 60) -> None:
        """Sends SIGKILL and waits until it has exited."""
        self.signal(signal.SIGKILL)
        self.wait(seconds)


def _has_stopped(pid: int) -> bool:
    try:
        states = {_stat(path)[0] for path in Path(f"/proc/{pid}/task").glob("*/stat")}
    except (FileNotFoundError, ProcessLookupError):
        return False  # a thread has ended meanwhile
    return states <= set("TZX")


def _stat(path: Path) -> list[str]:
    """The fields of proc_pid_stat(5) from the third one, the state."""
    return path.read_text().rpartition(")")[2].split()


def _start_time(pid: int) -> str | None:
    """Clock ticks from boot to the start of `pid`; None if it does not exist or is a zombie."""
    try:
        fields = _stat(Path(f"/proc/{pid}/stat"))
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields[19]
