"""The configuration of a Kafka cluster, stored in its folder for later commands."""

import json
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .errors import ServerError
from .java import jvm_options

Property = str | int

CONTROLLER_ID = 100


def _new_cluster_id() -> str:
    """22 characters of base64, like Kafka's ids; never with a leading hyphen, which would look like an option."""
    return "w" + urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]


@dataclass
class KafkaConfig:
    """The choices of `KafkaCluster`, with the ports of node n at index n - 1.

    With `proxied_ports` each node has a second listener there, which it advertises at `proxy_ports`:
    a client that connects through a proxy learns only addresses of proxies. With `secured_ports` each
    node has a listener there for the security protocol `secured`. With `isolated_controller` the only
    controller is a node of its own, CONTROLLER_ID, at the first of `controller_ports`.
    """

    ports: list[int]
    controller_ports: list[int]
    partitions: int
    heap_mb: int
    optimise: bool
    properties: dict[str, Property] = field(default_factory=dict)
    proxied_ports: list[int] = field(default_factory=list)
    proxy_ports: list[int] = field(default_factory=list)
    secured: str = ""
    secured_ports: list[int] = field(default_factory=list)
    isolated_controller: bool = False
    cluster_id: str = field(default_factory=_new_cluster_id)

    @classmethod
    def load(cls, directory: Path) -> "KafkaConfig":
        try:
            return cls(**json.loads((directory / "cluster.json").read_text()))
        except FileNotFoundError:
            raise ServerError(f"no Kafka cluster in {directory}; start one first") from None

    def save(self, directory: Path) -> None:
        (directory / "cluster.json").write_text(json.dumps(asdict(self), indent=1) + "\n")

    @property
    def bootstrap(self) -> str:
        return _addresses(self.ports)

    @property
    def proxied_bootstrap(self) -> str:
        return _addresses(self.proxy_ports)

    @property
    def secured_bootstrap(self) -> str:
        return _addresses(self.secured_ports)

    def node_properties(self, node_id: int) -> Mapping[str, Property]:
        """server.properties of one node."""
        return {
            "process.roles": self._roles(node_id),
            "node.id": node_id,
            "controller.quorum.voters": ",".join(f"{number}@127.0.0.1:{port}"
                                                 for number, port in self._controllers().items()),
            "controller.listener.names": "CONTROLLER",
            **self._listeners(node_id),
            "log.dirs": "data",
            "num.partitions": self.partitions,
            "log.retention.ms": -1,  # brokers go by a record's timestamp, which may be years ago
            **_replication(len(self.ports)),
            **self.properties,
        }

    def _roles(self, node_id: int) -> str:
        if not self.isolated_controller:
            return "broker,controller"
        return "controller" if node_id == CONTROLLER_ID else "broker"

    def _controllers(self) -> Mapping[int, int]:
        """The port of each controller."""
        if self.isolated_controller:
            return {CONTROLLER_ID: self.controller_ports[0]}
        return dict(enumerate(self.controller_ports, start=1))

    def _listeners(self, node_id: int) -> Mapping[str, Property]:
        """Listener properties. `listeners` maps a name to protocol, port, and advertised port."""
        controller = [f"CONTROLLER://127.0.0.1:{port}"
                      for number, port in self._controllers().items() if number == node_id]
        if node_id == CONTROLLER_ID:
            return {"listeners": controller[0]}
        index = node_id - 1
        listeners = {"PLAINTEXT": ("PLAINTEXT", self.ports[index], self.ports[index])}
        if self.secured:
            port = self.secured_ports[index]
            listeners["SECURED"] = (self.secured, port, port)
        if self.proxied_ports:
            listeners["PROXIED"] = ("PLAINTEXT", self.proxied_ports[index], self.proxy_ports[index])
        return {
            "listeners": ",".join([f"{name}://127.0.0.1:{port}"
                                   for name, (_, port, _) in listeners.items()] + controller),
            "advertised.listeners": ",".join(f"{name}://127.0.0.1:{advertised}"
                                             for name, (_, _, advertised) in listeners.items()),
            "listener.security.protocol.map": ",".join(
                [f"{name}:{protocol}" for name, (protocol, _, _) in listeners.items()]
                + ["CONTROLLER:PLAINTEXT"]),
        }

    def jvm_options(self) -> list[str]:
        return jvm_options(self.heap_mb, optimise=self.optimise)


def _addresses(ports: Iterable[int]) -> str:
    return ",".join(f"127.0.0.1:{port}" for port in ports)


def _replication(nodes: int) -> dict[str, Property]:
    """One replica per node, one of which may be missing; few internal partitions."""
    in_sync = max(1, nodes - 1)
    return {
        "default.replication.factor": nodes,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": nodes,
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": nodes,
        "transaction.state.log.min.isr": in_sync,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": nodes,
        "share.coordinator.state.topic.min.isr": in_sync,
        "share.coordinator.state.topic.num.partitions": 4,
        "group.initial.rebalance.delay.ms": 0,
    }
