"""walrelay, with a topic of 48 partitions."""

from walrelay_bench.system import load


class Peer(load("walrelay")):  # type: ignore[misc]
    title = "walrelay, 48 partitions"
    workloads = ("drain", "steady-1000", "steady-5000")
    partitions = 48
