"""walrelay without pipeline.progress."""

from walrelay_bench.system import load


class Peer(load("walrelay")):  # type: ignore[misc]
    title = "walrelay, progress off"
    workloads = ("drain", "steady-1000")
    settings = ("pipeline.progress=off",)
