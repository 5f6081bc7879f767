"""Reads topics while they are written."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from .errors import ServerError
from .kafka_records import (Record, admin, consumer, from_beginning, metadata,
                            partitions_of, to_record)
from .process import wait_until

_DISCOVERY_SECONDS = 0.25


class TopicReader:
    """Reads a topic, or all topics that match a ^regular expression, from the beginning and continues.

    A thread reads records one by one as they arrive, so `Record.received_ns` is suitable for latency
    measurements as long as this Python process does little else. Another thread polls for new topics
    and partitions, over a separate connection. The reader waits for brokers that are unavailable.
    `records` only grows, and may be read at any time. The owner calls close(), or uses `with`.
    """

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.records: list[Record] = []
        self._topic = topic
        self._taken = 0
        self._failure: BaseException | None = None
        self._closing = threading.Event()
        self._admin = admin(bootstrap)
        self._assigned: set[tuple[str, int]] = set()
        self._consumer = consumer(bootstrap)
        self._assign_new(metadata(self._admin))
        self._threads = [threading.Thread(target=self._guard, args=(work,), daemon=True)
                         for work in (self._read, self._keep_discovering)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> "TopicReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take(self) -> list[Record]:
        """The records that arrived since the last call; never waits."""
        self._check()
        new = self.records[self._taken:]
        self._taken += len(new)
        return new

    def wait_for(self, count: int, seconds: float) -> list[Record]:
        """Waits for at least `count` records and returns all of them."""
        wait_until(lambda: self._has(count), seconds, f"{count} records of {self._topic}")
        return list(self.records)

    def close(self) -> None:
        self._closing.set()
        for thread in self._threads:
            thread.join()
        self._consumer.close()

    def _has(self, count: int) -> bool:
        self._check()
        return len(self.records) >= count

    def _check(self) -> None:
        if self._failure is not None:
            raise ServerError(f"reading {self._topic} failed: {self._failure}")

    def _guard(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # raised again in the caller's thread, by _check
            self._failure = error

    def _read(self) -> None:
        while not self._closing.is_set():
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.records.append(to_record(message))

    def _keep_discovering(self) -> None:
        while not self._closing.wait(_DISCOVERY_SECONDS):
            try:
                topics = metadata(self._admin, timeout=2)
            except ServerError:
                continue  # no broker answers; the next poll may reach one
            self._assign_new(topics)

    def _assign_new(self, topics: Mapping[str, Any]) -> None:
        new = partitions_of(self._topic, topics) - self._assigned
        if new:
            self._consumer.incremental_assign(from_beginning(new))
            self._assigned |= new
