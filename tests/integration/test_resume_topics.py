#!/usr/bin/python3
"""pipeline.mode = "topics": events that the topics have already are not sent again.

WALRELAY_TOPICS_KILLS is the number of kills under load (by default 50).
"""

import io
import os
import random
import struct
import time
from contextlib import closing
from typing import Any

from walrelay_test.progress_case import ProgressCase
from walrelay_test.relay_process import RelayProcess
from walrelay_test.testcase import main
from walrelay_test.verified import VerifiedTest

KILLS = int(os.environ.get("WALRELAY_TOPICS_KILLS", "50"))
ROUND = 50  # kills before the result is checked
HEADER = struct.Struct(">QQIIqQII")  # commit LSN, row LSN, index, xid, commit time, history, routing, partitions
TOPICS = {"source.create_slot": True, "pipeline.mode": "topics"}


class PositionTest(ProgressCase):
    def options(self) -> dict[str, Any]:
        return super().options() | TOPICS

    def positions(self) -> list[tuple]:
        return [HEADER.unpack(dict(record.headers)["wr-pos"]) for record in self.kafka.consume(self.topic)]

    def test_each_record_carries_its_position(self) -> None:
        relay = self.start_streaming()
        self.sql("INSERT INTO outbox SELECT g, %s, 'k', 'made', '1' FROM generate_series(1, 3) g", self.name)
        self.outbox.insert(4)
        self.settle()
        positions = self.positions()
        self.assertEqual([index for _, _, index, *_ in positions], [1, 1, 1, 1])
        self.assertEqual([row for _, row, *_ in positions], sorted({row for _, row, *_ in positions}))
        self.assertEqual(len({commit for commit, *_ in positions}), 2)
        self.assertEqual(len({(xid, commit_time) for _, _, _, xid, commit_time, *_ in positions}), 2)
        self.assertEqual({each[5:] for each in positions}, {positions[0][5:]})
        self.assertEqual(relay.stop(), 0)

    def test_rows_of_one_wal_record_are_numbered(self) -> None:
        self.start_streaming()
        with closing(self.database.connect()) as connection, connection.cursor() as cursor:
            lines = "".join(f"{id}\t{self.name}\tk\tmade\t1\n" for id in range(1, 4))
            cursor.copy_expert("COPY outbox FROM STDIN", io.StringIO(lines))
            connection.commit()
        self.settle()
        positions = self.positions()
        self.assertEqual([index for _, _, index, *_ in positions], [1, 2, 3])
        self.assertEqual(len({row for _, row, *_ in positions}), 1)

    def test_killed_relay_repeats_nothing_that_is_not_recorded(self) -> None:
        # The record is written, and the slot confirmed, only every ten seconds.
        relay = self.start_relay({"pipeline.confirm_interval": "10s"})
        relay.wait_ready()
        for id in range(1, 21):
            self.outbox.insert(id)
        relay.wait_until(lambda: len(self.ids()) == 20, 60, "20 records")
        relay.kill()
        relay.start()
        self.outbox.insert(21)
        relay.wait_until(lambda: 21 in self.ids(), 60, "the next record")
        self.assertEqual(self.ids(), list(range(1, 22)))
        self.assertGreater(relay.metric("walrelay_events_skipped_total", reason="stored"), 0)

    def test_another_routing_repeats_rather_than_skips(self) -> None:
        relay = self.start_relay({"pipeline.confirm_interval": "10s"})
        relay.wait_ready()
        self.outbox.insert(1, 2, 3)
        relay.wait_until(lambda: len(self.ids()) == 3, 60, "3 records")
        relay.kill()
        self.start_relay({"route.timestamp": "now"}).wait_ready()
        self.settle()
        self.assertEqual(self.ids(), [1, 2, 3, 1, 2, 3])


class TopicsKillTest(VerifiedTest):
    kafka_options = {}
    added_headers = frozenset({"wr-pos"})

    def publish(self, *tables: str) -> None:
        self.sql(f"CREATE PUBLICATION walrelay FOR TABLE {', '.join(tables)} WITH (publish = 'insert')")

    def options(self) -> dict[str, Any]:
        return super().options() | TOPICS

    def test_kills_under_load_repeat_almost_nothing(self) -> None:
        chance = random.Random(50)
        relay = self.start_recorded()
        events, repeats = 0, []
        for first in range(0, KILLS, ROUND):
            if first > 0:
                self.start_over(relay)
            with self.load(seed=first, rate=180):  # about 1,000 events a second
                for _ in range(first, min(first + ROUND, KILLS)):
                    time.sleep(chance.uniform(0, 0.6))  # the random moment
                    relay.kill()
                    relay.start()
            verdict = self.expect_no_problem(seconds=120)
            events += verdict.events
            repeats.append(verdict.duplicates)
            self.assertLessEqual(verdict.duplicates, 2 * ROUND)
        print(f"{events} events, {KILLS} kills, {sum(repeats)} repeated; per {ROUND} kills: {repeats}")

    def test_kills_while_a_broker_is_suspended_lose_nothing(self) -> None:
        """Requests that the broker has received and not handled may be handled after the ends of the topics were read:
        their events are published twice."""
        chance = random.Random(51)
        relay = self.start_recorded()
        with self.load(seed=51, rate=180):
            for _ in range(15):
                self.kafka.pause_node(1)
                time.sleep(chance.uniform(0, 0.6))  # the random moment
                relay.kill()
                self.kafka.resume_node(1)
                relay.start()
        verdict = self.expect_no_problem(seconds=120)
        print(f"{verdict.events} events, {verdict.duplicates} repeated by 15 kills while the broker was suspended")

    def start_recorded(self) -> RelayProcess:
        """Killed before its first record, the relay would not know that it had created the slot."""
        relay = self.start_relay()
        relay.wait_until(lambda: (relay.metric("walrelay_progress_records_total") or 0) > 0, 60, "the first record")
        return relay


if __name__ == "__main__":
    main()
