"""Records as the broker has them, every byte of them, and reading a topic from end to end.

This uses confluent-kafka, Debian's python3-confluent-kafka, rather than kcat. It hands out keys,
values and header values as bytes or None; kcat -J puts bytes that are not UTF-8 into its JSON
unescaped, and kcat -f prints a NULL header as the word NULL and ends a value at its first zero
byte. The binding also manages topics without starting a JVM, and sees records arrive without a
pipe in between. One limit is left: header names are text, so it cannot read one that is not UTF-8.
"""

import ctypes
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from .errors import ServerError

# librdkafka would report to stderr each broker that a test has killed. Nagle's algorithm, on by
# default, would add to the latencies that are measured.
CLIENT_SETTINGS: dict[str, Any] = {"log_level": 0, "socket.nagle.disable": True,
                                   "reconnect.backoff.max.ms": 500}


@dataclass(frozen=True)
class Record:
    """One record. None is NULL, which is not b""; headers are in order and may repeat a name.

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
    """The binding; imported late, because to start and stop a broker one does not need it."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise ServerError("no confluent_kafka for this Python: apt-get install "
                           "python3-confluent-kafka, and use /usr/bin/python3") from None


def consumer(bootstrap: str, **settings: Any) -> Any:
    """A consumer that is assigned partitions by hand, starts at their beginning, commits nothing.

    Transactions that are open or were aborted are not seen (read_committed, the default).
    """
    return library().Consumer({**CLIENT_SETTINGS, "bootstrap.servers": bootstrap,
                               "group.id": "walrelay-dev", "enable.auto.commit": False,
                               "auto.offset.reset": "earliest", **settings})


def admin(bootstrap: str) -> Any:
    """A client for metadata and topics; a new one each time, as old ones hang on to dead nodes."""
    return library("confluent_kafka.admin").AdminClient({**CLIENT_SETTINGS,
                                                         "bootstrap.servers": bootstrap})


def metadata(client: Any, timeout: float = 30) -> dict[str, Any]:
    """What the brokers know of every topic, internal ones too, by name."""
    try:
        return dict(client.list_topics(timeout=timeout).topics)
    except library().KafkaException as error:
        raise ServerError(f"no Kafka broker answers: {error.args[0].str()}") from error


def partitions_of(topic: str, topics: Mapping[str, Any]) -> set[tuple[str, int]]:
    """The partitions of `topic` in `topics`, which is a `metadata`.

    As in librdkafka, a `topic` that starts with ^ is a regular expression; it matches no internal
    topic, all of which start with __.
    """
    names = [topic] if not topic.startswith("^") else [
        name for name in topics if re.search(topic, name) and not name.startswith("__")]
    return {(name, partition) for name in names if name in topics
            for partition in topics[name].partitions}


def from_beginning(partitions: Iterable[tuple[str, int]]) -> list[Any]:
    """What a consumer is to be assigned.

    Offset 0, which auto.offset.reset corrects where it is gone: a logical OFFSET_BEGINNING makes a
    new consumer wait half a second for a timer of librdkafka's.
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
    """Pays for a NULL header, for which the binding of Debian 12 takes a None without counting it.

    Some thousands of them later the interpreter would free its None, and end.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(None))


def stream(bootstrap: str, topic: str, timeout: float = 60) -> Iterator[Record]:
    """Everything up to the present end as it comes, which is in order within each partition."""
    partitions = partitions_of(topic, metadata(admin(bootstrap)))
    if not partitions:
        return
    reader = consumer(bootstrap, **{"enable.partition.eof": True, "fetch.wait.max.ms": 20})
    try:
        reader.assign(from_beginning(partitions))
        deadline = time.monotonic() + timeout
        while partitions:
            if time.monotonic() > deadline:
                raise ServerError(f"waited {timeout:g} s in vain for the end of {partitions}")
            for message in reader.consume(1000, timeout=0.1):
                if message.error() is None:
                    yield to_record(message)
                elif message.error().code() == library().KafkaError._PARTITION_EOF:
                    partitions.discard((message.topic(), message.partition()))
    finally:
        reader.close()


def consume(bootstrap: str, topic: str, timeout: float = 60) -> list[Record]:
    """Everything up to the present end, by topic, partition and offset; [] of no such topic."""
    return sorted(stream(bootstrap, topic, timeout),
                  key=lambda record: (record.topic, record.partition, record.offset))
