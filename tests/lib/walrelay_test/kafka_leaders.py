"""Moves the leaders of partitions while clients are connected.

Debian's client library supports neither request, so both are sent as raw protocol requests: first one that
reorders the replicas of a partition, then one that elects the first of them. No data moves.
Source: Kafka's protocol guide, AlterPartitionReassignments 0 and ElectLeaders 1.
"""

import random
import struct
from collections.abc import Mapping, Sequence

from walrelay_dev.errors import ServerError
from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.kafka_records import admin, metadata
from walrelay_dev.process import wait_until

from .kafka_request import encode_string, encode_varint, send_request

_ELECT_LEADERS = 43
_ALTER_PARTITION_REASSIGNMENTS = 45
_PREFERRED = 0
_TIMEOUT_MS = 20_000
_SECONDS = 30.0

# Topic to partition to the replicas, the leader first.
Replicas = Mapping[str, Mapping[int, Sequence[int]]]


def move_leaders(kafka: KafkaCluster, topics: Sequence[str], chance: random.Random) -> None:
    """Moves every partition of `topics` to another leader, and waits until it leads."""
    known = metadata(admin(kafka.bootstrap))
    wanted = {topic: {number: _other_first(partition, chance)
                      for number, partition in known[topic].partitions.items()} for topic in topics}
    ports = [kafka.config.ports[node - 1] for node in kafka.node_ids if kafka.node(node).running()]
    _request(ports[0], _ALTER_PARTITION_REASSIGNMENTS, 0, _reassignment(wanted), flexible=True)

    def elected() -> bool:
        # Again, because a node that has just returned cannot be elected yet.
        _request(ports[0], _ELECT_LEADERS, 1, _election(wanted), flexible=False)
        return _leads_first(kafka, wanted)
    wait_until(elected, _SECONDS, f"new leaders of {topics}")


def _other_first(partition: object, chance: random.Random) -> list[int]:
    others = [node for node in partition.replicas if node != partition.leader]
    chance.shuffle(others)
    return [*others, partition.leader] if partition.leader in partition.replicas else others


def _leads_first(kafka: KafkaCluster, wanted: Replicas) -> bool:
    known = metadata(admin(kafka.bootstrap))
    return all(known[topic].partitions[number].leader == replicas[0]
               for topic, partitions in wanted.items() for number, replicas in partitions.items())


def _reassignment(wanted: Replicas) -> bytes:
    body = struct.pack(">i", _TIMEOUT_MS) + _count(wanted)
    for topic, partitions in wanted.items():
        name = topic.encode()
        body += encode_varint(len(name) + 1) + name + _count(partitions)
        for number, replicas in partitions.items():
            body += struct.pack(">i", number) + _count(replicas)
            body += struct.pack(f">{len(replicas)}i", *replicas) + b"\0"
        body += b"\0"
    return body + b"\0"


def _election(wanted: Replicas) -> bytes:
    body = struct.pack(">bi", _PREFERRED, len(wanted))
    for topic, partitions in wanted.items():
        body += encode_string(topic)
        body += struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    return body + struct.pack(">i", _TIMEOUT_MS)


def _request(port: int, key: int, version: int, body: bytes, *, flexible: bool) -> None:
    """Sends a request and waits for the response, whose top-level error must be 0."""
    answer = send_request("127.0.0.1", port, key, version, body, flexible=flexible)
    _, error = struct.unpack_from(">ih", answer)  # after the throttle time
    if error != 0:
        raise ServerError(f"Kafka rejected request {key}: error {error}, {answer[6:200]!r}")


def _count(things: Sequence | Mapping) -> bytes:
    return encode_varint(len(things) + 1)
