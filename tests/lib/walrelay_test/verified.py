"""Tests that run the workload and check the result with the independent verifier."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Literal

from .ground_truth import ConfirmSampler, GroundTruth
from .relay_process import RelayProcess
from .testcase import IntegrationTest
from .verifier import Verdict, verify
from .workload import Workload

PARTITIONS = 6


class VerifiedTest(IntegrationTest):
    """Uses the workload's tables and topics instead of a plain outbox.

    With LogAppendTime the verifier can detect positions that were confirmed too early, with CreateTime it
    can check the timestamps of records.
    """

    added_headers: ClassVar[frozenset[str]] = frozenset()  # by walrelay; not compared with the row
    timestamp_type: ClassVar[Literal["CreateTime", "LogAppendTime"]] = "LogAppendTime"

    def prepare(self) -> None:
        Workload.create_tables(self.database)
        self.publish("outbox")
        self.ground_truth = GroundTruth(self.database)
        self.earlier_partitions: dict[str, list[int]] = {}  # of topics to which a test adds partitions
        for topic in Workload.topics(self.name):
            self.kafka.create_topic(topic, PARTITIONS,
                                    config={"message.timestamp.type": self.timestamp_type})

    @contextmanager
    def load(self, seed: int, **options: Any) -> Iterator[Workload]:
        """Runs writers and samples the confirmed position until the end of the block."""
        self.sampler = ConfirmSampler(self.database.connect, self.slot)
        with self.sampler, Workload(self.database, seed, **options) as workload:
            yield workload

    def expect_progress(self, relay: RelayProcess, workload: Workload, transactions: int = 100) -> None:
        """Waits until `transactions` more have been committed and the slot is confirmed past them."""
        goal = workload.committed + transactions
        relay.wait_until(lambda: workload.committed >= goal, 60, "more transactions")
        end = self.database.log_end()
        relay.wait_until(lambda: self.database.confirmed(self.slot) >= end, 120, "progress")

    def verdict(self) -> Verdict:
        records = [replace(record, headers=[each for each in record.headers if each[0] not in self.added_headers])
                   for record in self.kafka.consume(rf"^outbox\.event\.{self.name}\.")]
        append_time = self.timestamp_type == "LogAppendTime"
        partitions = {topic: [*self.earlier_partitions.get(topic, []), count]
                      for topic, count in self.kafka.topics().items()}
        return verify(self.ground_truth.events(), records, partitions,
                      samples=self.sampler.samples if append_time else None,
                      check_timestamps=not append_time)

    def expect_no_problem(self, seconds: float = 60) -> Verdict:
        """Waits until everything is confirmed, and checks the verifier's verdict."""
        self.settle(seconds)
        verdict = self.verdict()
        self.assertEqual(verdict.problems, [], str(verdict))
        self.assertGreater(verdict.events, 0)
        return verdict

    def start_over(self, relay: RelayProcess) -> None:
        """Empties tables and topics: a round has as many events as fit into memory."""
        self.assertEqual(relay.stop(), 0)
        for topic in Workload.topics(self.name):
            self.kafka.delete_topic(topic)
        Workload.empty_tables(self.database)
        self.ground_truth.recreate_slot()
        for topic in Workload.topics(self.name):
            self.kafka.create_topic(topic, PARTITIONS, config={"message.timestamp.type": self.timestamp_type})
        relay.start()
        relay.wait_ready()
