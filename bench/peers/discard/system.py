"""The stream, read in bursts and discarded: the limit of the walsender."""

from walrelay_bench.system import Work, load


class Peer(load("loop")):  # type: ignore[misc]
    title = "stream, discarded"
    workloads = ("drain", "transaction")
    relays = False
    arguments = ("--discard",)

    def caught_up(self, work: Work) -> bool:
        return self.environment.is_confirmed(work.end)
