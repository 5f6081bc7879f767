#!/usr/bin/python3
"""SIGKILL of a relay that publishes exactly once: readers of committed records see no event twice, and miss none.

WALRELAY_ONCE_KILLS is the number of kills under load (by default 50), WALRELAY_ONCE_ROWS that of the rows of the large
transaction (by default 200,000).
"""

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing

from walrelay_dev.kafka_reader import TopicReader
from walrelay_dev.kafka_records import COMMITTED, UNCOMMITTED
from walrelay_test.once_case import OnceCase, OnceVerifiedTest
from walrelay_test.relay_process import RelayProcess
from walrelay_test.testcase import main
from walrelay_test.verified import PARTITIONS

KILLS = int(os.environ.get("WALRELAY_ONCE_KILLS", "50"))
ROWS = int(os.environ.get("WALRELAY_ONCE_ROWS", "200000"))
RATE = 180  # transactions a second, with about 1,000 events
ROUND = 50  # kills before the result is checked
KILLS_OF_LARGE = 20
KEYS = 1000


class OnceKillTest(OnceVerifiedTest):
    timestamp_type = "CreateTime"  # the time of the commit

    def test_kills_under_load_repeat_and_lose_nothing(self) -> None:
        chance = random.Random(50)
        relay = self.start_recording()
        restarts: list[float] = []
        events = 0
        for first in range(0, KILLS, ROUND):
            if first > 0:
                self.start_over(relay)
            with self.kafka.reader(self.topics) as reader, self.load(seed=f"once/{first}", rate=RATE):
                for number in range(first, min(first + ROUND, KILLS)):
                    time.sleep(chance.uniform(0, 0.6))  # the random moment
                    killed = time.time()
                    relay.kill()
                    relay.start()
                    # Every third one is killed again before or while it claims the id.
                    if number % 3 != 0:
                        restarts.append(self.first_visible(relay, reader, killed) - killed)
            events += self.expect_only_once(seconds=120).events
        print(f"{events} events, {KILLS} kills, none repeated; seconds from a kill to the first visible event that was "
              f"committed after it: median {statistics.median(restarts):.2f}, greatest {max(restarts):.2f}")

    def first_visible(self, relay: RelayProcess, reader: TopicReader, since: float) -> float:
        """When the first event whose row was committed after `since` became visible."""
        def found() -> float | None:
            new = (record for record in reader.take() if record.timestamp_ms > since * 1000)
            return next((record.received_ns / 1e9 for record in new), None)
        return relay.wait_until(found, 60, "an event after the kill")

    def test_lost_connections_to_postgres_repeat_nothing(self) -> None:
        relay = self.start_recording({"pipeline.atomic_rows": 20})
        with self.load(seed="lost", rate=RATE) as workload:
            for _ in range(10):
                goal = workload.committed + 20
                relay.wait_until(lambda: workload.committed >= goal, 60, "transactions")
                self.sql("SELECT pg_terminate_backend(%s)", self.database.walsender(self.slot))
                relay.wait_until(lambda: self.database.slot(self.slot, "active"), 60, "another connection")
        self.expect_only_once()

    def test_killed_relay_has_recorded_exactly_what_is_visible(self) -> None:
        chance = random.Random(51)
        relay = self.start_recording({"pipeline.atomic_rows": 20})  # some transactions are larger
        for number in range(8):
            with self.load(seed=f"record/{number}", rate=100) as workload:
                goal = workload.committed + 30
                relay.wait_until(lambda: workload.committed >= goal, 60, "transactions")
                time.sleep(chance.uniform(0, 0.2))  # the random moment
                relay.kill()
            visible = self.expect_record_of_what_is_visible()
            self.assertGreater(visible, 0)
            self.assertLessEqual(self.database.confirmed(self.slot), self.record().frontier)
            relay.start()
        self.expect_only_once()


class LargeTransactionTest(OnceCase):
    def test_large_transaction_that_is_killed_midway_is_published_once(self) -> None:
        self.kafka.create_topic(self.topic, PARTITIONS)
        chance = random.Random(52)
        relay = self.start_recording({"pipeline.atomic_rows": 1000, "pipeline.max_in_flight_records": ROWS // 100})
        self.sql("INSERT INTO outbox SELECT i, %s, i %% %s, 'made', '1' FROM generate_series(0, %s) i", self.name, KEYS,
                 ROWS - 1)
        with self.kafka.reader(self.progress_topic) as records:
            for _ in range(KILLS_OF_LARGE):
                records.take()
                relay.wait_until(lambda: any(self.parse(each).partial_commit_lsn > 0 for each in records.take()), 120,
                                 "another part")
                time.sleep(chance.uniform(0, 0.03))  # the random moment
                relay.kill()
                self.assertGreater(self.record().partial_commit_lsn, 0, "the relay was killed midway")
                relay.start()
            self.settle(300)
        self.expect_no_transaction_stays_open(0)
        self.expect_each_row_once_and_in_order()
        self.assertEqual(set(self.stream_ids(UNCOMMITTED)), set(range(ROWS)))

    def test_changed_settings_inside_a_transaction_repeat_and_lose_nothing(self) -> None:
        self.kill_midway(self.insert_rows)
        self.start_relay({"source.message_prefixes": ["other"]})
        self.expect_once(*range(20_000))

    def test_publication_changed_inside_a_transaction_repeats_and_loses_nothing(self) -> None:
        # The server decodes a transaction with the catalog of its time.
        relay = self.kill_midway(self.insert_rows)
        self.sql("DROP PUBLICATION walrelay")
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert, update')")
        relay.start()
        gap = relay.wait_for_log("gap", code="WR-2110")
        self.walrelay("resume", "--accept-gap", gap["gap"], relay=relay)
        self.expect_once(*range(20_000))

    def test_transaction_during_a_change_of_the_publication_is_published_once(self) -> None:
        # Without the transaction that was sent before it, the server decodes it with the publication as it was
        # at its beginning, that is without the rows of the other table.
        self.sql("CREATE TABLE other (id int)")
        relay = self.kill_midway(self.insert_rows_during_a_change)
        relay.start()
        self.expect_once(20_000, *range(20_000))

    def insert_rows(self) -> int:
        self.outbox.insert(*range(20_000))
        return 0

    def insert_rows_during_a_change(self) -> int:
        """A transaction that began before the change, behind one that began after it. Returns a position behind the
        rows of the other table."""
        connection = self.database.connect()
        with closing(connection), connection.cursor() as cursor:
            cursor.execute("BEGIN")
            self.outbox.insert(*range(5_000), cursor=cursor)
            cursor.execute("INSERT INTO other SELECT generate_series(1, 3000)")
            self.sql("ALTER PUBLICATION walrelay ADD TABLE other")
            self.sql("INSERT INTO other VALUES (1)")
            self.outbox.insert(20_000)
            cursor.execute("INSERT INTO other SELECT generate_series(1, 3000)")
            cursor.execute("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')")
            behind = int(cursor.fetchone()[0])
            self.outbox.insert(*range(5_000, 20_000), cursor=cursor)
            cursor.execute("COMMIT")
        return behind

    def kill_midway(self, insert: Callable[[], int]) -> RelayProcess:
        """Kills a relay that has published some rows of a transaction, up to one behind the position that `insert`
        returns."""
        relay = self.start_recording({"pipeline.max_in_flight_records": 1000})
        with self.kafka.reader(self.progress_topic) as records:
            records.wait_for(1, 60)
            behind = insert()
            relay.wait_until(lambda: any(self.parse(each).partial_row_lsn > behind for each in records.take()), 60,
                             "a part")
            relay.kill()
        self.assertGreater(self.record().partial_commit_lsn, 0, "the relay was killed midway")
        return relay

    def expect_each_row_once_and_in_order(self) -> None:
        expected = list(range(KEYS))  # the next id of each key
        for id in self.stream_ids(COMMITTED):
            self.assertEqual(id, expected[id % KEYS])
            expected[id % KEYS] += KEYS
        self.assertTrue(all(ROWS <= each < ROWS + KEYS for each in expected))

    def stream_ids(self, isolation: str) -> Iterator[int]:
        for record in self.kafka.stream(self.topic, timeout=300, isolation=isolation):
            yield int(dict(record.headers)["id"])


if __name__ == "__main__":
    main()
