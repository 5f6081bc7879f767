"""Kafka's own load generator: the limit of the broker."""

from walrelay_bench.environment import TOPIC
from walrelay_bench.program import Program
from walrelay_bench.system import Programs, Work
from walrelay_dev.maven import resolve
from walrelay_dev.versions import KAFKA_VERSION


class Peer(Programs):
    title = "kafka-producer-perf-test"
    workloads = ("drain",)
    plugin = None

    def launch(self, work: Work) -> list[Program]:
        jars = resolve(f"kafka-tools-{KAFKA_VERSION}", [f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
                                                        "org.slf4j:slf4j-simple:1.7.36"], transitive=True)
        return [Program(["java", "-Xmx512m", "-XX:-UsePerfData", "-cp", f"{jars}/*",
                         "org.apache.kafka.tools.ProducerPerformance",
                         "--topic", TOPIC, "--num-records", str(work.events), "--record-size", str(work.payload),
                         "--throughput", "-1", "--command-config", self.folder / "producer.properties",
                         "--bootstrap-server", self.environment.kafka.bootstrap], self.log)]

    def caught_up(self, work: Work) -> bool:
        return not self.alive()

    def failure(self) -> str | None:
        return None  # it exits by itself

    @classmethod
    def versions(cls) -> dict[str, str]:
        return {"kafka-producer-perf-test": KAFKA_VERSION}
