"""The featureless loop, with a topic of 200 partitions."""

from walrelay_bench.system import load


class Peer(load("loop")):  # type: ignore[misc]
    title = "featureless loop, 200 partitions"
    workloads = ("drain", "steady-1000", "steady-5000")
    partitions = 200
