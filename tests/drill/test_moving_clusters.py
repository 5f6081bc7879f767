#!/usr/bin/python3
"""Drills: docs/guides/moving-clusters.md, from one Kafka cluster to another and back."""

from walrelay_dev.kafka import KafkaCluster
from walrelay_test.runbook import Block, RunbookCase, check_all_typed
from walrelay_test.servers import new_kafka
from walrelay_test.testcase import main

PAGE = "guides/moving-clusters"
HELD = 3  # exit code of `walrelay resume`


def tearDownModule() -> None:  # noqa: N802
    check_all_typed()


class MovingTest(RunbookCase):
    kafka_options = {}
    old: KafkaCluster
    new: KafkaCluster

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.old = cls.kafka
        cls.new = cls.enterClassContext(new_kafka())

    def setUp(self) -> None:
        self.kafka = self.old
        super().setUp()

    def connect(self, cluster: KafkaCluster) -> None:
        """Sets the addresses of this cluster in the configuration of the relay that is stopped."""
        config = self.relays[-1].config
        config.write_text(config.read_text().replace(self.kafka.bootstrap, cluster.bootstrap))
        self.kafka = cluster

    def move(self) -> None:
        """Rows 1 and 2 are in the old cluster, 3 and 4 in the new one."""
        self.start_with_proof(1, 2)
        stop, start = self.blocks(PAGE, "Move")
        self.type(stop)
        self.outbox.insert(3)
        self.connect(self.new)
        self.type(start)
        self.relays[-1].wait_ready()
        self.outbox.insert(4)
        self.expect_published(3, 4)

    def go_back(self) -> list[Block]:
        self.assertEqual(self.relays[-1].stop(), 0)
        self.outbox.insert(5)
        self.connect(self.old)
        return self.blocks(PAGE, "The way back")

    def test_back_without_the_events_between(self) -> None:
        self.move()
        accept, _ = self.go_back()
        self.type(accept, only="systemctl")
        self.expect_held(self.relays[-1], "WR-2106")
        self.type(accept, only="resume$", code=HELD)
        self.type(accept, only="accept-gap")
        self.relays[-1].wait_ready()
        self.expect_published(1, 2, 5)

    def test_back_with_the_events_between(self) -> None:
        self.move()
        _, recover = self.go_back()
        self.type(recover)
        self.relays[-1].wait_ready()
        self.outbox.insert(6)
        self.expect_published(1, 2, 3, 4, 5, 6)


if __name__ == "__main__":
    main()
