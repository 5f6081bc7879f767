"""The contents of the topic under measurement, as the broker reports them."""

from typing import Any

from walrelay_dev.errors import ServerError
from walrelay_dev.kafka_records import consumer, library


class Topic:
    """One topic whose records have LogAppendTime. Usable on any thread. The owner calls close().

    `transactions`: each partition ends with a marker.
    """

    def __init__(self, bootstrap: str, name: str, partitions: int, *, transactions: bool = False) -> None:
        kafka = library()
        self._marker = int(transactions)
        self._partitions = [kafka.TopicPartition(name, partition) for partition in range(partitions)]
        self._consumer = consumer(bootstrap)
        self._reader = consumer(bootstrap)
        self._bootstrap = bootstrap
        self._counter: Any = None  # for committed(), and what it has found
        self._counted = 0

    def close(self) -> None:
        self._consumer.close()
        self._reader.close()
        if self._counter is not None:
            self._counter.close()

    def count(self) -> int:
        """Records appended so far, including those that retention has removed.

        With transactions: up to the first open one, including the brokers' markers, of which each transaction has one in
        each of its partitions.
        """
        return sum(self._offsets(library().OFFSET_END))

    def committed(self) -> int:
        """Records without markers and without those of aborted transactions. Reads what was added since the last call."""
        ends = self._offsets(library().OFFSET_END)
        if self._counter is None:
            kafka = library()
            self._counter = consumer(self._bootstrap)
            self._counter.assign([kafka.TopicPartition(each.topic, each.partition, 0) for each in self._partitions])
        while any(at.offset < end for at, end in zip(self._counter.position(self._partitions), ends, strict=True)):
            self._counted += sum(message.error() is None for message in self._counter.consume(10_000, timeout=0.2))
        return self._counted

    def try_count(self) -> int | None:
        """Like count(); None while no broker answers."""
        try:
            return self.count()
        except ServerError:
            return None

    def first_append(self) -> float:
        """Time at which the first record was appended, by the broker's clock; seconds, with a precision of 1 ms."""
        return min(self._append_times([low for low, _ in self._bounds()]))

    def last_append(self) -> float:
        return max(self._append_times([max(low, high - 1 - self._marker) for low, high in self._bounds()]))

    def _bounds(self) -> list[tuple[int, int]]:
        """The first and the next offset of each partition."""
        kafka = library()
        return list(zip(self._offsets(kafka.OFFSET_BEGINNING), self._offsets(kafka.OFFSET_END), strict=True))

    def _offsets(self, end: int) -> list[int]:
        """The offset of this end of each partition. One request: a sample must not load the broker."""
        kafka = library()
        try:
            found = self._consumer.offsets_for_times(
                [kafka.TopicPartition(each.topic, each.partition, end) for each in self._partitions], timeout=5)
        except kafka.KafkaException as error:
            raise ServerError(f"cannot read the offsets of the topic: {error.args[0].str()}") from error
        for partition in found:
            if partition.error is not None:
                raise ServerError(f"cannot read the offsets of {partition.topic}: {partition.error.str()}")
        return [partition.offset for partition in found]

    def _append_times(self, offsets: list[int]) -> list[float]:
        """The times of the records at these offsets, one for each partition; those without a record are left out."""
        kafka = library()
        missing = {at.partition: at for at, offset, end in
                   zip(self._partitions, offsets, self._offsets(kafka.OFFSET_END), strict=True) if offset < end}
        self._reader.assign([kafka.TopicPartition(at.topic, at.partition, offsets[at.partition])
                             for at in missing.values()])
        times = []
        while missing:
            message = self._reader.poll(30)
            if message is None or message.error() is not None:
                why = "timed out" if message is None else message.error().str()
                raise ServerError(f"cannot read the records of {len(missing)} partitions: {why}")
            if missing.pop(message.partition(), None) is None:
                continue  # one record is enough
            kind, millis = message.timestamp()
            if kind != kafka.TIMESTAMP_LOG_APPEND_TIME:
                raise ServerError(f"{message.topic()} does not use LogAppendTime")
            times.append(millis / 1000)
        self._reader.unassign()
        return times
