"""Throw-away Kafka clusters of one or three nodes."""

import shutil
import signal
from collections.abc import Mapping
from pathlib import Path

from .account import claim_folder, server_account
from .errors import ServerError
from .kafka_client import KafkaClient
from .kafka_config import KafkaConfig, Property
from .kafka_node import KafkaNode
from .ports import free_ports
from .process import Process
from .throwaway import ThrowAway


class KafkaCluster(ThrowAway, KafkaClient):
    """Combined brokers and controllers, with node ids from 1, in one folder.

    As a context manager it exists from `with` to its end, in a fresh folder under /tmp unless
    `directory` names another. Brokers listen on `port` and those after it, or on free ones.
    Topics are created on first use; of three nodes each has a replica, and two must be in sync.
    `properties` override everything else, and count from the next start of a node; not so
    min.insync.replicas, which Kafka takes from here once and then keeps as a setting of its own.
    With `secured`, a security protocol, each node listens for that as well; `properties` with the
    prefix listener.name.secured. say how, `config.secured_bootstrap` where.
    With `proxied`, each node can be reached through a proxy as well, which is not made here:
    `config.proxy_ports` is where the proxies are to listen, `config.proxied_ports` where to lead.

    The JVMs stop at the C1 compiler, which starts faster and is kinder to a small machine;
    `optimise=True` lets them compile fully, as a benchmark should.
    """

    def __init__(self, nodes: int = 1, *, directory: Path | None = None, port: int | None = None,
                 partitions: int = 1, properties: Mapping[str, Property] | None = None,
                 heap_mb: int | None = None, optimise: bool = False,
                 proxied: bool = False, secured: str = "") -> None:
        free = free_ports(5 * nodes)
        self.directory = directory.resolve() if directory else None
        self._account = server_account("nobody")
        self._use(KafkaConfig(
            ports=list(range(port, port + nodes)) if port else free[:nodes],
            controller_ports=free[nodes:2 * nodes], partitions=partitions, optimise=optimise,
            heap_mb=heap_mb or (512 if nodes == 1 else 384), properties=dict(properties or {}),
            proxied_ports=free[2 * nodes:3 * nodes] if proxied else [],
            proxy_ports=free[3 * nodes:4 * nodes] if proxied else [],
            secured=secured, secured_ports=free[4 * nodes:] if secured else []))

    @classmethod
    def open(cls, directory: Path) -> "KafkaCluster":
        """The cluster that an earlier process started in `directory`, running or not."""
        cluster = cls(directory=directory)
        cluster._use(KafkaConfig.load(directory))
        return cluster

    @property
    def node_ids(self) -> list[int]:
        return list(range(1, len(self.config.ports) + 1))

    def create(self) -> None:
        """Formats the storage of every node, in a folder that is new or empty."""
        self.directory = claim_folder(self.directory, "walrelay-kafka-", self._account)
        self._use(self.config)
        try:
            self._format()
        except BaseException:
            self.remove()
            raise

    def start(self, timeout: float = 180) -> None:
        """Starts the nodes that do not run, and waits until they serve."""
        starting = [number for number in self.node_ids if not self.node(number).running()]
        for number in starting:
            self._launch(number)
        for number in starting:
            self.node(number).wait_ready(timeout)
        if self.directory is not None:
            self.config.save(self.directory)

    def stop(self, timeout: float = 120) -> None:
        """Stops all nodes cleanly, at once."""
        for node in self._nodes.values():
            node.stop()
        for node in self._nodes.values():
            node.wait_stopped(timeout)

    def start_node(self, number: int, timeout: float = 180) -> None:
        """Starts one node again and waits until it serves, which needs a majority of the nodes."""
        self._launch(number)
        self.node(number).wait_ready(timeout)

    def stop_node(self, number: int, timeout: float = 120) -> None:
        """Stops one node cleanly: it hands its partitions over first."""
        self.node(number).stop()
        self.node(number).wait_stopped(timeout)

    def kill_node(self, number: int) -> None:
        """SIGKILL. The others replace it once its session has timed out, by default after 9 s."""
        self.node(number).kill()

    def pause_node(self, number: int) -> None:
        """SIGSTOP: its connections stay open and nothing answers."""
        self.node(number).signal(signal.SIGSTOP)

    def resume_node(self, number: int) -> None:
        self.node(number).signal(signal.SIGCONT)

    def node(self, number: int) -> KafkaNode:
        if number not in self._nodes:
            raise ServerError(f"no node {number}: the nodes are {self.node_ids}")
        return self._nodes[number]

    def remove(self) -> None:
        """Kills every node and deletes the folder."""
        if self.directory is None or not self.directory.exists():
            return
        for node in self._nodes.values():
            node.kill()
        shutil.rmtree(self.directory)

    def _use(self, config: KafkaConfig) -> None:
        """Adopts `config`, and its nodes where there is a folder for them."""
        self.config = config
        super().__init__(config.bootstrap)
        self._nodes = {number: KafkaNode(number, self.directory / f"node{number}", self._account)
                       for number in self.node_ids} if self.directory else {}

    def _format(self) -> None:
        running: list[Process] = []
        try:
            for number, node in self._nodes.items():
                properties = self.config.node_properties(number)
                running.append(node.format(properties, self.config.cluster_id))
            for process in running:
                if process.wait(120, "the formatting of Kafka's storage") != 0:
                    raise ServerError(f"cannot format Kafka's storage: {node.last_error()}")
        finally:
            for process in running:
                process.kill()

    def _launch(self, number: int) -> None:
        node = self.node(number)
        node.configure(self.config.node_properties(number))
        node.start(self.config.jvm_options())
