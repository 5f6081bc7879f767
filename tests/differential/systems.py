"""Debezium and walrelay, both with the same connector configuration."""

import json
from abc import ABC, abstractmethod
from pathlib import Path

from configuration import Configuration
from values import NEWER
from walrelay_dev.connect import ConnectWorker
from walrelay_dev.debezium import outbox_connector
from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.kafka_records import Record
from walrelay_dev.process import wait_until
from walrelay_test.database import Database
from walrelay_test.relay_process import RelayProcess


class Side(ABC):
    """One system that publishes from a database, with its own slot and its own, empty Kafka."""

    def __init__(self, kafka: KafkaCluster, database: Database, configuration: Configuration) -> None:
        self.kafka = kafka
        self.database = database
        self.configuration = configuration
        self.slot = f"{type(self).__name__.lower()}_{configuration.tag}"
        database.create_slot(self.slot)

    def connector(self) -> dict[str, object]:
        table = self.configuration.table
        base = outbox_connector(self.database.postgres, self.database.name, slot=self.slot, publication="p")
        return {**base, "poll.interval.ms": 20, "table.include.list": table.replace(".", "\\."), **self.configuration.properties()}

    @abstractmethod
    def start(self) -> None:
        """Starts to read the slot."""

    @abstractmethod
    def stopped(self) -> str | None:
        """Why it stopped; None while it is running."""

    @abstractmethod
    def end(self) -> None:
        """Stops it once everything that it has sent is in Kafka."""

    def records(self) -> list[Record]:
        return self.kafka.consume("^.*")

    def forget(self) -> None:
        """Deletes the topics of this side."""
        for topic in self.kafka.topics():
            if not topic.startswith("__"):
                self.kafka.delete_topic(topic)

    def reach(self, id: str, seconds: float) -> bool:
        """Waits until the row with this id is published or this side has stopped; returns whether it is published."""
        wait_until(lambda: self._has(id) or self.stopped(), seconds, f"{self.slot} to publish row {id}")
        return self._has(id)

    def _has(self, id: str) -> bool:
        return any(("id", id.encode()) in record.headers for record in self.records())


class DebeziumSide(Side):
    def __init__(self, worker: ConnectWorker, *common: object) -> None:
        super().__init__(*common)
        self._worker = worker

    def start(self) -> None:
        self._worker.create_connector(self.slot, self.connector())

    def stopped(self) -> str | None:
        return self._worker.failure(self.slot)

    def end(self) -> None:
        self._worker.delete_connector(self.slot)


class WalrelaySide(Side):
    def __init__(self, folder: Path, *common: object) -> None:
        super().__init__(*common)
        connector = self.connector() | {"producer.override.bootstrap.servers": self.kafka.bootstrap}
        path = folder / f"{self.configuration.tag}.json"
        path.write_text(json.dumps({name: str(value) for name, value in connector.items()}))
        settings = ["http.listen=127.0.0.1:0", "pipeline.progress=off"]
        if self.configuration.debezium != NEWER:
            settings.append(f"format.debezium_version={self.configuration.debezium}")
        self._relay = RelayProcess(folder / self.configuration.tag, {}, config=path,
                                   arguments=[word for setting in settings for word in ("--set", setting)])

    def start(self) -> None:
        self._relay.start()

    def stopped(self) -> str | None:
        if not self._relay.running():
            return self._relay.log_text[-1000:]
        lines = self._relay.logs("blocked")
        return str(lines[-1]) if lines and self._relay.state() == "blocked" else None

    def end(self) -> None:
        if self._relay.running():
            self._relay.stop()
