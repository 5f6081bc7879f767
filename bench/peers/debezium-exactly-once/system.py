"""Debezium on a distributed worker of Kafka Connect with exactly-once support."""

from uuid import uuid4

from walrelay_bench.system import Work, load


class Peer(load("debezium")):  # type: ignore[misc]
    title = "Debezium, exactly once"
    workloads = ("drain", "steady-1000")
    transactions = True

    def cluster(self) -> str:
        return f"connect-{uuid4().hex}"

    def caught_up(self, work: Work) -> bool:
        # The slot is confirmed a flush interval later. Markers count in records(): reading begins near the end.
        return self.environment.records() > work.events and self.records() >= work.events
