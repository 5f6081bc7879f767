"""walrelay without pipeline.progress."""

from walrelay_bench.program import Program
from walrelay_bench.system import Work, load


class Peer(load("walrelay")):  # type: ignore[misc]
    title = "walrelay, progress off"
    workloads = ("drain", "steady-1000")

    def launch(self, work: Work) -> list[Program]:
        return super().launch(work, "--set", "pipeline.progress=off")
