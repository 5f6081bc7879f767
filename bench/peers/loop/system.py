"""libpq and librdkafka in the shortest program that relays: tools/loop.cc."""

from walrelay_bench.environment import PUBLICATION, SLOT, program
from walrelay_bench.program import Program
from walrelay_bench.system import Programs, Work


class Peer(Programs):
    title = "featureless loop"
    has_stages = True
    workloads = ("steady", "drain", "transaction")

    def launch(self, work: Work) -> list[Program]:
        return [Program([program("bench/walrelay_loop"), self.dsn, self.environment.kafka.bootstrap, SLOT, PUBLICATION],
                        self.log, env=self.env())]
