"""walrelay with source.wait_visible."""

from walrelay_bench.program import Program
from walrelay_bench.system import Work, load


class Peer(load("walrelay")):  # type: ignore[misc]
    title = "walrelay, wait_visible"
    workloads = ("drain", "steady-1000")

    def launch(self, work: Work) -> list[Program]:
        return super().launch(work, "--set", "source.wait_visible=true")
