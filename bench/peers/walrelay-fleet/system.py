"""walrelay, all partitions of a table that is partitioned by hash of the key in one process."""

import json

from walrelay_bench.program import Program, children_of
from walrelay_bench.system import Work, load


class Peer(load("walrelay-shards")):  # type: ignore[misc]
    title = "walrelay, all shards in a process"

    def launch(self, work: Work) -> list[Program]:
        folder = self.environment.scratch(f"{self.name}-pipelines")
        for number in range(work.shards):
            (folder / f"shard-{number}.toml").write_text(
                "".join(f"{name} = {json.dumps(value)}\n" for name, value in self.options(number).items()))
        return [Program([self.executable(), "run", "--config-dir", folder, "--set", "http.listen=", "--set",
                         "log.level=warning"], self.log)]

    def pids(self) -> list[int]:
        """With the worker process. The resident memory of both counts what they share twice."""
        return [process for parent in super().pids() for process in (parent, *children_of(parent))]
