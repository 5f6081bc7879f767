#!/usr/bin/python3
"""Pruning with a proof of another server, or of a stream that has ended: nothing is deleted.

The relay does not notice that its stream has ended: its link is half-open. The connection of the pruning thread
reaches the server that answers now. After a promotion or a restore, new rows have the xids that the old server gave to
published ones.
"""

import shutil
import signal
from pathlib import Path
from typing import Any

from walrelay_test.deletions import DeletionLog, early_deletions
from walrelay_test.prune_case import PruneCase
from walrelay_test.promoted_copy import promote_copy
from walrelay_test.relay_process import RelayProcess
from walrelay_test.tcp_proxy import TcpProxy
from walrelay_test.testcase import main

PUBLISHED = [1, 2, 3]
LOST = [4, 5, 6]
NEW = list(range(10, 30))
_XIDS = 100


class HalfOpenCase(PruneCase):
    postgres_options = {"tcp": True, "settings": {"log_statement": "all"}}

    def prepare(self) -> None:
        super().prepare()
        self.link = self.enterContext(TcpProxy(self.postgres.port))
        self.log = DeletionLog(self.database)
        self.kafka.create_topic(self.topic, 1, config={"message.timestamp.type": "LogAppendTime"})

    def options(self) -> dict[str, Any]:
        return super().options() | {
            "source.dsn": f"host=127.0.0.1 port={self.link.port} user=postgres dbname={self.name}",
            "prune.dsn": self.database.dsn}

    def wait_for_statements(self, relay: RelayProcess, count: int = 3) -> None:
        """Waits until the server has received statements that prune, from now on."""
        seen = self.statements()
        relay.wait_until(lambda: self.statements() >= seen + count, 60, f"{count} statements that prune")

    def statements(self) -> int:
        return self.postgres.log.read_bytes().count(b"WITH server AS MATERIALIZED")

    def burn_xids(self) -> None:
        for _ in range(_XIDS):
            self.sql("SELECT txid_current()")

    def expect_nothing_early(self, *ids: int) -> None:
        """Checks that exactly these rows were deleted, each one after its event was appended."""
        deletions = self.log.take()
        self.assertEqual(early_deletions(deletions, self.published()), [])
        self.assertEqual(sorted({int(each.event_id) for each in deletions}), list(ids))


class OtherServerCase(HalfOpenCase):
    def back_up_while_streaming(self, relay: RelayProcess) -> Path:
        """A copy of the server, of which the relay has proof from its beginning."""
        self.assertEqual(relay.stop(), 0)
        copy = self.back_up()
        relay.start()
        relay.wait_ready()
        return copy

    def relay_with_old_proof(self) -> tuple[RelayProcess, Path, str]:
        """Returns a relay, an older copy of its server, and a position. The proof covers xids that neither the copy nor
        the server at the position has assigned."""
        relay = self.start_pruning()
        copy = self.back_up_while_streaming(relay)
        self.outbox.insert(*PUBLISHED)
        third = self.database.value("SELECT pg_current_wal_flush_lsn()")
        self.outbox.insert(*LOST)
        self.burn_xids()
        self.settle()
        self.touch(relay)
        self.wait_for_rows(relay)
        self.link.hold()
        return relay, copy, third

    def insert_new_rows(self) -> None:
        """In transactions with xids that the old proof covers."""
        for id in NEW:
            self.outbox.insert(id)

    def expect_rows_kept(self, relay: RelayProcess, *ids: int) -> None:
        self.wait_for_statements(relay)
        self.assertEqual(self.rows(), list(ids))

    def reconnect(self) -> None:
        self.link.heal()
        self.link.cut()


class PromotionTest(OtherServerCase):
    """The promoted server lacks the end of the first one's WAL."""

    def promote(self, copy: Path, until: str) -> None:
        self.postgres.stop("immediate")
        promote_copy(self.postgres, self.database, copy, until)
        self.assertEqual(self.rows(), PUBLISHED)

    def expect_pruned_again(self, relay: RelayProcess) -> None:
        """Once the relay streams from the promoted server and has proof."""
        self.reconnect()
        relay.wait_for_log("timeline_switched")
        self.settle()
        self.touch(relay)
        self.wait_for_rows(relay)
        self.assertEqual(self.first_ids(), PUBLISHED + LOST + NEW)
        # The promoted server has the log of its own deletions.
        self.expect_nothing_early(*PUBLISHED, *NEW)

    def test_half_open_stream(self) -> None:
        relay, copy, third = self.relay_with_old_proof()
        self.promote(copy, third)
        self.insert_new_rows()
        self.expect_rows_kept(relay, *PUBLISHED, *NEW)
        self.expect_pruned_again(relay)

    def test_suspended_relay(self) -> None:
        relay, copy, third = self.relay_with_old_proof()
        relay.pause()
        self.promote(copy, third)
        self.insert_new_rows()
        relay.resume()
        self.expect_rows_kept(relay, *PUBLISHED, *NEW)
        self.expect_pruned_again(relay)


class RestoreTest(OtherServerCase):
    """An older copy of the server behind the same address, on the same timeline."""

    def restore_at_once(self, copy: Path) -> None:
        self.postgres.stop("immediate")
        shutil.rmtree(self.postgres.data)
        copy.rename(self.postgres.data)
        self.postgres.start()
        self.assertEqual(self.rows(), [])

    def expect_held_and_pruned_again(self, relay: RelayProcess, code: str) -> None:
        self.reconnect()
        gap = self.expect_held(relay, code)
        self.wait_for_passes_without_proof(relay)
        self.assertEqual(self.rows(), NEW)
        generation = self.record().generation
        self.accept(relay, gap)
        relay.wait_ready()
        relay.wait_until(lambda: self.proof_begins_after(generation), 60, "a proof from after the gap")
        self.outbox.insert(30)
        self.settle()
        # Rows from before the accepted gap are kept: nothing proves that they are published.
        self.wait_for_rows(relay, *NEW)
        self.expect_nothing_early(30)

    def proof_begins_after(self, generation: int) -> bool:
        """The records from before the gap have later xids."""
        self.sql("SELECT pg_logical_emit_message(true, 'filler', '')")
        return any(record.generation > generation and record.published_from_xid > 0 for record in self.records())

    def wait_for_passes_without_proof(self, relay: RelayProcess) -> None:
        def refused() -> float:
            return relay.metric("walrelay_prune_errors_total", code="WR-2323") or 0
        before = refused()
        relay.wait_until(lambda: refused() >= before + 3, 60, "passes without a proof")

    def test_half_open_stream(self) -> None:
        relay, copy, _ = self.relay_with_old_proof()
        self.restore_at_once(copy)
        self.insert_new_rows()
        self.expect_rows_kept(relay, *NEW)
        self.expect_held_and_pruned_again(relay, "WR-2202")

    def test_server_that_has_grown_past_the_frontier(self) -> None:
        relay, copy, _ = self.relay_with_old_proof()
        end = self.database.log_end()
        self.restore_at_once(copy)
        self.insert_new_rows()
        self.fill_wal(end)
        self.expect_rows_kept(relay, *NEW)
        self.reconnect()
        relay.wait_until(lambda: relay.logs("gap") or self.rows() != NEW, 60, "a gap, or pruned rows")
        self.expect_nothing_early()
        self.assertEqual(self.expect_held(relay, "WR-2202")["code"], "WR-2202")

    def test_suspended_relay(self) -> None:
        relay, copy, _ = self.relay_with_old_proof()
        relay.pause()
        self.restore_at_once(copy)
        self.insert_new_rows()
        relay.resume()
        self.expect_rows_kept(relay, *NEW)
        self.expect_held_and_pruned_again(relay, "WR-2202")


class TwoRelaysTest(HalfOpenCase):
    def test_only_the_publisher_prunes(self) -> None:
        first = self.start_pruning()
        second = self.start_relay()
        second.wait_for_state("standby")
        self.outbox.insert(1, 2, 3)
        self.wait_for_rows(first)
        self.wait_for_passes(first, 1)
        self.assertEqual(first.metric("walrelay_pruned_rows_total"), 3)
        self.assertEqual(second.metric("walrelay_pruned_rows_total"), 0)
        first.signal(signal.SIGKILL)
        second.wait_ready()
        self.outbox.insert(4)
        self.wait_for_rows(second)
        self.wait_for_passes(second, 1)
        self.assertEqual(second.metric("walrelay_pruned_rows_total"), 1)
        self.expect_nothing_early(1, 2, 3, 4)

    def test_a_relay_that_has_lost_the_slot_does_not_prune(self) -> None:
        """The rows are proven, and another relay publishes: it may have other settings."""
        first = self.start_pruning()
        other = self.database.connect()
        self.addCleanup(other.close)
        with other.cursor() as cursor:
            self.outbox.insert(1, 2, 3)
            cursor.execute("BEGIN")
            cursor.execute("LOCK TABLE outbox IN SHARE MODE")
            self.settle()
            self.touch(first)
            self.assertEqual(self.rows(), [1, 2, 3])
            self.link.hold()
            second = self.start_relay({"prune.mode": "off", "source.dsn": self.database.dsn})
            self.sql("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = %s",
                     self.slot)
            second.wait_ready()
            cursor.execute("ROLLBACK")
        self.wait_for_statements(first)
        self.assertEqual(self.rows(), [1, 2, 3])
        self.link.heal()
        self.link.cut()
        first.wait_for_state("standby")
        self.assertEqual(second.stop(), 0)
        self.wait_for_rows(first)
        self.expect_nothing_early(1, 2, 3)


if __name__ == "__main__":
    main()
