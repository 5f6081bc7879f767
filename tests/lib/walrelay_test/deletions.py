"""The deletions from an outbox table: recorded by a trigger, and compared with the records in Kafka.

It uses no information from the relay. The table has the columns id and created_at, with the default now().
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from walrelay_dev.kafka_records import Record

from .database import Database
from .repetitions import event_id

_SCHEMA = """
CREATE SCHEMA deletions;
CREATE TABLE deletions.log (event_id text NOT NULL, written timestamptz NOT NULL, deleted timestamptz NOT NULL);
CREATE FUNCTION deletions.note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO deletions.log SELECT id::pg_catalog.text, created_at, pg_catalog.statement_timestamp()
  FROM gone WHERE created_at OPERATOR(pg_catalog.<>) pg_catalog.now();
  RETURN NULL;
END $$;
"""


@dataclass(frozen=True)
class Deletion:
    """A row that another transaction than its own has deleted."""

    event_id: str
    written_ms: float
    deleted_ms: float  # when the statement began: what it deletes must be in Kafka by then


class DeletionLog:
    """The log is written in the deleting transaction: it has exactly the deletions that were committed.

    A row that is deleted by the transaction that inserted it is not in it; it has the time of that transaction.
    """

    def __init__(self, database: Database, table: str = "outbox") -> None:
        self._database = database
        database.execute(_SCHEMA)
        database.execute(f"CREATE TRIGGER note_deletions AFTER DELETE ON {table} REFERENCING OLD TABLE AS gone "
                         "FOR EACH STATEMENT EXECUTE FUNCTION deletions.note()")

    def take(self) -> list[Deletion]:
        """All deletions since the last call."""
        rows = self._database.execute(
            "SELECT event_id, extract(epoch FROM written)::float8 * 1000, extract(epoch FROM deleted)::float8 * 1000 "
            "FROM deletions.log")
        self._database.execute("TRUNCATE deletions.log")
        return [Deletion(*row) for row in rows]


def early_deletions(deletions: Sequence[Deletion], records: Iterable[Record], keep_seconds: float = 0) -> list[str]:
    """The rows that were deleted before Kafka had appended their event, or before they were `keep_seconds` old.

    REQUIRES: topics with LogAppendTime, on a host with the clock of Postgres. Its whole milliseconds are rounded
    down, so no difference is tolerated.
    """
    appended: dict[str, int] = {}
    for record in records:
        id = event_id(record)
        appended[id] = min(appended.get(id, record.timestamp_ms), record.timestamp_ms)
    problems = []
    for deletion in deletions:
        age = (deletion.deleted_ms - deletion.written_ms) / 1000
        row = f"the row of event {deletion.event_id}, {age:.1f} s old,"
        time = appended.get(deletion.event_id)
        if time is None:
            problems.append(f"{row} was deleted, and the event is not in Kafka")
        elif time > deletion.deleted_ms:
            problems.append(f"{row} was deleted {time - deletion.deleted_ms:.0f} ms before its event was appended")
        elif age < keep_seconds:
            problems.append(f"{row} was deleted before it was {keep_seconds:g} s old")
    return problems
