"""walrelay with prune.mode = "delete"."""

from walrelay_bench.system import load


class Peer(load("walrelay")):  # type: ignore[misc]
    title = "walrelay, pruning"
    workloads = ("drain", "steady-1000", "steady-5000", "steady-1000-long", "steady-5000-long")
    # As often as the proof advances: each pass deletes the rows of the last ten seconds.
    settings = ("prune.mode=delete", "prune.keep=0s", "prune.interval=10s")
