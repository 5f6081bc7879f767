"""Debezium on Kafka Connect, tuned for latency and throughput."""

from walrelay_bench.system import load


class Peer(load("debezium")):  # type: ignore[misc]
    title = "Debezium, tuned"
