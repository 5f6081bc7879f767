"""Verified tests with a proxy on one of the relay's links; all other clients connect directly."""

from typing import Any

from .kafka_proxies import KafkaProxies
from .replication_tap import ReplicationRecord
from .tcp_proxy import TcpProxy
from .testcase import RECONNECT_SOON
from .verified import VerifiedTest
from .verifier import Verdict


class PostgresLinkTest(VerifiedTest):
    """`self.link` is between the relay and Postgres; all replication traffic on it is checked as well.

    Postgres and the relay use a timeout of 2 s for each other, so that a dead link is detected soon.
    """

    def setUp(self) -> None:
        self.record = ReplicationRecord()
        self.link = self.enterContext(TcpProxy(self.postgres.port, tap=self.record.tap))
        super().setUp()

    def options(self) -> dict[str, Any]:
        return super().options() | {
            "source.dsn": f"host=127.0.0.1 port={self.link.port} user=postgres dbname={self.name}",
            "source.wal_sender_timeout": "2s"}

    def expect_no_problem(self, seconds: float = 60) -> Verdict:
        """Also checks the status updates (each position could be confirmed at that time), and that nothing is repeated:
        the producer outlives the connection.
        """
        self.settle(seconds)
        log = self.record.take()
        self.sampler.samples += log.samples
        self.assertEqual(log.problems, [])
        verdict = super().expect_no_problem(seconds)
        self.assertEqual(verdict.repeated, [])
        return verdict


class KafkaLinkTest(VerifiedTest):
    """`self.links` are between the relay and each broker."""

    kafka_options = {"proxied": True}

    def setUp(self) -> None:
        self.links = self.enterContext(KafkaProxies(self.kafka, tap=self.tap))
        super().setUp()

    def tap(self) -> Any:
        return None

    def options(self) -> dict[str, Any]:
        return super().options() | {"kafka.bootstrap_servers": self.links.bootstrap} | RECONNECT_SOON
