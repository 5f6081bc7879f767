"""What tests ask of a Kafka cluster, whether they started it or not."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .errors import ServerError
from .kafka_reader import TopicReader
from .kafka_records import Record, admin, consume, library, metadata, stream
from .process import wait_until

_SECONDS = 60.0


class KafkaClient:
    """Topics and records of the cluster behind `bootstrap`; holds no connection itself."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def create_topic(self, name: str, partitions: int = 1, replication: int | None = None,
                     config: Mapping[str, str | int] | None = None) -> None:
        """Creates a topic and waits for its leaders; replicas as the broker's default has them."""
        topic = library("confluent_kafka.admin").NewTopic(
            name, partitions, -1 if replication is None else replication,
            config=_texts(config or {}))
        self._request(lambda client: client.create_topics([topic]), f"create topic {name}")
        wait_until(lambda: self._has_leaders(name, partitions), _SECONDS, f"leaders of {name}")

    def delete_topic(self, name: str) -> None:
        """Deletes a topic and waits until it is gone."""
        self._request(lambda client: client.delete_topics([name]), f"delete topic {name}")
        wait_until(lambda: name not in self.topics(), _SECONDS, f"topic {name} to go")

    def add_partitions(self, name: str, total: int) -> None:
        """Gives a topic more partitions and waits for their leaders; `total` is what it then has."""
        wanted = library("confluent_kafka.admin").NewPartitions(name, total)
        self._request(lambda client: client.create_partitions([wanted]), f"add partitions to {name}")
        wait_until(lambda: self._has_leaders(name, total), _SECONDS, f"leaders of {name}")

    def topic_config(self, name: str) -> dict[str, str]:
        """The settings that were made for this topic; not the broker's defaults."""
        topic = self._resource(name)
        described = self._request(lambda client: client.describe_configs([topic]),
                                  f"describe topic {name}")
        own = library("confluent_kafka.admin").ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        return {key: entry.value for key, entry in described.items() if entry.source == own}

    def alter_topic_config(self, name: str, config: Mapping[str, str | int | None]) -> None:
        """Sets some of a topic's settings, None meaning back to the default, and keeps the rest.

        AlterConfigs, all that this binding has, replaces the whole set: hence the reading first.
        """
        topic = self._resource(name)
        for key, value in _texts({**self.topic_config(name), **config}).items():
            topic.set_config(key, value)
        self._request(lambda client: client.alter_configs([topic]), f"alter topic {name}")

    def topics(self, timeout: float = 30) -> dict[str, int]:
        """The number of partitions of every topic, internal ones too."""
        return {name: len(topic.partitions) for name, topic in self._metadata(timeout).items()}

    def leader(self, topic: str, partition: int = 0) -> int:
        """The node that leads a partition; -1 while there is none."""
        found = self._metadata().get(topic)
        if found is None or partition not in found.partitions:
            raise ServerError(f"no partition {partition} of a topic {topic}")
        return int(found.partitions[partition].leader)

    def wait_in_sync(self, timeout: float = 120) -> None:
        """Waits until no replica of any partition lags, so that the next node may be killed."""
        wait_until(self._all_in_sync, timeout, "all replicas to be in sync")

    def consume(self, topic: str, timeout: float = 60) -> list[Record]:
        """Everything in a topic, or in all that match a ^regular expression, as of now."""
        return consume(self.bootstrap, topic, timeout)

    def stream(self, topic: str, timeout: float = 60) -> Iterator[Record]:
        """As `consume`, record by record as they come: for more than should be held in memory."""
        return stream(self.bootstrap, topic, timeout)

    def reader(self, topic: str) -> TopicReader:
        """A `TopicReader` that has the records from the beginning and goes on; close it."""
        return TopicReader(self.bootstrap, topic)

    def _request(self, send: Callable[[Any], Mapping[Any, Any]], what: str) -> Any:
        """The outcome of an admin request about one thing."""
        client = admin(self.bootstrap)  # must live until the answer is here
        (future,) = send(client).values()
        try:
            return future.result()  # librdkafka gives up by itself, after 60 s
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
