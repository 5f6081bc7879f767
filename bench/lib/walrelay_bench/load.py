"""tools/load as a process: writes at a rate, sees each event arrive, and says what it saw."""

import json
import subprocess
from dataclasses import dataclass
from typing import Any

from walrelay_dev.errors import ServerError

from .stage import TOPIC, Stage, program


@dataclass(frozen=True)
class Rate:
    """What is written, and for how long."""

    per_second: int
    seconds: float
    warmup: float = 0         # comes first and is not measured, seconds
    payload: int = 300        # bytes
    per_transaction: int = 1  # events
    patience: float = 10      # gives up when nothing has come for so long after the writing, seconds
    settle: float = 0         # waits for more for so long after the last record, seconds

    @property
    def events(self) -> int:
        return round(self.per_second * (self.seconds + self.warmup))


class Load:
    """Begins at once."""

    def __init__(self, stage: Stage, table: str, rate: Rate) -> None:
        self.rate = rate
        words = {"dsn": stage.writer_dsn, "kafka": stage.kafka.bootstrap, "topic": TOPIC, "table": table,
                 "rate": rate.per_second, "seconds": rate.seconds, "warmup": rate.warmup, "payload": rate.payload,
                 "per-transaction": rate.per_transaction, "patience": rate.patience, "settle": rate.settle}
        argv = [word for name, value in words.items() for word in (f"--{name}", str(value))]
        self._child = subprocess.Popen([program("bench/walrelay_load"), *argv], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)

    def running(self) -> bool:
        return self._child.poll() is None

    def result(self) -> dict[str, Any]:
        """Waits for the end."""
        output, errors = self._child.communicate()
        if self._child.returncode != 0:
            raise ServerError(errors.strip() or f"the load ended with {self._child.returncode}")
        return json.loads(output)

    def close(self) -> None:
        self._child.kill()
        self._child.communicate()
