"""The log of a chaos run: timestamped lines, printed to the terminal and kept for the report."""

import threading
import time


class FaultLog:
    """The log of one run. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._lock = threading.Lock()
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the start of the run."""
        return time.monotonic() - self._started

    def note(self, text: str) -> None:
        with self._lock:
            line = f"[{self.seconds:8.2f}] {text}"
            self.lines.append(line)
            print(line, flush=True)
