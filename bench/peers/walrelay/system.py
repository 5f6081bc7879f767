"""walrelay with its defaults, at-least-once."""

import os
import subprocess
from collections.abc import Sequence
from uuid import uuid4

from walrelay_bench.environment import SHARDED, SLOT, Environment, program
from walrelay_bench.program import Program
from walrelay_bench.system import Programs, Work

_BINARY = "src/cli/walrelay"


class Peer(Programs):
    title = "walrelay"
    has_stages = True
    settings: Sequence[str] = ()  # "option=value"

    def __init__(self, name: str, environment: Environment) -> None:
        super().__init__(name, environment)
        self._pipeline = uuid4().hex

    def stop(self) -> None:
        super().stop()
        # The next run has a new slot: the record of this one's progress does not apply to it.
        self._pipeline = uuid4().hex

    def launch(self, work: Work) -> list[Program]:
        # Rows of 1 MiB exceed the default limit.
        larger = ["--set", f"kafka.max_record_bytes={2 * work.payload}"] if work.payload > 500_000 else []
        source = ["--set", f"source.publication={SHARDED}", "--set", f"source.table=public.{SHARDED}"]
        return [Program([self.executable(), "run", *self._flags(), "--set", f"http.listen={self.listen()}", *larger,
                         *(source if work.shards else [])], self.log, env=self.env())]

    def adopt_slot(self) -> None:
        if any(each.startswith("pipeline.mode=") for each in self.settings):
            # The slot exists already: these modes publish nothing without a first record.
            subprocess.run([self.executable(), "progress", "init", *self._flags()], check=True, capture_output=True,
                           timeout=60)

    def _flags(self) -> list[str]:
        settings = ("log.level=warning", f"pipeline.id={self._pipeline}", *self.settings)
        return ["--dsn", self.dsn, "--kafka", self.bootstrap, "--slot", SLOT,
                *(word for each in settings for word in ("--set", each))]

    @property
    def bootstrap(self) -> str:
        return self.environment.kafka.bootstrap

    def executable(self) -> str:
        return os.environ.get("WALRELAY_BENCH_EXECUTABLE") or str(program(_BINARY))

    def listen(self) -> str:
        return ""

    @classmethod
    def versions(cls) -> dict[str, str]:
        run = subprocess.run([program(_BINARY), "--version"], capture_output=True, text=True)
        return {"walrelay": run.stdout.strip()}
