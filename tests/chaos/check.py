"""The check of a period: everything that was written, confirmed, duplicated, logged and served in it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from faults import MOVES_LEADERS, kill_burst
from mode import Mode
from outcome import Outcome
from system import CANARY, System
from walrelay_dev.errors import ServerError
from walrelay_dev.kafka_records import COMMITTED, UNCOMMITTED, Record
from walrelay_dev.patience import patient
from walrelay_dev.process import wait_until
from walrelay_test import repetitions
from walrelay_test.deletions import early_deletions
from walrelay_test.ground_truth import GroundTruth
from walrelay_test.kafka_transactions import ends, state_of
from walrelay_test.pgoutput import Transaction
from walrelay_test.repetitions import Effect, event_id
from walrelay_test.replication_tap import ReplicationLog
from walrelay_test.verifier import Event, Sample, Verdict, verify

KILL = "kill"  # the fault of --kills

_PLAIN_KILLS = (KILL, kill_burst.__name__)
_LONGEST_STOP_SECONDS = 5.0
_LARGEST_MB = 64.0
_READ_SECONDS = 300.0
_ENDING_SECONDS = 30.0  # more than the timeout of transactions, with the brokers' search for them
_SHOWN = 20
_NAMES = {"lost": "I1 no loss", "phantom": "I2 no phantom", "order": "I3 order",
          "content": "I8 content", "confirmed": "I5 confirm safety"}


class Check:
    """Checks all events with aggregate types of `type` as `judge` requires; adds problems to `outcome`."""

    def __init__(self, system: System, judge: Mode, outcome: Outcome, type: str) -> None:
        self._system = system
        self._judge = judge
        self._outcome = outcome
        self._type = type

    def run(self, ground_truth: GroundTruth, samples: list[Sample]) -> None:
        """`samples` are samples of the slot; the samples of the link come from the system."""
        transactions = ground_truth.transactions()
        events = ground_truth.events(transactions)
        log = self._system.record.take()
        if self._judge.once:
            self._check_nothing_is_open()
        records = self._read(COMMITTED)
        verdict = verify(events, records, self._system.kafka.topics(), samples=samples + log.samples)
        self._report(verdict)
        self._check_pruning(records)
        if self._judge.once:
            self._check_once(verdict)
            committed, records = records, self._read(UNCOMMITTED)
            self._outcome.aborted = len(records) - len(committed)
            # For a reader of all records, delivery is at least once.
            self._report(verify(events, records, self._system.kafka.topics()), "uncommitted: ")
        self._check_repetitions(events, records, {each.end_lsn: each.final_lsn for each in transactions}, log)
        samples.sort(key=lambda sample: sample.time_ms)
        self._attribute_repetitions(records, self._effects(transactions, samples))
        for problem in log.problems:
            self._outcome.problem("I6 confirm sanity", problem)
        self._check_process()
        self._note_counts(len(transactions), verdict, log.statuses)

    def _read(self, isolation: str) -> list[Record]:
        added = self._system.mode.added_headers
        records = self._system.kafka.consume(rf"^outbox\.event\.{self._type}\.", _READ_SECONDS, isolation)
        return [replace(record, headers=[each for each in record.headers if each[0] not in added])
                for record in records] if added else records

    def _note_counts(self, transactions: int, verdict: Verdict, statuses: int) -> None:
        outcome = self._outcome
        outcome.transactions, outcome.events = transactions, verdict.events
        outcome.duplicates, outcome.statuses = verdict.duplicates, statuses
        aborted = f", {outcome.aborted} aborted" if self._judge.once else ""
        pruned = f", {outcome.pruned} pruned" if self._system.pruning else ""
        self._system.fault_log.note(
            f"checked: {transactions} transactions, {verdict}{aborted}{pruned}; "
            f"settled in {outcome.settled_seconds:.1f} s, peak {self._system.supervisor.peak_mb:.1f} MiB")

    def _report(self, verdict: Verdict, prefix: str = "") -> None:
        for problem in verdict.problems:
            self._outcome.problem(_NAMES[problem.kind], prefix + problem.text)

    # --- transactions ---

    def _check_nothing_is_open(self) -> None:
        """Checks that no transaction hangs: the last stable offset of each partition is its high watermark."""
        try:
            wait_until(lambda: not self._held_back(), _ENDING_SECONDS, "the end of all transactions")
        except ServerError as error:
            state = state_of(self._system.kafka, self._system.pipeline)
            self._outcome.problem("EO5 open transaction", f"{error}: {self._held_back()}; state {state or 'none'}")

    def _held_back(self) -> list[str]:
        """The partitions whose last stable offset is not the high watermark."""
        topics = [name for name in self._system.kafka.topics() if not name.startswith("__")]
        return [f"{topic}/{partition} {stable} of {high}" for topic in topics
                for partition, (stable, high) in ends(self._system.kafka, topic).items() if stable != high]

    def _check_once(self, verdict: Verdict) -> None:
        for event, times in Counter(verdict.repeated).most_common(_SHOWN):
            self._outcome.problem("EO1 once", f"{event} was committed {times + 1} times")

    # --- pruning ---

    def _check_pruning(self, records: list[Record]) -> None:
        """Checks that each deleted row was in Kafka before, for a reader of the mode, and that rows were deleted."""
        pruning = self._system.pruning
        if pruning is None:
            return
        deletions = pruning.log.take()
        early = early_deletions(deletions, records, pruning.keep)
        self._outcome.pruned, self._outcome.pruned_early = len(deletions), len(early)
        for problem in early[:_SHOWN]:
            self._outcome.problem("I20 proof", problem)
        if not deletions:
            self._outcome.problem("I10 progress", "no row was pruned")

    # --- repetitions ---

    def _check_repetitions(self, events: list[Event], records: list[Record], commits: dict[int, int],
                           log: ReplicationLog) -> None:
        """Checks that no event is in Kafka more often than Postgres has sent its transaction.

        Exception: when a leader moves twice in a short time, a broker may find a batch out of sequence, and
        librdkafka then starts a new epoch in which it resends records that may have been appended already
        (librdkafka#4953). Such duplicates are counted separately.
        """
        appearances = Counter(event_id(record) for record in records)
        leaders_moved = len(self._system.kafka.node_ids) > 1 and any(
            self._outcome.faults[name] for name in MOVES_LEADERS)
        for event in events:
            times, sent = appearances[event.id], log.sent[commits[event.end_lsn]]
            if times > sent and leaders_moved:
                self._outcome.own_duplicates += times - sent
            elif times > sent:
                self._outcome.problem("I7 duplicates",
                                      f"{event} is in Kafka {times} times, but was sent {sent} times")

    def _attribute_repetitions(self, records: Iterable[Record], effects: Sequence[Effect]) -> None:
        """Counts repeated records by fault, and checks those of SIGKILLs without other faults."""
        repeated = repetitions.repeated_records(records)
        self._outcome.duplicates_by_fault = repetitions.by_fault(repeated, effects)
        for name in _PLAIN_KILLS:
            for found in repetitions.by_kill(repeated, self._system.supervisor.kills, effects, name):
                self._outcome.duplicates_per_kill.append(len(found))
                if self._judge.most_per_kill is not None and len(found) > self._judge.most_per_kill:
                    places = ", ".join(f"{each.topic}/{each.partition} at {each.offset}" for each in found[:_SHOWN])
                    self._outcome.problem("I7 duplicates", f"a SIGKILL repeated {len(found)} records, more than "
                                                           f"{self._judge.most_per_kill}: {places}")

    # --- the process ---

    def _check_process(self) -> None:
        supervisor = self._system.supervisor
        if supervisor.peak_mb > _LARGEST_MB:
            self._outcome.problem("I9 memory", f"{supervisor.peak_mb:.1f} MiB were resident")
        for seconds in self._outcome.stops:
            if seconds > patient(_LONGEST_STOP_SECONDS):
                self._outcome.problem("I11 shutdown", f"a fast stop of Postgres took {seconds:.1f} s")
        for failure in supervisor.failures:
            self._outcome.problem("supervision", failure)
        for path in ("/metrics", "/readyz?verbose", "/"):
            if CANARY in supervisor.relay.get(path)[1]:
                self._outcome.problem("I12 secrets", f"{path} shows the password")
        for folder in self._system.relay_folders():
            for path in folder.glob("relay-*.log"):
                self._check_log(path.read_text(), str(path))

    def _check_log(self, text: str, name: str) -> None:
        if CANARY in text:
            self._outcome.problem("I12 secrets", f"{name} shows the password")
        if "WR-5001" in text:
            lines = [line for line in text.splitlines() if "WR-5001" in line]
            self._outcome.problem("supervision", f"{name}: an internal error: {lines[0]}")

    # --- recoveries ---

    def _effects(self, transactions: Sequence[Transaction], samples: Sequence[Sample]) -> list[Effect]:
        """When each fault had an effect. Records how long after its end everything committed by then was confirmed.

        A recovery that overlaps with a fault that ends later is excluded: it would measure the other fault.
        """
        injected = self._outcome.injected
        effects = []
        for fault in injected:
            lsn = max((each.end_lsn for each in transactions if each.commit_time_us / 1000 <= fault.ended_ms),
                      default=0)
            done = next((sample.time_ms for sample in samples
                         if sample.time_ms >= fault.ended_ms and sample.lsn >= lsn), None)
            effects.append(Effect(fault.name, fault.began_ms, done or float("inf")))
            if done is not None and not any(each.began_ms < done and each.ended_ms > fault.ended_ms
                                            for each in injected if each is not fault):
                self._outcome.recoveries.append((done - fault.ended_ms) / 1000)
        return effects
