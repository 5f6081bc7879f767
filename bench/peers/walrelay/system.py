"""walrelay with its defaults, at-least-once."""

import subprocess
from uuid import uuid4

from walrelay_bench.environment import SLOT, Environment, program
from walrelay_bench.program import Program
from walrelay_bench.system import Programs, Work

_BINARY = "src/cli/walrelay"


class Peer(Programs):
    title = "walrelay"

    def __init__(self, name: str, environment: Environment) -> None:
        super().__init__(name, environment)
        self._pipeline = uuid4().hex

    def stop(self) -> None:
        super().stop()
        # The next run has a new slot: the record of this one's progress does not apply to it.
        self._pipeline = uuid4().hex

    def launch(self, work: Work, *more: str) -> list[Program]:
        # Rows of 1 MiB exceed the default limit.
        larger = ["--set", f"kafka.max_record_bytes={2 * work.payload}"] if work.payload > 500_000 else []
        return [Program([self.executable(), "run", "--dsn", self.dsn, "--kafka", self.environment.kafka.bootstrap,
                         "--slot", SLOT, "--set", f"http.listen={self.listen()}", "--set", "log.level=warning",
                         "--set", f"pipeline.id={self._pipeline}", *larger, *more],
                        self.log)]

    def executable(self) -> str:
        return str(program(_BINARY))

    def listen(self) -> str:
        return ""

    @classmethod
    def versions(cls) -> dict[str, str]:
        run = subprocess.run([program(_BINARY), "--version"], capture_output=True, text=True)
        return {"walrelay": run.stdout.strip()}
