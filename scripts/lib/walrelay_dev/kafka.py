"""Temporary Kafka clusters of one or three nodes."""

import shutil
import signal
from collections.abc import Mapping
from pathlib import Path

from .errors import ServerError
from .java import jvm_options
from .kafka_classes import archive_options
from .kafka_client import KafkaClient
from .kafka_config import CONTROLLER_ID, KafkaConfig, Property
from .kafka_node import KafkaNode
from .kafka_records import admin, metadata
from .ports import free_ports
from .process import Process, wait_until
from .throwaway import ThrowAway
from .unprivileged_user import claim_folder, unprivileged_user


class KafkaCluster(ThrowAway, KafkaClient):
    """Combined brokers and controllers, with node ids from 1, in one folder.

    As a context manager it exists during the `with` block, in a new folder under /tmp unless
    `directory` names another. Brokers listen on `port` and the following ports, or on free ports.
    Topics are created on first use. With three nodes each topic has three replicas, of which two must
    be in sync. `properties` override everything else and apply from the next start of a node, except
    min.insync.replicas, which Kafka reads once and then keeps as a dynamic setting.
    With `secured`, a security protocol, each node has another listener for it; `properties` with the
    prefix listener.name.secured. configure it, and `config.secured_bootstrap` is its address.
    With `isolated_controller`, the nodes are brokers only, and another node is the controller, which
    runs while the cluster does: as Kafka recommends for production. A combined node that is killed
    and returns alone may skip the markers of a decided transaction (docs/guides/exactly-once.md).
    With `proxied`, each node is also reachable through a proxy, which the caller creates: the proxies
    listen on `config.proxy_ports` and forward to `config.proxied_ports`.

    The JVMs use only the C1 compiler, which starts faster and uses less CPU on a small machine;
    `optimise=True` enables full JIT compilation, for benchmarks.
    """

    def __init__(self, nodes: int = 1, *, directory: Path | None = None, port: int | None = None,
                 partitions: int = 1, properties: Mapping[str, Property] | None = None,
                 heap_mb: int | None = None, optimise: bool = False,
                 proxied: bool = False, secured: str = "",
                 isolated_controller: bool = False) -> None:
        free = free_ports(5 * nodes)
        self.directory = directory.resolve() if directory else None
        self._user = unprivileged_user("nobody")
        self._use(KafkaConfig(
            ports=list(range(port, port + nodes)) if port else free[:nodes],
            controller_ports=free[nodes:2 * nodes], partitions=partitions, optimise=optimise,
            heap_mb=heap_mb or (512 if nodes == 1 else 384), properties=dict(properties or {}),
            proxied_ports=free[2 * nodes:3 * nodes] if proxied else [],
            proxy_ports=free[3 * nodes:4 * nodes] if proxied else [],
            secured=secured, secured_ports=free[4 * nodes:] if secured else [],
            isolated_controller=isolated_controller))

    @classmethod
    def open(cls, directory: Path) -> "KafkaCluster":
        """The cluster that an earlier process started in `directory`, running or not."""
        cluster = cls(directory=directory)
        cluster._use(KafkaConfig.load(directory))
        return cluster

    @property
    def node_ids(self) -> list[int]:
        """The brokers."""
        return list(range(1, len(self.config.ports) + 1))

    def create(self) -> None:
        """Formats the storage of every node, in a new or empty folder."""
        self.directory = claim_folder(self.directory, "walrelay-kafka-", self._user)
        self._use(self.config)
        try:
            self._format()
        except BaseException:
            self.remove()
            raise

    def start(self, timeout: float = 180) -> None:
        """Starts the stopped nodes, and waits until they are ready."""
        starting = [number for number, node in self._nodes.items() if not node.running()]
        for number in starting:
            self._launch(number)
        for number in starting:
            self.node(number).wait_ready(timeout)
        if self.directory is not None:
            self.config.save(self.directory)

    def stop(self, timeout: float = 120) -> None:
        """Stops all nodes cleanly and in parallel; a controller of its own last, because brokers need it to stop."""
        for numbers in (self.node_ids, self._nodes.keys() - set(self.node_ids)):
            for number in numbers:
                self.node(number).stop()
            for number in numbers:
                self.node(number).wait_stopped(timeout)

    def start_node(self, number: int, timeout: float = 180) -> None:
        """Restarts one node and waits until it is ready, which needs a majority of the nodes."""
        self._launch(number)
        self.node(number).wait_ready(timeout)

    def stop_node(self, number: int, timeout: float = 120) -> None:
        """Stops one node cleanly: it first moves the leadership of its partitions."""
        self.node(number).stop()
        self.node(number).wait_stopped(timeout)

    def wait_same_topics(self, timeout: float = 60) -> None:
        """Waits until every running node knows the same topics: each learns of a new one by itself."""
        wait_until(lambda: len({self._topics_of(node) for node in self.node_ids if self.node(node).running()}) <= 1,
                   timeout, "all nodes to know the same topics")

    def _topics_of(self, number: int) -> frozenset[str]:
        """The topics that the node knows; a new client asks the only node that it knows."""
        return frozenset(metadata(admin(f"127.0.0.1:{self.config.ports[number - 1]}")))

    def kill_node(self, number: int) -> None:
        """Sends SIGKILL. The others take over when its session has timed out, by default after 9 s."""
        self.node(number).kill()

    def pause_node(self, number: int) -> None:
        """Suspends the node: its connections stay open, but it does not answer."""
        self.node(number).pause()

    def resume_node(self, number: int) -> None:
        self.node(number).signal(signal.SIGCONT)

    def node(self, number: int) -> KafkaNode:
        if number not in self._nodes:
            raise ServerError(f"unknown node {number}; expected one of {self.node_ids}")
        return self._nodes[number]

    def remove(self) -> None:
        """Kills every node and deletes the folder."""
        if self.directory is None or not self.directory.exists():
            return
        for node in self._nodes.values():
            node.kill()
        shutil.rmtree(self.directory)

    def _use(self, config: KafkaConfig) -> None:
        """Adopts `config`, and creates its nodes if the folder exists."""
        self.config = config
        super().__init__(config.bootstrap)
        numbers = [*([CONTROLLER_ID] if config.isolated_controller else []), *self.node_ids]
        self._nodes = {number: KafkaNode(number, self.directory / f"node{number}", self._user)
                       for number in numbers} if self.directory else {}

    def _format(self) -> None:
        running: list[Process] = []
        try:
            for number, node in self._nodes.items():
                properties = self.config.node_properties(number)
                running.append(node.format(properties, self.config.cluster_id, [
                    *jvm_options(self.config.heap_mb, optimise=False), *archive_options()]))
            for process in running:
                if process.wait(120, "the formatting of Kafka's storage") != 0:
                    raise ServerError(f"cannot format Kafka's storage: {node.last_error()}")
        finally:
            for process in running:
                process.kill()

    def _launch(self, number: int) -> None:
        node = self.node(number)
        node.configure(self.config.node_properties(number))
        node.start([*self.config.jvm_options(), *archive_options()])
