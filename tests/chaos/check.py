"""The check of a period: everything that was written, confirmed, duplicated, logged and served in it."""

from collections import Counter

from faults import MOVES_LEADERS
from outcome import Outcome
from system import CANARY, System
from walrelay_dev.kafka_records import Record
from walrelay_test.ground_truth import GroundTruth
from walrelay_test.replication_tap import ReplicationLog
from walrelay_test.verifier import Event, Sample, Verdict, verify

_LONGEST_STOP_SECONDS = 5.0
_LARGEST_MB = 64.0
_READ_SECONDS = 300.0


class Check:
    """Checks all events with aggregate types of `type`; adds problems to `outcome`."""

    def __init__(self, system: System, outcome: Outcome, type: str) -> None:
        self._system = system
        self._outcome = outcome
        self._type = type

    def run(self, ground_truth: GroundTruth, samples: list[Sample]) -> None:
        """`samples` are samples of the slot; the samples of the link come from the system."""
        transactions = ground_truth.transactions()
        events = ground_truth.events(transactions)
        log = self._system.record.take()
        records = self._system.kafka.consume(rf"^outbox\.event\.{self._type}\.", _READ_SECONDS)
        verdict = verify(events, records, self._system.kafka.topics(), samples=samples + log.samples)
        self._report(verdict)
        self._check_repetitions(events, records, {each.end_lsn: each.final_lsn for each in transactions},
                                log)
        for problem in log.problems:
            self._outcome.problem("I6 confirm sanity", problem)
        self._check_process()
        self._note_recoveries(sorted(samples, key=lambda sample: sample.time_ms))
        self._note_counts(len(transactions), verdict, log.statuses)

    def _note_counts(self, transactions: int, verdict: Verdict, statuses: int) -> None:
        outcome = self._outcome
        outcome.transactions, outcome.events = transactions, verdict.events
        outcome.duplicates, outcome.statuses = verdict.duplicates, statuses
        self._system.fault_log.note(
            f"checked: {transactions} transactions, {verdict}; settled in {outcome.settled_seconds:.1f} s, "
            f"peak {self._system.supervisor.peak_mb:.1f} MiB")

    def _report(self, verdict: Verdict) -> None:
        names = {"lost": "I1 no loss", "phantom": "I2 no phantom", "order": "I3 order",
                 "content": "I8 content", "confirmed": "I5 confirm safety"}
        for problem in verdict.problems:
            self._outcome.problem(names[problem.kind], problem.text)

    def _check_repetitions(self, events: list[Event], records: list[Record], commits: dict[int, int],
                           log: ReplicationLog) -> None:
        """Checks that no event is in Kafka more often than Postgres has sent its transaction.

        Exception: when a leader moves twice in a short time, a broker may find a batch out of sequence, and
        librdkafka then starts a new epoch in which it resends records that may have been appended already
        (librdkafka#4953). Such duplicates are counted separately.
        """
        appearances = Counter(dict(record.headers).get("id", b"") or b"" for record in records)
        leaders_moved = len(self._system.kafka.node_ids) > 1 and any(
            self._outcome.faults[name] for name in MOVES_LEADERS)
        for event in events:
            times, sent = appearances[event.id.encode()], log.sent[commits[event.end_lsn]]
            if times > sent and leaders_moved:
                self._outcome.own_duplicates += times - sent
            elif times > sent:
                self._outcome.problem("I7 duplicates",
                                      f"{event} is in Kafka {times} times, but was sent {sent} times")

    def _check_process(self) -> None:
        supervisor = self._system.supervisor
        if supervisor.peak_mb > _LARGEST_MB:
            self._outcome.problem("I9 memory", f"{supervisor.peak_mb:.1f} MiB were resident")
        for seconds in self._outcome.stops:
            if seconds > _LONGEST_STOP_SECONDS:
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

    def _note_recoveries(self, samples: list[Sample]) -> None:
        """Records how long after the end of a fault everything committed before its end was confirmed.

        A recovery that overlaps with a fault that ends later is excluded: it would measure the other fault.
        """
        for healed in self._outcome.healed:
            done = next((sample.time_ms for sample in samples
                         if sample.time_ms >= healed.at_ms and sample.lsn >= healed.lsn), None)
            others = [each for each in self._outcome.healed if each is not healed]
            if done is not None and not any(each.began_ms < done and each.at_ms > healed.at_ms
                                            for each in others):
                self._outcome.recoveries.append((done - healed.at_ms) / 1000)
