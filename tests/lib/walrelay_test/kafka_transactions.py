"""What brokers know of transactions, seen from outside: raw requests, which Debian 12's client library does not have.

Source: Kafka's protocol guide, DeleteRecords 1, FindCoordinator 1 and ListTransactions 0.
"""

import struct
from typing import cast

from walrelay_dev.errors import ServerError
from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.kafka_records import COMMITTED, UNCOMMITTED, consumer, library
from walrelay_dev.patience import patient
from walrelay_dev.process import wait_until

from .kafka_request import encode_string, send_request

_FIND_COORDINATOR, _DELETE_RECORDS, _LIST_TRANSACTIONS = 10, 21, 66
_TRANSACTION = 1  # kind of coordinator
_TIMEOUT_MS = 20_000
_SECONDS = 60.0
_ATTEMPT_SECONDS = 2.0  # of one request: while a broker starts, it may have no answer
_CHANGING = {"PrepareCommit", "PrepareAbort", "PrepareEpochFence"}  # markers are being written


def transactions(kafka: KafkaCluster) -> dict[str, str]:
    """The state of each transactional id, such as Ongoing or CompleteCommit, from all running brokers."""
    found = {}
    for node in kafka.node_ids:
        if kafka.node(node).running():
            answer = send_request("127.0.0.1", kafka.config.ports[node - 1], _LIST_TRANSACTIONS, 0, b"\1\1\0",
                                  flexible=True)
            found.update(_Answer(answer).transactions())
    return found


def state_of(kafka: KafkaCluster, part: str) -> str:
    """The state of the transactional id that contains `part`; "" if there is none."""
    states = [state for id, state in transactions(kafka).items() if part in id]
    if len(states) > 1:
        raise ServerError(f"{len(states)} transactional ids contain {part}")
    return states[0] if states else ""


def wait_until_ended(kafka: KafkaCluster, part: str, seconds: float = _SECONDS) -> str:
    """Waits until no commit or abort of the transactional id is under way; returns its state."""
    wait_for_markers(kafka, part, seconds)
    return state_of(kafka, part)


def wait_for_markers(kafka: KafkaCluster, part: str, seconds: float = _SECONDS) -> None:
    """Waits until every partition has the marker of each ended transaction whose id contains `part`."""
    def written() -> bool:
        try:
            return not any(state in _CHANGING for id, state in transactions(kafka).items() if part in id)
        except OSError:
            return False  # a broker starts or stops
    wait_until(written, seconds, f"the markers of {part}")


def coordinator(kafka: KafkaCluster, part: str) -> int:
    """The node that coordinates the transactional id that contains `part`."""
    (id,) = [each for each in transactions(kafka) if part in each]
    port = next(kafka.config.ports[node - 1] for node in kafka.node_ids if kafka.node(node).running())
    answer = send_request("127.0.0.1", port, _FIND_COORDINATOR, 1, encode_string(id) + bytes([_TRANSACTION]))
    error, length = struct.unpack_from(">hh", answer, 4)  # after the throttle time
    if error != 0:
        raise ServerError(f"no coordinator of {id}: error {error}")
    (node,) = struct.unpack_from(">i", answer, 8 + max(0, length))
    return int(node)


def ends(kafka: KafkaCluster, topic: str) -> dict[int, tuple[int, int]]:
    """The last stable offset and the high watermark of each partition: they are equal if no transaction is open."""
    found: dict[int, list[int]] = {}
    for isolation in (COMMITTED, UNCOMMITTED):
        for partition in range(kafka.topics()[topic]):
            found.setdefault(partition, []).append(_end(kafka, isolation, topic, partition))
    return {partition: (stable, high) for partition, (stable, high) in found.items()}


def _end(kafka: KafkaCluster, isolation: str, topic: str, partition: int) -> int:
    """The end of the partition for a reader with this isolation, also while the leader changes.

    Each attempt has a client of its own: one that connected while a broker started had no answer for four minutes.
    """
    def ask() -> tuple[int, int] | None:
        client = consumer(kafka.bootstrap, **{"isolation.level": isolation})
        try:
            return cast(tuple[int, int], client.get_watermark_offsets(place, timeout=patient(_ATTEMPT_SECONDS)))
        except library().KafkaException:
            return None
        finally:
            client.close()
    place = library().TopicPartition(topic, partition)
    return wait_until(ask, _SECONDS, f"the offsets of {topic}-{partition}")[1]


def delete_records(kafka: KafkaCluster, topic: str) -> None:
    """Deletes all records of a topic with one partition, as kafka-delete-records.sh does."""
    body = (struct.pack(">i", 1) + encode_string(topic) + struct.pack(">iiqi", 1, 0, -1, _TIMEOUT_MS))
    port = kafka.config.ports[kafka.leader(topic) - 1]
    answer = send_request("127.0.0.1", port, _DELETE_RECORDS, 1, body)
    (error,) = struct.unpack(">h", answer[-2:])
    if error != 0:
        raise ServerError(f"cannot delete the records of {topic}: error {error}")


class _Answer:
    """A response to ListTransactions."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def transactions(self) -> dict[str, str]:
        _, error = self._take(">ih")  # after the throttle time
        if error != 0:
            raise ServerError(f"the broker does not list its transactions: error {error}")
        for _ in range(self._varint() - 1):
            self._string()  # unknown filters
        found = {}
        for _ in range(self._varint() - 1):
            id = self._string()
            self._take(">q")  # the producer's id
            found[id] = self._string()
            self._varint()  # no tags
        return found

    def _take(self, layout: str) -> tuple:
        values = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return values

    def _varint(self) -> int:
        value = shift = 0
        while True:
            (byte,) = self._take("B")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _string(self) -> str:
        length = self._varint() - 1
        self._at += length
        return self._data[self._at - length:self._at].decode()
