"""walrelay with pipeline.mode = "topics"."""

from walrelay_bench.system import load


class Peer(load("walrelay")):  # type: ignore[misc]
    title = "walrelay, resume from topics"
    workloads = ("drain", "steady-1000", "kills", "kill-drain")
    settings = ("pipeline.mode=topics",)
