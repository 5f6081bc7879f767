"""walrelay with its defaults, at-least-once."""

import subprocess

from walrelay_bench.environment import SLOT, program
from walrelay_bench.program import Program
from walrelay_bench.system import Programs, Work

_BINARY = "src/cli/walrelay"


class Peer(Programs):
    title = "walrelay"

    def launch(self, work: Work, *more: str) -> list[Program]:
        # Rows of 1 MiB exceed the default limit.
        larger = ["--set", f"kafka.max_record_bytes={2 * work.payload}"] if work.payload > 500_000 else []
        return [Program([self.executable(), "run", "--dsn", self.dsn, "--kafka", self.environment.kafka.bootstrap,
                         "--slot", SLOT, "--set", f"http.listen={self.listen()}", "--set", "log.level=warning", *larger,
                         *more],
                        self.log)]

    def executable(self) -> str:
        return str(program(_BINARY))

    def listen(self) -> str:
        return ""

    @classmethod
    def versions(cls) -> dict[str, str]:
        run = subprocess.run([program(_BINARY), "--version"], capture_output=True, text=True)
        return {"walrelay": run.stdout.strip()}
