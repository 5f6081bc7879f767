"""The independent verifier: compares the committed events with the records in Kafka.

It shares no code with the relay and uses no information from the relay. The events come from Postgres
(`ground_truth`), the records from Kafka. This module only compares them, so that it can be tested with synthetic
logs.

    no loss      every committed event is in Kafka at least once
    no phantom   every record belongs to a committed event
    order        the first appearances of a key's events are n = 1, 2, 3 …, without a gap
    content      topic, partition, key, value and headers are those of the row, byte for byte
    timestamp    a record's time is the commit time (topics with CreateTime)
    confirmed    every event up to the confirmed position had been appended (topics with LogAppendTime)

Duplicates are no problem; they are counted.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from walrelay_dev.kafka_records import Record

from .java_partitioner import partition_for
from .pgoutput import format_lsn

Kind = Literal["lost", "phantom", "order", "content", "timestamp", "confirmed"]
Headers = list[tuple[str, bytes | None]]

# LogAppendTime has whole milliseconds, and is set a little before the record can be read.
_ROUNDING_MS = 1
_SHOWN = 20


@dataclass(frozen=True)
class Event:
    """A committed row, and the record expected for it."""

    id: str
    topic: str
    key: bytes
    n: int  # its number within its key, from 1
    value: bytes | None
    headers: Headers = field(hash=False)
    commit_time_us: int
    end_lsn: int

    def __str__(self) -> str:
        return f"event {self.id} (key {self.key.decode()}, n {self.n}, {format_lsn(self.end_lsn)})"


@dataclass(frozen=True)
class Sample:
    """The slot was confirmed up to `lsn` at `time_ms` or a little before."""

    time_ms: float
    lsn: int


@dataclass(frozen=True)
class Problem:
    kind: Kind
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass
class Verdict:
    events: int
    repeated: list[Event]  # once for each additional record, in log order
    problems: list[Problem]

    @property
    def duplicates(self) -> int:
        return len(self.repeated)

    def __str__(self) -> str:
        counts = Counter(problem.kind for problem in self.problems)
        lines = [f"{self.events} events, {self.duplicates} duplicates, problems: {dict(counts)}",
                 *map(str, self.problems[:_SHOWN])]
        return "\n  ".join(lines)


def verify(events: Sequence[Event], records: Iterable[Record], partitions: Mapping[str, int | Sequence[int]],
           *, samples: Sequence[Sample] | None = None, check_timestamps: bool = False) -> Verdict:
    """Compares all committed events with all records in the topics.

    `partitions` has each topic's number of partitions; for a topic whose number increased during the run, all
    its numbers in order: a key's records placed by an earlier number count as older. `samples` require topics
    with LogAppendTime, `check_timestamps` requires topics with CreateTime.
    """
    counts = {topic: [count] if isinstance(count, int) else list(count)
              for topic, count in partitions.items()}
    log = sorted(records, key=lambda record: (record.topic, _period(record, counts), record.partition,
                                              record.offset))
    known = {event.id: event for event in events}
    assert len(known) == len(events), "the workload gives every event a unique id"
    first = _first_appearances(log, known)
    problems = [*_lost(events, first), *_phantoms(log, known), *_disorder(first, known),
                *_wrong_content(log, known, counts)]
    if check_timestamps:
        problems += _wrong_timestamps(log, known)
    if samples is not None:
        problems += _early_confirms(events, first, samples)
    repeated = [known[_id_of(record)] for record in log
                if _id_of(record) in known and first[_id_of(record)] is not record]
    return Verdict(len(events), repeated, problems)


def _id_of(record: Record) -> str | None:
    values = [value for name, value in record.headers if name == "id"]
    return values[0].decode(errors="replace") if len(values) == 1 and values[0] is not None else None


def _period(record: Record, counts: Mapping[str, Sequence[int]]) -> int:
    """The index of the partition count that placed the record; 0 if it is in the wrong partition."""
    places = [partition_for(record.key, count) for count in counts[record.topic]] if record.key is not None else []
    return places.index(record.partition) if record.partition in places else 0


def _place(record: Record) -> str:
    return f"{record.topic}[{record.partition}]@{record.offset}"


def _first_appearances(log: Iterable[Record], known: Mapping[str, Event]) -> dict[str, Record]:
    """The first record of each event, by event id, in log order."""
    first: dict[str, Record] = {}
    for record in log:
        if (event_id := _id_of(record)) in known:
            first.setdefault(event_id, record)
    return first


def _lost(events: Iterable[Event], first: Mapping[str, Record]) -> list[Problem]:
    return [Problem("lost", f"{event} was committed and is not in Kafka")
            for event in events if event.id not in first]


def _phantoms(log: Iterable[Record], known: Mapping[str, Event]) -> list[Problem]:
    return [Problem("phantom", f"{_place(record)} holds event {_id_of(record)}, which was not committed")
            for record in log if _id_of(record) not in known]


def _disorder(first: Mapping[str, Record], known: Mapping[str, Event]) -> list[Problem]:
    problems = []
    latest: dict[bytes, int] = {}
    found = {(known[event_id].key, known[event_id].n) for event_id in first}
    for event_id, record in first.items():
        event = known[event_id]
        expected = latest.get(event.key, 0) + 1
        if event.n < expected:
            problems.append(Problem("order", f"{event} first appears at {_place(record)}, after "
                                             f"n {expected - 1} of its key"))
        elif event.n > expected and (event.key, expected) not in found:
            problems.append(Problem("order", f"key {event.key.decode()} has a gap before n {event.n}, at "
                                             f"{_place(record)}: n {expected} never appears"))
        latest[event.key] = max(event.n, expected - 1)
    return problems


def _wrong_content(log: Iterable[Record], known: Mapping[str, Event],
                   counts: Mapping[str, Sequence[int]]) -> list[Problem]:
    problems = []
    for record in log:
        event = known.get(_id_of(record) or "")
        if event is None:
            continue
        count = counts[record.topic][_period(record, counts)]
        wanted = {"topic": event.topic, "key": event.key, "value": event.value, "headers": event.headers,
                  "partition": partition_for(event.key, count)}
        problems += [Problem("content", f"{event} at {_place(record)} has {name} "
                                        f"{getattr(record, name)!r:.200}, not {value!r:.200}")
                     for name, value in wanted.items() if getattr(record, name) != value]
    return problems


def _wrong_timestamps(log: Iterable[Record], known: Mapping[str, Event]) -> list[Problem]:
    return [Problem("timestamp", f"{event} at {_place(record)} has time {record.timestamp_ms}, not "
                                 f"{event.commit_time_us // 1000}")
            for record in log if (event := known.get(_id_of(record) or ""))
            and record.timestamp_ms != event.commit_time_us // 1000]


def _early_confirms(events: Iterable[Event], first: Mapping[str, Record],
                    samples: Iterable[Sample]) -> list[Problem]:
    """Compares events and samples by position, with the latest append time so far."""
    problems = []
    waiting = sorted(events, key=lambda event: event.end_lsn, reverse=True)
    latest, culprit = 0.0, None
    for sample in sorted(samples, key=lambda sample: (sample.lsn, sample.time_ms)):
        while waiting and waiting[-1].end_lsn <= sample.lsn:
            event = waiting.pop()
            record = first.get(event.id)
            appended = record.timestamp_ms if record is not None else float("inf")
            if appended > latest:
                latest, culprit = appended, event
        if culprit is not None and latest > sample.time_ms + _ROUNDING_MS:
            late = ("was never appended" if latest == float("inf")
                    else f"was appended {latest - sample.time_ms:.0f} ms later")
            problems.append(Problem("confirmed", f"{format_lsn(sample.lsn)} was confirmed, and with it "
                                                 f"{culprit}, which {late}"))
            culprit = None  # once for each event is enough
    return problems
