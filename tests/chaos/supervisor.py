"""Supervises the relay: restarts it after every exit that does not require an operator."""

import signal
import threading
import time
from collections import Counter

from fault_log import FaultLog
from walrelay_dev.process import wait_until
from walrelay_test.relay_process import RelayProcess

_LOOK_SECONDS = 0.02
_MEMORY_SECONDS = 0.25
_STOP_SECONDS = 60.0

# Exit codes after which packaging/systemd does not restart, and crashes that no injected signal explains.
_NEEDS_A_PERSON = {4: "a gap", 64: "an invalid command line", 77: "a missing permission",
                   78: "an invalid configuration"}
_CRASHES = {-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGFPE, -signal.SIGILL}


class Supervisor:
    """Runs `relay` until the end of the block. Its methods may be called from any thread.

    The relay is a child of the supervisor's thread and is killed with it.
    """

    def __init__(self, relay: RelayProcess, fault_log: FaultLog) -> None:
        self.relay = relay
        self.kills: list[float] = []  # the time of each, in ms
        self.exits: Counter[int] = Counter()
        self.failures: list[str] = []
        self.peak_mb = 0.0
        self._fault_log = fault_log
        self._lock = threading.RLock()
        self._paused = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Supervisor":
        self._thread.start()
        self.wait_running()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def wait_running(self) -> None:
        wait_until(lambda: self.relay.running() or self.failures, _STOP_SECONDS, "the relay to be started")

    def kill(self) -> None:
        """Sends SIGKILL; the relay is restarted shortly afterwards."""
        with self._lock:
            if self.relay.running():
                self._measure()
                self.kills.append(time.time_ns() / 1e6)
                self.relay.kill()
                self._note_exit()

    def terminate(self, seconds: float) -> None:
        """Sends SIGTERM; the relay must exit within `seconds`."""
        starts = self.relay.starts
        started = time.monotonic()
        self.relay.terminate()
        wait_until(lambda: self.relay.starts > starts or not self.relay.running(), seconds,
                   f"the relay to exit after SIGTERM; its log ends:\n{self.relay.log_text[-3000:]}")
        self._fault_log.note(f"  the relay exited {time.monotonic() - started:.2f} s after SIGTERM")

    def pause(self) -> None:
        with self._lock:
            self._paused = True
            self.relay.pause()

    def resume(self) -> None:
        with self._lock:
            self._paused = False
            self.relay.resume()

    def _run(self) -> None:
        measured = 0.0
        while not self._stopping.wait(_LOOK_SECONDS):
            with self._lock:
                if not self.relay.running():
                    self._start_again()
                elif time.monotonic() - measured > _MEMORY_SECONDS:
                    measured = time.monotonic()
                    self._measure()
        with self._lock:
            if self.relay.running():
                self.resume()
                self.relay.kill()

    def _start_again(self) -> None:
        if self.relay.starts > 0 and self._exit_is_new():
            self._note_exit()
        if not self.failures:
            self.relay.start()

    def _exit_is_new(self) -> bool:
        return sum(self.exits.values()) < self.relay.starts

    def _note_exit(self) -> None:
        code = self.relay.wait_exit()
        self.exits[code] += 1
        if code in _NEEDS_A_PERSON or code in _CRASHES:
            what = _NEEDS_A_PERSON.get(code, "a crash")
            self.failures.append(f"the relay exited with {code}, {what}; its log ends:\n"
                                 f"{self.relay.log_text[-4000:]}")
            self._fault_log.note(f"the relay exited with {code}, {what}")
        elif code not in (0, -signal.SIGKILL):
            self._fault_log.note(f"the relay exited with {code}")

    def _measure(self) -> None:
        try:
            self.peak_mb = max(self.peak_mb, self.relay.memory_mb())
        except (OSError, TypeError):
            pass  # it has just exited
