"""Differences between the records of Debezium and walrelay."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from walrelay_dev.kafka_records import Record

_RUN_ID = "__debezium.context.runId"
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_SHOWN = 300


@dataclass(frozen=True)
class Difference:
    """A difference in one record, or between both series if `field` is "records"."""

    record: str
    field: str
    debezium: object
    walrelay: object

    def __str__(self) -> str:
        theirs, ours = _around(self.debezium, self.walrelay)
        return f"{self.record}: {self.field}\n    Debezium {theirs}\n    walrelay {ours}"


def differences(theirs: Sequence[Record], ours: Sequence[Record], *, timed: frozenset[bytes],
                cut: bool = False) -> list[Difference]:
    """Compares records one by one, in the order of each partition.

    Records without a key may be in any partition and are paired by their ids. `timed` are the ids of rows with
    their own timestamp; all other records have the current time. With `cut`, both systems stopped early, at an
    ordinary row, and walrelay may have published more: a Debezium task that fails drops its pending records.
    """
    found: list[Difference] = []
    for topic in sorted({record.topic for record in (*theirs, *ours)}):
        for place, mine, other in _series(topic, theirs, ours):
            if cut:
                other = other[:len(mine)]
            ids = [_id(each) for each in mine], [_id(each) for each in other]
            if ids[0] != ids[1]:
                found.append(Difference(place, "records", *ids))
                continue
            for one, two in zip(mine, other):
                found += _of_one(place, one, two, timed)
    return found


def _series(topic: str, theirs: Sequence[Record],
            ours: Sequence[Record]) -> Iterator[tuple[str, list[Record], list[Record]]]:
    """Name and records of each partition, and of all records without a key."""
    both = [[record for record in side if record.topic == topic] for side in (theirs, ours)]
    for partition in sorted({record.partition for side in both for record in side}):
        keyed = [[record for record in side if record.partition == partition and record.key is not None]
                 for side in both]
        yield f"{topic}[{partition}]", keyed[0], keyed[1]
    loose = [sorted((record for record in side if record.key is None), key=lambda record: _id(record) or b"")
             for side in both]
    yield f"{topic}, no key", loose[0], loose[1]


def _of_one(place: str, theirs: Record, ours: Record, timed: frozenset[bytes]) -> Iterator[Difference]:
    id = _id(theirs)
    what = f"{place}, id {(id or b'NULL').decode(errors='replace')}"
    for field in ("key", "value"):
        if getattr(theirs, field) != getattr(ours, field):
            yield Difference(what, field, getattr(theirs, field), getattr(ours, field))
    if _masked(theirs) != _masked(ours):
        yield Difference(what, "headers", _masked(theirs), _masked(ours))
    if id in timed and theirs.timestamp_ms != ours.timestamp_ms:
        yield Difference(what, "timestamp", theirs.timestamp_ms, ours.timestamp_ms)


def _masked(record: Record) -> list[tuple[str, bytes | None]]:
    """The headers, with the run's id replaced by a placeholder."""
    return [(name, b"a UUID" if name == _RUN_ID and value and _UUID.fullmatch(value) else value)
            for name, value in record.headers]


def _id(record: Record) -> bytes | None:
    return next((value for name, value in record.headers if name == "id"), None)


def _around(one: object, two: object) -> tuple[str, str]:
    """Both as text, from shortly before the first difference."""
    texts = repr(one), repr(two)
    same = next((i for i, (a, b) in enumerate(zip(*texts)) if a != b), min(map(len, texts)))
    begin = max(0, same - 80)
    return tuple(f"{'…' if begin else ''}{text[begin:begin + _SHOWN]}{'…' if len(text) > begin + _SHOWN else ''}"
                 for text in texts)
