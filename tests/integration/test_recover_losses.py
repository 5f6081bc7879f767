#!/usr/bin/python3
"""`walrelay recover` after each way in which a slot gets lost on real servers: nothing is missing, nothing repeated."""

import os
import subprocess
import threading
from datetime import timedelta

from walrelay_dev.kafka_records import library
from walrelay_dev.postgres_binaries import bin_folder
from walrelay_dev.unprivileged_user import run_as
from walrelay_test.other_server import OtherServer
from walrelay_test.recover_case import UNPROVEN, RecoverCase
from walrelay_test.testcase import NO_BROKER, main, wait_until

SMALL_WAL = {"min_wal_size": "32MB", "max_wal_size": "64MB", "checkpoint_timeout": "1h"}


class Writers:
    """Threads that insert rows, one a transaction, while the block lasts: each has a key of its own and rising ids."""

    def __init__(self, case: RecoverCase, first: int, count: int = 3) -> None:
        self._case = case
        self._first = first
        self._count = count
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(count)]
        self.ids: list[int] = []  # that are committed
        self.failure: Exception | None = None

    def __enter__(self) -> "Writers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if self.failure:
            raise self.failure

    def wait_for(self, rows: int) -> None:
        wanted = len(self.ids) + rows
        wait_until(lambda: self.failure or len(self.ids) >= wanted, 60, "rows of the writers")

    def _write(self, number: int) -> None:
        try:
            connection = self._case.database.connect()
            with connection.cursor() as cursor:
                id = self._first + number
                while not self._stop.wait(0.002):  # about a thousand rows a second
                    self._case.outbox.insert(id, key=f"k{number}", cursor=cursor)
                    self.ids.append(id)
                    id += self._count
            connection.close()
        except Exception as error:
            self.failure = error


class InvalidatedSlotTest(RecoverCase):
    postgres_options = {"settings": SMALL_WAL | {"max_slot_wal_keep_size": "32MB"}}

    def test_every_event_is_published_under_load(self) -> None:
        relay = self.start_with_proof(*range(1, 100))
        with Writers(self, first=1000) as writers:
            writers.wait_for(300)
            relay.kill()
            for _ in range(90):
                self.fill_wal()
            wait_until(self.is_lost, 60, "the slot to be invalidated")
            writers.wait_for(300)
            plan = self.plan()
            self.assertEqual(plan["code"], "WR-2103")
            self.assertGreater(plan["found"], 0)
            writers.wait_for(100)
            self.walrelay("recover", "--apply", plan["plan"])
            writers.wait_for(100)
            self.start_again()
            writers.wait_for(100)
        self.settle()
        expected = list(range(1, 100)) + writers.ids
        self.assertEqual(sorted(self.ids()), sorted(expected), "none is missing, and none repeated")
        for number in range(3):
            keys = [int(dict(record.headers)["id"]) for record in self.published() if record.key == f"k{number}".encode()]
            self.assertEqual(keys, sorted(keys))

    def is_lost(self) -> bool:
        self.sql("CHECKPOINT")
        return self.database.slot(self.slot, "wal_status") == "lost"


class DroppedByTheRelayTest(RecoverCase):
    """source.on_retained_limit = "drop_slot"."""

    postgres_options = {"settings": SMALL_WAL}

    def test_every_event_is_published(self) -> None:
        self.assertEqual(self.start_with_proof(1, 2).stop(), 0)
        self.outbox.insert(3)
        cut_off = self.start_relay(NO_BROKER | {
            "source.create_slot": False, "source.max_retained_wal": "24MiB", "source.on_retained_limit": "drop_slot"})
        cut_off.wait_for_log("streaming")
        self.outbox.insert(4)
        for _ in range(30):
            self.fill_wal()
        self.expect_held(cut_off, "WR-2109")
        self.assertIsNone(self.database.slot(self.slot, "slot_name"))
        cut_off.kill()
        self.outbox.insert(5)
        self.new_relay()
        plan = self.plan()
        self.assertEqual((plan["code"], plan["rows"], plan["to_publish"]), ("WR-2107", 3, 3))
        self.recover()
        self.start_again()
        self.outbox.insert(6)
        self.expect_published(1, 2, 3, 4, 5, 6)


class AttachedPartitionTest(RecoverCase):
    def test_rows_from_before_the_attachment_are_candidates(self) -> None:
        self.sql("CREATE TABLE parted (LIKE outbox) PARTITION BY RANGE (id)")
        self.sql("CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (100)")
        self.sql("ALTER PUBLICATION walrelay SET TABLE parted")
        self.sql("ALTER PUBLICATION walrelay SET (publish_via_partition_root = true)")
        self.outbox.table = "parted"
        relay = self.start_with_proof(1, options={"source.table": "parted"})
        self.sql("CREATE TABLE high (LIKE outbox)")
        self.outbox.table = "high"
        self.outbox.insert(101, 102)
        self.sql("ALTER TABLE parted ATTACH PARTITION high FOR VALUES FROM (100) TO (200)")
        self.outbox.table = "parted"
        self.outbox.insert(2, 103)
        self.await_horizon()
        self.settle()
        self.assertEqual(self.ids(), [1, 2, 103])
        self.assertEqual(relay.stop(), 0)
        self.drop_slot()
        plan = self.plan()
        self.assertEqual((plan["rows"], plan["to_publish"]), (2, 2), "101 and 102 were never in the stream")
        self.recover()
        self.assertEqual(self.ids(), [1, 2, 103, 101, 102])
        self.start_again()


class LongTransactionTest(RecoverCase):
    """A transaction that is open for the whole outage, and since long before, holds back every horizon."""

    def test_older_rows_are_found_in_the_topics(self) -> None:
        self.database.create_slot(self.slot)  # which waits for open transactions
        with self.database.connect() as idle, idle.cursor() as cursor:
            xid = self.next_xid()
            cursor.execute("BEGIN")
            self.outbox.insert(1000, cursor=cursor)
            relay = self.start_with_proof(xid=xid)
            self.outbox.insert(*range(1, 50))
            self.settle()
            self.assertEqual(relay.stop(), 0)
            self.make_older(timedelta(hours=30))
            self.drop_slot()
            self.outbox.insert(*range(50, 60))
            cursor.execute("COMMIT")
        plan = self.plan()
        self.assertEqual((plan["rows"], plan["found"], plan["to_publish"]), (60, 49, 11))
        self.assertIn("A transaction was open for all the time", " ".join(plan["warnings"]))
        self.recover()
        self.assertEqual(sorted(self.ids()), [*range(1, 60), 1000])
        self.start_again()

    def make_older(self, age: timedelta) -> None:
        """Writes the record again: its horizons are so much earlier, and its beginning twice as much."""
        record = self.record()
        record.generation += 1  # of two versions, the one that counts
        microseconds = age // timedelta(microseconds=1)
        record.published_from_us -= 2 * microseconds
        for horizon in record.horizons:
            horizon.taken_us -= microseconds
        producer = library().Producer({"bootstrap.servers": self.kafka.bootstrap, "acks": "all"})
        producer.produce(self.progress_topic, key=self.pipeline, value=record.SerializeToString(),
                         headers={"walrelay.format": b"1"})
        self.assertEqual(producer.flush(30), 0)


class GreatXidTest(RecoverCase):
    """After 2^32 transactions: rows show only the low 32 bits of their xid."""

    postgres_options = {}

    def test_rows_of_a_later_epoch(self) -> None:
        resetwal = bin_folder(self.postgres.major) / "pg_resetwal"
        if not resetwal.exists():
            self.skipTest(f"{resetwal} does not exist")
        self.database.close()
        self.postgres.stop()
        subprocess.run([resetwal, "-e", "1", "-D", self.postgres.data], check=True, capture_output=True, cwd="/",
                       **run_as(self.postgres.data.owner() if os.geteuid() == 0 else None))
        self.postgres.start()
        self.assertEqual(self.start_with_proof(1).stop(), 0)
        self.assertGreater(self.next_xid(), 1 << 32)
        self.drop_slot()
        self.outbox.insert(2)
        self.assertEqual(self.plan()["rows"], 1)
        self.recover()
        self.assertEqual(self.ids(), [1, 2])


class OtherServerTest(OtherServer, RecoverCase):
    """Servers without the slot: one that was promoted without it, and one that was restored to an earlier point."""

    postgres_options = {}

    def test_ids_that_are_assigned_again(self) -> None:
        copy = self.prepare_copy()
        self.start_without_horizons()
        self.outbox.insert(2)
        self.settle()
        until = self.log_end_text()
        self.outbox.insert(3, payload='{"from": "the lost future"}')
        self.outbox.insert(4)
        self.settle()
        self.assertEqual(self.relay.stop(), 0)
        self.recover_to(copy, until)
        self.assertEqual(self.sql("SELECT id::int FROM outbox ORDER BY 1"), [(1,), (2,)])
        self.outbox.insert(3, payload='{"from": "the restored server"}')
        plan = self.plan()
        self.assertEqual((plan["rows"], plan["found"], plan["to_publish"]), (2, 1, 1))
        self.recover()
        self.assertEqual(self.ids(), [1, 2, 3, 4, 3])
        self.assertIn(b"the restored server", self.published()[-1].value)
        self.start_again()
        self.outbox.insert(5)
        self.settle()
        self.assertEqual(self.ids(), [1, 2, 3, 4, 3, 5])

    def test_promotion_without_the_slot(self) -> None:
        copy = self.prepare_copy()
        self.start_without_horizons()
        self.outbox.insert(2)
        self.settle()
        self.relay.kill()
        self.outbox.insert(3, 4)
        self.recover_to(copy, self.log_end_text())
        self.outbox.insert(5)
        plan = self.plan()
        self.assertEqual((plan["rows"], plan["found"], plan["to_publish"]), (4, 1, 3))
        self.recover()
        self.start_again()
        self.outbox.insert(6)
        self.expect_published(1, 2, 3, 4, 5, 6)

    def test_upgrade_without_the_slot(self) -> None:
        upgrade = bin_folder(self.postgres.major) / "pg_upgrade"
        if not upgrade.exists():
            self.skipTest(f"{upgrade} does not exist")
        self.relay = self.start_with_proof(1)
        self.outbox.insert(2)
        self.settle()
        self.assertEqual(self.relay.stop(), 0)
        self.outbox.insert(3)
        self.drop_slot()
        self.upgrade(upgrade)
        self.outbox.insert(4)
        self.plan(code=UNPROVEN)
        self.assertIn("--upgraded", self.errors)
        plan = self.plan("--upgraded")
        self.assertEqual((plan["code"], plan["rows"], plan["found"]), ("WR-2201", 3, 1))
        self.recover("--upgraded")
        self.start_again()
        self.outbox.insert(5)
        self.expect_published(1, 2, 3, 4, 5)


if __name__ == "__main__":
    main()
