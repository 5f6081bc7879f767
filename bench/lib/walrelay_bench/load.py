"""tools/load as a process: writes at a rate, consumes each event, and reports the results."""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from typing import IO, Any

from walrelay_dev.errors import ServerError

from .environment import TOPIC, Environment, program


@dataclass(frozen=True)
class Rate:
    """Rate, duration and size of the written events."""

    per_second: int
    seconds: float
    warmup: float = 0         # before the measurement, seconds
    payload: int = 300        # bytes
    per_transaction: int = 1  # events
    timeout: float = 10       # after the last write: seconds without a record before the load stops waiting
    settle: float = 0         # after the last expected record: seconds to wait for repeated ones

    @property
    def events(self) -> int:
        return round(self.per_second * (self.seconds + self.warmup))


class Load:
    """The load process; it starts in the constructor."""

    def __init__(self, environment: Environment, table: str, rate: Rate) -> None:
        self.rate = rate
        words = {"dsn": environment.writer_dsn, "kafka": environment.kafka.bootstrap, "topic": TOPIC, "table": table,
                 "rate": rate.per_second, "seconds": rate.seconds, "warmup": rate.warmup, "payload": rate.payload,
                 "per-transaction": rate.per_transaction, "timeout": rate.timeout, "settle": rate.settle}
        argv = [word for name, value in words.items() for word in (f"--{name}", str(value))]
        # Files, because nothing reads the output while the process runs and a pipe would fill up.
        self._output, self._errors = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self._child = subprocess.Popen([program("bench/walrelay_load"), *argv], stdin=subprocess.DEVNULL,
                                       stdout=self._output, stderr=self._errors)

    def running(self) -> bool:
        return self._child.poll() is None

    def result(self) -> dict[str, Any]:
        """Waits until the process exits."""
        code = self._child.wait()
        if code != 0:
            raise ServerError(_all_of(self._errors).strip() or f"the load exited with code {code}")
        return json.loads(_all_of(self._output))

    def close(self) -> None:
        self._child.kill()
        self._child.wait()
        self._output.close()
        self._errors.close()


def _all_of(file: IO[str]) -> str:
    file.seek(0)
    return file.read()
