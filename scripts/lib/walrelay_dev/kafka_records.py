"""Records exactly as the broker stores them, and functions that read a whole topic.

This uses confluent-kafka, Debian's python3-confluent-kafka, instead of kcat. The binding returns keys,
values and header values as bytes or None; kcat -J writes bytes that are not UTF-8 into its JSON
unescaped, and kcat -f prints a NULL header as the word NULL and ends a value at its first zero byte.
The binding also manages topics without a JVM, and receives records without a pipe in between. One
limitation remains: header names are text, so it cannot read a name that is not UTF-8.
"""

import ctypes
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from .errors import ServerError
from .patience import Deadline

# By default librdkafka logs each broker that a test has killed to stderr, and enables Nagle's
# algorithm, which would increase the measured latencies.
CLIENT_SETTINGS: dict[str, Any] = {"log_level": 0, "socket.nagle.disable": True,
                                   "reconnect.backoff.max.ms": 500}

# What a reader sees of transactions: only the committed ones, up to the first one that is open; or every record.
COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"


@dataclass(frozen=True)
class Record:
    """One record. None is NULL and differs from b""; headers are in order and may repeat a name.

    `received_ns` is time.time_ns() on arrival here, to be compared with other clocks of this
    machine, such as Postgres' clock_timestamp().
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    received_ns: int = field(compare=False)


def library(name: str = "confluent_kafka") -> Any:
    """Imports the binding on first use, because starting and stopping a broker does not need it."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise ServerError("confluent_kafka is not installed for this Python; run: apt-get install "
                           "python3-confluent-kafka, and use /usr/bin/python3") from None


def consumer(bootstrap: str, **settings: Any) -> Any:
    """A consumer with manual assignment that starts at the beginning and commits no offsets.

    It skips records of open and aborted transactions (read_committed, the default).
    """
    return library().Consumer({**CLIENT_SETTINGS, "bootstrap.servers": bootstrap,
                               "group.id": "walrelay-dev", "enable.auto.commit": False,
                               "auto.offset.reset": "earliest", **settings})


def admin(bootstrap: str) -> Any:
    """A client for metadata and topics; a new one each time, because old ones keep using dead nodes."""
    return library("confluent_kafka.admin").AdminClient({**CLIENT_SETTINGS,
                                                         "bootstrap.servers": bootstrap})


def metadata(client: Any, timeout: float = 30) -> dict[str, Any]:
    """The metadata of every topic, including internal ones, by name."""
    try:
        return dict(client.list_topics(timeout=timeout).topics)
    except library().KafkaException as error:
        raise ServerError(f"no Kafka broker answers: {error.args[0].str()}") from error


def partitions_of(topic: str, topics: Mapping[str, Any]) -> set[tuple[str, int]]:
    """The partitions of `topic` in `topics`, which is a `metadata`.

    As in librdkafka, a `topic` that starts with ^ is a regular expression; it matches no internal
    topic; the names of internal topics start with __.
    """
    names = [topic] if not topic.startswith("^") else [
        name for name in topics if re.search(topic, name) and not name.startswith("__")]
    return {(name, partition) for name in names if name in topics
            for partition in topics[name].partitions}


def from_beginning(partitions: Iterable[tuple[str, int]]) -> list[Any]:
    """The assignment for a consumer.

    Uses offset 0, which auto.offset.reset corrects if that offset no longer exists, because with the
    logical OFFSET_BEGINNING a new consumer waits half a second for a timer of librdkafka.
    """
    return [library().TopicPartition(name, partition, 0) for name, partition in sorted(partitions)]


def to_record(message: Any) -> Record:
    received_ns = time.time_ns()
    headers = list(message.headers() or [])
    for _, value in headers:
        if value is None:
            _own_none()
    return Record(topic=message.topic(), partition=message.partition(), offset=message.offset(),
                  timestamp_ms=message.timestamp()[1], key=message.key(), value=message.value(),
                  headers=headers, received_ns=received_ns)


def _own_none() -> None:
    """Adds the reference to None that Debian 12's binding omits for a NULL header.

    After some thousands of missing references the interpreter would free None and abort.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(None))


def stream(bootstrap: str, topic: str, timeout: float = 60, isolation: str = COMMITTED) -> Iterator[Record]:
    """All records up to the current end as they arrive, in order within each partition."""
    partitions = partitions_of(topic, metadata(admin(bootstrap)))
    if not partitions:
        return
    reader = consumer(bootstrap, **{"enable.partition.eof": True, "fetch.wait.max.ms": 20,
                                    "isolation.level": isolation})
    try:
        reader.assign(from_beginning(partitions))
        deadline = Deadline(timeout)
        while partitions:
            if deadline.passed():
                raise ServerError(f"timed out after {deadline.elapsed:.0f} s waiting for the end of {partitions}")
            for message in reader.consume(1000, timeout=0.02):
                if message.error() is None:
                    yield to_record(message)
                elif message.error().code() == library().KafkaError._PARTITION_EOF:
                    partitions.discard((message.topic(), message.partition()))
    finally:
        reader.close()


def consume(bootstrap: str, topic: str, timeout: float = 60, isolation: str = COMMITTED) -> list[Record]:
    """All records up to the current end, sorted by topic, partition and offset; [] if no topic matches."""
    return sorted(stream(bootstrap, topic, timeout, isolation),
                  key=lambda record: (record.topic, record.partition, record.offset))
