"""walrelay with pipeline.mode = "exactly_once"."""

from walrelay_bench.system import load


class Peer(load("walrelay")):  # type: ignore[misc]
    title = "walrelay, exactly once"
    workloads = ("drain", "steady-1000", "kills", "kill-drain")
    transactions = True
    settings = ("pipeline.mode=exactly_once",)
