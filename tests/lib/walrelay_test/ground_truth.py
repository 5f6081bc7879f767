"""Observers of a run: the events that Postgres committed, and the positions confirmed to it over time.

Both query only Postgres. The expected events are in the table `truth`, which the workload writes in the same
transactions; the WAL position of each transaction comes from a separate slot, through a separate decoder.
"""

import threading
import time
from collections.abc import Callable, Iterable

import psycopg2

from .database import Database
from .pgoutput import Transaction, parse_lsn, read_transactions
from .verifier import Event, Sample

_SAMPLE_SECONDS = 0.02
_SLOT = "ground_truth"


class GroundTruth:
    """The committed events of one database. Create it before the first row is written.

    It needs the publication that the relay uses, and its slot retains WAL as long as it exists.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._slot = f"{database.name}_{_SLOT}"
        database.create_slot(self._slot)

    def recreate_slot(self) -> None:
        """Drops and recreates the slot, which releases the WAL so far; the tables must be empty."""
        self._database.execute("SELECT pg_drop_replication_slot(%s)", self._slot)
        self._database.create_slot(self._slot)

    def transactions(self) -> list[Transaction]:
        """All transactions of the publication in the WAL, in commit order."""
        rows = self._database.execute(
            "SELECT lsn, data FROM pg_logical_slot_peek_binary_changes(%s, NULL, NULL, "
            "'proto_version', '1', 'publication_names', 'walrelay')", self._slot)
        return list(read_transactions((bytes(data) for _, data in rows), (parse_lsn(lsn) for lsn, _ in rows)))

    def events(self, transactions: Iterable[Transaction] | None = None) -> list[Event]:
        """All committed events, in commit order, with the record expected for each."""
        truth = {row[0]: row for row in self._database.execute(
            "SELECT event_id, topic, key, n, event_type, payload FROM truth")}
        events = [_event(truth[row["id"]], transaction)
                  for transaction in transactions or self.transactions() for row in transaction.rows]
        assert len(events) == len(truth), f"the WAL has {len(events)} rows, the table truth has {len(truth)}"
        _check_numbers(events)
        return events


def _event(row: tuple, transaction: Transaction) -> Event:
    event_id, topic, key, n, event_type, payload = row
    return Event(id=event_id, topic=topic, key=key.encode(), n=n,
                 value=None if payload is None else payload.encode(),
                 headers=[("id", event_id.encode()), ("event_type", event_type.encode())],
                 commit_time_us=transaction.commit_time_us, end_lsn=transaction.end_lsn)


def _check_numbers(events: Iterable[Event]) -> None:
    """Checks the workload: n numbers the events of a key in commit order."""
    latest: dict[bytes, int] = {}
    for event in events:
        assert event.n == latest.get(event.key, 0) + 1, f"{event} follows n {latest.get(event.key)}"
        latest[event.key] = event.n


class ConfirmSampler:
    """Samples the confirmed position of a slot, fifty times a second; a context manager.

    It waits while the server is unavailable. The time of a sample is taken after the response: the position
    was confirmed at that time or a little earlier.
    """

    def __init__(self, connect: Callable[[], object], slot: str) -> None:
        self.samples: list[Sample] = []
        self._connect = connect
        self._slot = slot
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "ConfirmSampler":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(_SAMPLE_SECONDS):
            try:
                self._sample_until_lost()
            except psycopg2.Error:
                continue  # the server is being restarted

    def _sample_until_lost(self) -> None:
        connection = self._connect()
        try:
            cursor = connection.cursor()
            while not self._stopping.wait(_SAMPLE_SECONDS):
                cursor.execute("SELECT confirmed_flush_lsn FROM pg_replication_slots "
                               "WHERE slot_name = %s", (self._slot,))
                for (lsn,) in cursor.fetchall():
                    self.samples.append(Sample(time.time_ns() / 1e6, parse_lsn(lsn)))
        finally:
            connection.close()
