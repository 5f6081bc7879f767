"""A proxy in front of each broker of a cluster, for clients that use the proxied bootstrap servers."""

from collections.abc import Callable
from contextlib import ExitStack

from walrelay_dev.kafka import KafkaCluster

from .tcp_proxy import Tap, TcpProxy


class KafkaProxies:
    """The proxies of a cluster that was created with `proxied=True`; a context manager. Indexed by node.

    Clients of `bootstrap` reach every broker through its proxy, others (the tests, the brokers
    themselves) directly.
    """

    def __init__(self, kafka: KafkaCluster, tap: Callable[[], Tap] | None = None) -> None:
        config = kafka.config
        self.bootstrap = config.proxied_bootstrap
        self._stack = ExitStack()
        self._proxies = {node: TcpProxy(target, port=port, tap=tap, seed=node) for node, target, port in
                         zip(kafka.node_ids, config.proxied_ports, config.proxy_ports, strict=True)}

    def __enter__(self) -> "KafkaProxies":
        for proxy in self._proxies.values():
            self._stack.enter_context(proxy)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __getitem__(self, node: int) -> TcpProxy:
        return self._proxies[node]

    @property
    def all(self) -> list[TcpProxy]:
        return list(self._proxies.values())

    def heal(self) -> None:
        for proxy in self.all:
            proxy.heal()
