"""walrelay with source.wait_visible."""

from walrelay_bench.system import load


class Peer(load("walrelay")):  # type: ignore[misc]
    title = "walrelay, wait_visible"
    workloads = ("drain", "steady-1000")
    settings = ("source.wait_visible=true",)
