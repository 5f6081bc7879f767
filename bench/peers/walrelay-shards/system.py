"""walrelay, one process per partition of a table that is partitioned by hash of the key."""

from walrelay_bench.environment import SLOT, shard_names
from walrelay_bench.program import Program
from walrelay_bench.system import Work, load


class Peer(load("walrelay")):  # type: ignore[misc]
    title = "walrelay, a process per shard"
    workloads = ("shards", "slots")
    has_stages = False  # several processes or pipelines
    _shards = 0

    def prepare(self, work: Work) -> None:
        self._shards = work.shards

    def adopt_slot(self) -> None:
        for number in range(self._shards):
            self.environment.copy_slot(SLOT, shard_names(number)[1], str(self.plugin))

    def drop_slots(self) -> None:
        super().drop_slots()
        for number in range(self._shards):
            self.environment.drop_slot(shard_names(number)[1])

    def options(self, number: int) -> dict[str, str]:
        """The options of the pipeline of a shard."""
        table, slot = shard_names(number)
        return {"source.dsn": self.dsn, "source.slot": slot, "source.publication": table,
                "source.table": f"public.{table}", "kafka.bootstrap_servers": self.bootstrap,
                "pipeline.id": f"{self._pipeline}.{number}"}

    def launch(self, work: Work) -> list[Program]:
        return [Program([self.executable(), "run", "--set", "http.listen=", "--set", "log.level=warning",
                         *(word for name, value in self.options(number).items() for word in ("--set", f"{name}={value}"))],
                        self.log) for number in range(work.shards)]
