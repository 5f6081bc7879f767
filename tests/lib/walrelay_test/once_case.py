"""Bases of the tests of exactly-once delivery: what readers of both isolation levels see, and what is open.

A reader of committed records must see each event once, one of all records must miss none.
"""

import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from walrelay_dev.kafka_records import UNCOMMITTED, Record

from .kafka_transactions import ends, state_of, wait_until_ended
from .progress_case import ProgressCase
from .relay_process import RelayProcess
from .testcase import wait_until
from .verified import VerifiedTest
from .verifier import Verdict

_ENDING_SECONDS = 5.0  # for the next producer to abort what the last one left open


class OnceCase(ProgressCase):
    def options(self) -> dict[str, Any]:
        return super().options() | {"pipeline.mode": "exactly_once"}

    def start_recording(self, options: dict[str, Any] | None = None) -> RelayProcess:
        """Starts a relay, and waits until its first record is written: one that is killed before does not know after
        its restart that it has created the slot."""
        relay = self.start_streaming(options)
        wait_until(lambda: self.progress_topic in self.kafka.topics() and self.records(), 60, "the first record")
        return relay

    # --- transactions ---

    def transaction(self) -> str:
        """The state of the pipeline's transaction, as the brokers list it."""
        return state_of(self.kafka, self.pipeline)

    def wait_for_open_transaction(self, relay: RelayProcess) -> None:
        """Suspends the relay at a moment at which a transaction is open."""
        def suspended_inside() -> bool:
            relay.pause()
            if wait_until_ended(self.kafka, self.pipeline) == "Ongoing":
                return True
            relay.resume()
            return False
        wait_until(suspended_inside, 60, "an open transaction")

    def expect_no_transaction_stays_open(self, seconds: float = 2) -> None:
        """Checks for a while that no transaction stays open, and then that no partition holds readers back."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            wait_until(lambda: wait_until_ended(self.kafka, self.pipeline) != "Ongoing", _ENDING_SECONDS,
                       "the end of the open transaction")
            time.sleep(0.02)  # between two samples
        wait_until(lambda: all(stable == high for stable, high in self.ends()), _ENDING_SECONDS,
                   "the last stable offsets to be the high watermarks")

    def ends(self) -> list[tuple[int, int]]:
        """Last stable offset and high watermark of each partition of the events' topics and of the progress topic."""
        topics = [name for name in self.kafka.topics()
                  if name == self.progress_topic or name.startswith(self.topic)]
        return [each for topic in topics for each in ends(self.kafka, topic).values()]

    # --- records ---

    def uncommitted(self, topic: str | None = None) -> list[Record]:
        return self.kafka.consume(topic or self.topic, isolation=UNCOMMITTED)

    def expect_once(self, *ids: int, seconds: float = 60) -> None:
        """Checks that readers of committed records see exactly these rows, in this order, and that the others miss
        none, once everything is confirmed."""
        self.expect_published(*ids, seconds=seconds)
        self.assertEqual(set(ids_of(self.uncommitted())), {str(id) for id in ids})
        self.expect_no_transaction_stays_open(0)


class OnceVerifiedTest(VerifiedTest, OnceCase):
    """Runs the workload. The relay creates its slot: start it before the load (`start_recording`)."""

    @property
    def topics(self) -> str:
        return rf"^outbox\.event\.{self.name}\."

    def expect_only_once(self, seconds: float = 60) -> Verdict:
        """Waits until everything is confirmed; checks what both kinds of readers see, and that nothing is open."""
        verdict = self.expect_no_problem(seconds)
        self.assertEqual(verdict.repeated[:5], [], f"{verdict.duplicates} repeated: {verdict}")
        self.expect_no_transaction_stays_open(0)
        every = set(ids_of(self.uncommitted(self.topics)))
        committed = set(ids_of(self.kafka.consume(self.topics)))
        self.assertEqual(every, committed)  # which the verifier has compared with the rows
        return verdict

    def expect_record_of_what_is_visible(self) -> int:
        """Checks, while no relay runs, that the visible events are those of the visible record; returns their
        number."""
        wait_until_ended(self.kafka, self.pipeline)
        record = self.record()
        expected = Counter(event.id for event in self.ground_truth.events() if event.end_lsn <= record.frontier)
        if record.partial_commit_lsn > 0:
            (partial,) = [each for each in self.ground_truth.transactions()
                          if each.xid == record.partial_transaction_id]
            last = (record.partial_row_lsn, record.partial_row_index)
            expected.update(row["id"] for row, position in zip(partial.rows, partial.positions, strict=True)
                            if position <= last)
        self.assertEqual(Counter(ids_of(self.kafka.consume(self.topics))), expected)
        return expected.total()


def ids_of(records: Iterable[Record]) -> list[str]:
    return [dict(record.headers)["id"].decode() for record in records]
