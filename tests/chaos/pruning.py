"""Pruning of the outbox table: by the relay, or by a job that shows that the judge can fail."""

import threading
from typing import Any

import psycopg2
from walrelay_dev.kafka import KafkaCluster
from walrelay_test.database import Database
from walrelay_test.deletions import DeletionLog
from walrelay_test.protobuf_types import message_type

_JOB_SECONDS = 0.5


class Pruning:
    """Prunes rows that are older than `keep` seconds; a context manager. `by_age`: not by the relay, but by a job that
    requires no proof."""

    def __init__(self, database: Database, keep: float, by_age: bool) -> None:
        self.keep = keep
        self._database = database
        self._by_age = by_age
        database.execute("ALTER TABLE outbox ADD created_at timestamptz NOT NULL DEFAULT now()")
        self.log = DeletionLog(database)
        self._stopping = threading.Event()
        self._job = threading.Thread(target=self._run_job, daemon=True)

    def __enter__(self) -> "Pruning":
        if self._by_age:
            self._job.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        if self._by_age:
            self._job.join()

    @property
    def options(self) -> dict[str, Any]:
        """Of the relay. Small batches: a pass has many statements between which a fault can begin."""
        return {} if self._by_age else {
            "prune.mode": "delete", "prune.keep": f"{self.keep:g}s", "prune.interval": "1s", "prune.batch_rows": 200}

    def has_begun(self, kafka: KafkaCluster, progress_topic: str) -> bool:
        """Whether all rows from now on can be proven to be published: a record has the beginning of the proof."""
        self._emit()
        progress = message_type("walrelay.progress.v1.Progress")
        return any(progress.FromString(record.value).published_from_xid > 0 for record in kafka.consume(progress_topic))

    def is_done(self) -> bool:
        """Whether no row is left."""
        self._emit()
        return self._database.value("SELECT NOT EXISTS (SELECT 1 FROM outbox)")

    def _emit(self) -> None:
        """The frontier of an idle outbox moves with other traffic."""
        self._database.execute("SELECT pg_logical_emit_message(true, 'filler', '')")

    def _run_job(self) -> None:
        database = Database(self._database.postgres, self._database.name)
        while not self._stopping.wait(_JOB_SECONDS):
            try:
                database.execute("DELETE FROM outbox WHERE created_at < now() - make_interval(secs => %s)", self.keep)
            except psycopg2.Error:
                continue  # the server is being restarted
