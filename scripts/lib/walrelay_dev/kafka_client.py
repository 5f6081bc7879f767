"""Operations that tests perform on a Kafka cluster, whether or not they started it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any

from .errors import ServerError
from .kafka_reader import TopicReader
from .kafka_records import COMMITTED, Record, admin, consume, library, metadata, stream
from .process import wait_until

_SECONDS = 60.0


class KafkaClient:
    """Topics and records of the cluster at `bootstrap`; holds no connection."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def create_topic(self, name: str, partitions: int = 1, replication: int | None = None,
                     config: Mapping[str, str | int] | None = None) -> None:
        """Creates a topic and waits for its leaders. `replication` defaults to the broker's default."""
        topic = library("confluent_kafka.admin").NewTopic(
            name, partitions, -1 if replication is None else replication,
            config=_texts(config or {}))
        self._request(lambda client: client.create_topics([topic]), f"create topic {name}")
        wait_until(lambda: self._has_leaders(name, partitions), _SECONDS, f"leaders of {name}")

    def delete_topic(self, name: str) -> None:
        """Deletes a topic and waits until it no longer exists."""
        self._delete({name})

    def delete_topics(self, names: Iterable[str]) -> None:
        """Deletes those of the topics that exist, and waits until none of them does."""
        self._delete(self.topics().keys() & set(names))

    def _delete(self, names: Set[str]) -> None:
        for name in sorted(names):
            self._request(lambda client, name=name: client.delete_topics([name]), f"delete topic {name}")
        wait_until(lambda: names.isdisjoint(self.topics()), _SECONDS, f"topics to disappear: {len(names)}")

    def add_partitions(self, name: str, total: int) -> None:
        """Increases the number of partitions of a topic to `total` and waits for their leaders."""
        wanted = library("confluent_kafka.admin").NewPartitions(name, total)
        self._request(lambda client: client.create_partitions([wanted]), f"add partitions to {name}")
        wait_until(lambda: self._has_leaders(name, total), _SECONDS, f"leaders of {name}")

    def topic_config(self, name: str) -> dict[str, str]:
        """The settings of this topic, without the broker's defaults."""
        topic = self._resource(name)
        described = self._request(lambda client: client.describe_configs([topic]),
                                  f"describe topic {name}")
        own = library("confluent_kafka.admin").ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        return {key: entry.value for key, entry in described.items() if entry.source == own}

    def alter_topic_config(self, name: str, config: Mapping[str, str | int | None]) -> None:
        """Changes some settings of a topic and keeps the rest. None resets a setting to its default.

        Reads the settings first, because AlterConfigs, the only request of this binding, replaces all
        of them.
        """
        topic = self._resource(name)
        for key, value in _texts({**self.topic_config(name), **config}).items():
            topic.set_config(key, value)
        self._request(lambda client: client.alter_configs([topic]), f"alter topic {name}")

    def topics(self, timeout: float = 30) -> dict[str, int]:
        """The number of partitions of every topic, including internal ones."""
        return {name: len(topic.partitions) for name, topic in self._metadata(timeout).items()}

    def leader(self, topic: str, partition: int = 0) -> int:
        """The node that leads a partition; -1 while it has no leader."""
        found = self._metadata().get(topic)
        if found is None or partition not in found.partitions:
            raise ServerError(f"partition {partition} of topic {topic} does not exist")
        return int(found.partitions[partition].leader)

    def wait_in_sync(self, timeout: float = 120) -> None:
        """Waits until no replica of any partition lags, so that the next node may be killed."""
        wait_until(self._all_in_sync, timeout, "all replicas to be in sync")

    def consume(self, topic: str, timeout: float = 60, isolation: str = COMMITTED) -> list[Record]:
        """All current records of a topic, or of all topics that match a ^regular expression."""
        return consume(self.bootstrap, topic, timeout, isolation)

    def stream(self, topic: str, timeout: float = 60, isolation: str = COMMITTED) -> Iterator[Record]:
        """Like `consume`, but record by record as they arrive: for more records than fit into memory."""
        return stream(self.bootstrap, topic, timeout, isolation)

    def reader(self, topic: str) -> TopicReader:
        """A `TopicReader` that reads from the beginning and continues; the caller closes it."""
        return TopicReader(self.bootstrap, topic)

    def _request(self, send: Callable[[Any], Mapping[Any, Any]], what: str) -> Any:
        """The result of an admin request for one resource."""
        client = admin(self.bootstrap)  # must live until the response has arrived
        (future,) = send(client).values()
        try:
            return future.result()  # librdkafka times out by itself, after 60 s
        except library().KafkaException as error:
            raise ServerError(f"cannot {what}: {error.args[0].str()}") from error

    def _metadata(self, timeout: float = 30) -> dict[str, Any]:
        return metadata(admin(self.bootstrap), timeout)

    def _resource(self, topic: str) -> Any:
        kafka = library("confluent_kafka.admin")
        return kafka.ConfigResource(kafka.RESOURCE_TOPIC, topic)

    def _has_leaders(self, topic: str, partitions: int) -> bool:
        found = self._metadata().get(topic)
        return (found is not None and len(found.partitions) == partitions
                and all(each.leader >= 0 for each in found.partitions.values()))

    def _all_in_sync(self) -> bool:
        return all(len(partition.isrs) == len(partition.replicas) and partition.leader >= 0
                   for topic in self._metadata().values()
                   for partition in topic.partitions.values())


def _texts(config: Mapping[str, str | int | None]) -> dict[str, str]:
    return {key: str(value) for key, value in config.items() if value is not None}
