"""A reader that lets messages accumulate, and discards them: tools/discard.cc."""

from walrelay_bench.environment import PUBLICATION, SLOT, program
from walrelay_bench.program import Program
from walrelay_bench.system import Programs, Work


class Peer(Programs):
    title = "discarding reader"
    workloads = ("drain", "transaction", "gigabyte")
    relays = False

    def launch(self, work: Work) -> list[Program]:
        assert work.end is not None
        return [Program([program("bench/walrelay_discard"), self.dsn, SLOT, PUBLICATION, work.end], self.log)]

    def caught_up(self, work: Work) -> bool:
        return self._has_read_all()

    def failure(self) -> str | None:
        return None if self._has_read_all() else super().failure()

    def _has_read_all(self) -> bool:
        return self._running[0].exit_status() == 0
