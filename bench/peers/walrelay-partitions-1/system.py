"""walrelay, with a topic of 1 partition."""

from walrelay_bench.system import load


class Peer(load("walrelay")):  # type: ignore[misc]
    title = "walrelay, 1 partition"
    workloads = ("drain", "steady-1000", "steady-5000")
    partitions = 1
