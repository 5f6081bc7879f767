"""Base of the tests of pruning: a relay that deletes what it has published."""

from typing import Any

from .outbox import Outbox
from .progress_case import ProgressCase
from .relay_process import RelayProcess


class PruneCase(ProgressCase):
    """Rows are older than `keep` as soon as they are inserted, unless a test sets their time."""

    mode: dict[str, Any] = {"prune.mode": "delete"}
    more_columns = ", created_at timestamptz DEFAULT now()"

    def prepare(self) -> None:
        self.outbox = Outbox(self.database, self.name, more_columns=self.more_columns)
        self.publish("outbox")

    def options(self) -> dict[str, Any]:
        return super().options() | {"prune.keep": "0", "prune.interval": "1s"} | self.mode

    def rows(self) -> list[int]:
        return [id for id, in self.sql("SELECT id::int FROM outbox ORDER BY id")]

    def start_pruning(self, options: dict[str, Any] | None = None) -> RelayProcess:
        """A relay that has read transaction ids once: what is inserted from now on can be proven."""
        relay = self.start_streaming(options)
        self.touch(relay)
        return relay

    def touch(self, relay: RelayProcess) -> None:
        """Commits a transaction, and waits until the record has a horizon behind it, and proves something: a first
        reading of transaction ids is only where the proof begins."""
        xid = self.database.value("SELECT txid_current()::text::bigint")

        def proven() -> bool:
            # The frontier of an idle outbox moves with other traffic.
            self.sql("SELECT pg_logical_emit_message(true, 'filler', '')")
            records = self.records() if self.progress_topic in self.kafka.topics() else []
            return any(record.published_from_xid > 0 and record.horizons
                       and record.horizons[-1].xid > max(xid, record.published_from_xid) for record in records)

        relay.wait_until(proven, 60, f"a horizon beyond {xid}")

    def wait_for_rows(self, relay: RelayProcess, *ids: int) -> None:
        relay.wait_until(lambda: self.rows() == list(ids), 60, f"rows {ids}")

    def wait_for_passes(self, relay: RelayProcess, count: int = 2) -> None:
        """Waits until this many more passes are complete. After one, all rows that were deleted before the call are
        counted; only the second one certainly began after it."""
        name = "walrelay_prune_last_pass_timestamp_seconds"
        for _ in range(count):
            before = relay.metric(name) or 0
            relay.wait_until(lambda: (relay.metric(name) or 0) > before, 60, "a complete pass")
