"""Debezium on Kafka Connect, with their defaults."""

import json
from typing import Any

from walrelay_bench.environment import PUBLICATION, SLOT
from walrelay_bench.system import System, Work
from walrelay_dev.connect import ConnectWorker
from walrelay_dev.debezium import outbox_connector, plugin_folder
from walrelay_dev.errors import ServerError
from walrelay_dev.versions import DEBEZIUM_VERSION, KAFKA_VERSION

_CONNECTOR = "outbox"


class Peer(System):
    title = "Debezium"
    workloads = ("steady", "drain", "transaction", "idle", "kills", "outage", "start", "kill-drain")

    def __init__(self, name: str, environment: Any) -> None:
        super().__init__(name, environment)
        self._worker: ConnectWorker | None = None

    def prepare(self, work: Work) -> None:
        """Creates a worker without state from earlier runs."""
        self._remove()
        worker = ConnectWorker(self.environment.kafka.bootstrap, [plugin_folder()], heap_mb=2048, optimise=True,
                               properties=self._properties("worker.json"), cluster=self.cluster())
        worker.create()
        self._worker = worker

    def cluster(self) -> str | None:
        """The name of a distributed cluster, new for each run; None: a standalone worker."""
        return None

    def start(self, work: Work) -> None:
        assert self._worker is not None
        self._worker.start()
        self._worker.create_connector(_CONNECTOR, {
            **outbox_connector(self.environment.postgres, "postgres", slot=SLOT, publication=PUBLICATION),
            **self._properties("connector.json")})

    def stop(self) -> None:
        if self._worker is None or not self._worker.running():
            return
        try:
            self._worker.stop()
        except ServerError:
            self._worker.kill()

    def kill(self) -> None:
        assert self._worker is not None
        self._worker.kill()

    def pids(self) -> list[int]:
        return [self._worker.pid] if self._worker is not None and self._worker.running() else []

    def failure(self) -> str | None:
        assert self._worker is not None
        return None if self._worker.running() else f"Kafka Connect has exited, see {self._worker.log}"

    def close(self) -> None:
        self._remove()

    def _remove(self) -> None:
        if self._worker is not None:
            self._worker.remove()
            self._worker = None

    def _properties(self, name: str) -> dict[str, Any]:
        return json.loads((self.folder / name).read_text())

    @classmethod
    def versions(cls) -> dict[str, str]:
        return {"debezium": DEBEZIUM_VERSION, "kafka-connect": KAFKA_VERSION}
