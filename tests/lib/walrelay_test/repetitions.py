"""Which faults repeated which records: every record that repeats an event is attributed to the faults around it."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from walrelay_dev.kafka_records import Record

NO_FAULT = "no fault"


@dataclass(frozen=True)
class Effect:
    """A fault had an effect from its begin until everything committed by its end was confirmed."""

    name: str
    began_ms: float
    ended_ms: float


def event_id(record: Record) -> str:
    return (dict(record.headers).get("id") or b"").decode()


def repeated_records(records: Iterable[Record]) -> list[Record]:
    """All records but the first one of each event. An event's records are all in one partition."""
    seen: set[str] = set()
    repeated = []
    for record in sorted(records, key=lambda each: (each.topic, each.partition, each.offset)):
        if (id := event_id(record)) in seen:
            repeated.append(record)
        seen.add(id)
    return repeated


def by_fault(repeated: Iterable[Record], effects: Sequence[Effect]) -> Counter[str]:
    """The number of repeated records by the names of the faults that had an effect when they were appended."""
    return Counter(_faults_at(record.timestamp_ms, effects) for record in repeated)


def by_kill(repeated: Iterable[Record], kills: Sequence[float], effects: Sequence[Effect],
            alone: str) -> list[list[Record]]:
    """The repeated records of each SIGKILL around which only faults named `alone` had an effect.

    A record counts for the last kill before it.
    """
    found: dict[float, list[Record]] = {kill: [] for kill in kills if _faults_at(kill, effects) == alone}
    times = sorted(kills)
    for record in repeated:
        at = bisect_right(times, record.timestamp_ms)
        if at > 0 and times[at - 1] in found and _faults_at(record.timestamp_ms, effects) == alone:
            found[times[at - 1]].append(record)
    return list(found.values())


def _faults_at(time_ms: float, effects: Iterable[Effect]) -> str:
    # LogAppendTime has whole milliseconds.
    names = {each.name for each in effects if int(each.began_ms) <= time_ms <= each.ended_ms}
    return " + ".join(sorted(names)) or NO_FAULT
