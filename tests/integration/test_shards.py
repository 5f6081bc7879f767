#!/usr/bin/python3
"""One outbox on several slots: a table partitioned by hash of the key, one publication, slot and relay per partition."""

from typing import Any

from walrelay_test.ground_truth import ConfirmSampler, GroundTruth
from walrelay_test.prune_case import PruneCase
from walrelay_test.testcase import RelayProcess, main, wait_until
from walrelay_test.verified import PARTITIONS, VerifiedTest
from walrelay_test.verifier import verify
from walrelay_test.workload import Workload

SHARDS = 2


def partition_by_key(columns: str) -> str:
    """The SQL of the guide, docs/guides/sharding.md, for the table of a test."""
    return f"""CREATE TABLE outbox ({columns}) PARTITION BY HASH (aggregate_id);
        CREATE TABLE outbox_0 PARTITION OF outbox FOR VALUES WITH (MODULUS 2, REMAINDER 0);
        CREATE TABLE outbox_1 PARTITION OF outbox FOR VALUES WITH (MODULUS 2, REMAINDER 1);
        CREATE PUBLICATION shard_0 FOR TABLE outbox_0 WITH (publish = 'insert');
        CREATE PUBLICATION shard_1 FOR TABLE outbox_1 WITH (publish = 'insert')"""


class ShardsTest(VerifiedTest):
    def prepare(self) -> None:
        Workload.create_tables(self.database)
        self.sql("DROP TABLE outbox;" + partition_by_key(
            "id text, aggregate_type text NOT NULL, aggregate_id text, event_type text NOT NULL, payload json, "
            "PRIMARY KEY (id, aggregate_id)"))
        # For the ground truth, and for one relay that has the whole table.
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox "
                 "WITH (publish = 'insert', publish_via_partition_root = true)")
        self.database.create_slot(self.slot)
        self.slots = [self.slot, f"{self.slot}_1"]
        self.ground_truth = GroundTruth(self.database)
        for topic in Workload.topics(self.name):
            self.kafka.create_topic(topic, PARTITIONS, config={"message.timestamp.type": self.timestamp_type})

    def shard_options(self, shard: int) -> dict[str, Any]:
        return {"source.slot": self.slots[shard], "source.publication": f"shard_{shard}",
                "source.table": f"public.outbox_{shard}"}

    def start_shard(self, shard: int) -> RelayProcess:
        relay = self.start_relay(self.shard_options(shard))
        relay.wait_ready()
        return relay

    def is_confirmed(self, end: int) -> bool:
        return all(self.database.confirmed(slot) >= end for slot in self.slots)

    def shard_of_each_key(self) -> dict[bytes, int]:
        return {key.encode(): shard for key, shard in self.sql(
            "SELECT k, satisfies_hash_partition('outbox'::regclass, 2, 1, k)::int FROM key_seq")}

    def expect_no_problem_in(self, samplers: list[ConfirmSampler]) -> int:
        """The verdict about each shard: its events, their records, and the positions confirmed to its slot. Returns the
        number of records that repeat an event."""
        duplicates = 0
        end = self.database.log_end()
        wait_until(lambda: self.is_confirmed(end), 60, "all slots to be confirmed")
        shards, events = self.shard_of_each_key(), self.ground_truth.events()
        records = self.kafka.consume(rf"^outbox\.event\.{self.name}\.")
        for shard, sampler in enumerate(samplers):
            verdict = verify([each for each in events if shards[each.key] == shard],
                             [each for each in records if shards[each.key] == shard],
                             {topic: [count] for topic, count in self.kafka.topics().items()}, samples=sampler.samples)
            self.assertEqual(verdict.problems, [], str(verdict))
            self.assertGreater(verdict.events, 0)
            duplicates += verdict.duplicates
        return duplicates

    def test_no_event_is_lost_and_keys_keep_their_order(self) -> None:
        self.database.create_slot(self.slots[1])
        relays = [self.start_shard(shard) for shard in range(SHARDS)]
        samplers = [ConfirmSampler(self.database.connect, slot) for slot in self.slots]
        with samplers[0], samplers[1], Workload(self.database, "shards") as workload:
            for relay in relays * 2:
                goal = workload.committed + 100
                wait_until(lambda goal=goal: workload.committed >= goal, 60, "more transactions")
                relay.kill()
                relay.start()
            workload.write_large_transaction(2000)
            workload.stop()
            self.expect_no_problem_in(samplers)
        for relay in relays:
            self.assertEqual(relay.stop(), 0)

    def test_one_relay_of_the_whole_table_becomes_two(self) -> None:
        self.split(self.start_relay({"source.table": "public.outbox"}))

    def test_one_relay_of_several_partitions_becomes_two(self) -> None:
        self.sql("CREATE PUBLICATION shards FOR TABLE outbox_0, outbox_1 WITH (publish = 'insert');"
                 "SELECT pg_drop_replication_slot(%s)", self.slot)
        self.database.create_slot(self.slot)  # after its publication
        self.split(self.start_relay({"source.publication": "shards", "source.tables": [
            {"name": "public.outbox_0"}, {"name": "public.outbox_1"}]}))

    def split(self, whole: RelayProcess) -> None:
        whole.wait_ready()
        samplers = [ConfirmSampler(self.database.connect, slot) for slot in self.slots]
        with samplers[0], Workload(self.database, "split") as workload:
            wait_until(lambda: workload.committed >= 100, 60, "transactions")
            # The publications of the shards are older than what is not confirmed at the time of the copy.
            end = self.database.log_end()
            wait_until(lambda: self.database.confirmed(self.slot) >= end, 60, "the slot to be confirmed")
            self.assertEqual(whole.stop(), 0)
            self.sql("SELECT pg_copy_logical_replication_slot(%s, %s)", *self.slots)
            with samplers[1]:
                relays = [self.start_shard(shard) for shard in range(SHARDS)]
                goal = workload.committed + 100
                wait_until(lambda: workload.committed >= goal, 60, "more transactions")
                workload.stop()
                self.assertEqual(self.expect_no_problem_in(samplers), 0)
        for relay in relays:
            self.assertEqual(relay.logs("gap"), [])

    def test_a_plain_table_becomes_two_shards(self) -> None:
        """The application continues to write, and waits only while the last rows are published."""
        self.sql("DROP PUBLICATION walrelay, shard_0, shard_1; DROP TABLE outbox;"
                 "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = current_database()")
        self.sql("CREATE TABLE outbox (id text PRIMARY KEY, aggregate_type text NOT NULL, aggregate_id text NOT NULL, "
                 "event_type text NOT NULL, payload json);"
                 "CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
        self.database.create_slot(self.slot)
        self.slots = [f"{self.slot}_0", f"{self.slot}_1"]
        whole = self.start_relay({"source.table": "public.outbox"})
        whole.wait_ready()
        with Workload(self.database, "plain") as workload:
            wait_until(lambda: workload.committed >= 100, 60, "transactions")
            self.sql(partition_by_key(
                "id text, aggregate_type text NOT NULL, aggregate_id text, event_type text NOT NULL, payload json, "
                "PRIMARY KEY (id, aggregate_id)").replace("TABLE outbox (", "TABLE outbox_sharded (")
                .replace("OF outbox ", "OF outbox_sharded "))
            for slot in self.slots:
                self.database.create_slot(slot)
            with self.database.transaction() as cursor:
                cursor.execute("LOCK outbox IN SHARE ROW EXCLUSIVE MODE")
                end = self.database.log_end()
                whole.wait_until(lambda: self.database.confirmed(self.slot) >= end, 60, "its rows to be published")
                self.assertEqual(whole.stop(), 0)
                cursor.execute("ALTER TABLE outbox RENAME TO outbox_before; ALTER TABLE outbox_sharded RENAME TO outbox")
            relays = [self.start_shard(shard) for shard in range(SHARDS)]
            goal = workload.committed + 100
            wait_until(lambda: workload.committed >= goal, 60, "more transactions")
            workload.stop()
        end = self.database.log_end()
        wait_until(lambda: self.is_confirmed(end), 60, "all slots to be confirmed")
        published: dict[bytes, list[str]] = {}
        for record in self.kafka.consume(rf"^outbox\.event\.{self.name}\."):
            published.setdefault(record.key, []).append(dict(record.headers)["id"].decode())
        expected: dict[bytes, list[str]] = {}
        for key, id in self.sql("SELECT key, event_id FROM truth ORDER BY key, n"):
            expected.setdefault(key.encode(), []).append(id)
        self.assertEqual({key: list(dict.fromkeys(ids)) for key, ids in published.items()}, expected)
        self.assertEqual([relay.logs("gap") for relay in relays], [[], []])

    def test_whole_table_in_the_publication_of_a_shard_is_refused(self) -> None:
        self.expect_exit(78, "WR-2312", self.shard_options(0) | {"source.publication": "walrelay"})


class PruneTest(PruneCase):
    def prepare(self) -> None:
        self.sql(partition_by_key("id bigint, aggregate_type text, aggregate_id text, event_type text, payload jsonb, "
                                  "created_at timestamptz DEFAULT now(), PRIMARY KEY (id, aggregate_id)"))

    def options(self) -> dict[str, Any]:
        return super().options() | {"source.publication": "shard_0", "source.table": "public.outbox_0"}

    def test_a_shard_prunes_only_its_own_rows(self) -> None:
        relay = self.start_pruning()
        self.sql("INSERT INTO outbox SELECT i, %s, 'key-' || i, 'made', '{}' FROM generate_series(1, 100) i", self.name)
        [(own, others)] = self.sql("SELECT (SELECT count(*) FROM outbox_0), (SELECT count(*) FROM outbox_1)")
        self.assertGreater(min(own, others), 20)
        self.settle()
        self.touch(relay)
        relay.wait_until(lambda: self.sql("SELECT FROM outbox_0") == [], 60, "its rows to be pruned")
        self.wait_for_passes(relay)
        self.assertEqual(self.sql("SELECT count(*) FROM outbox_1"), [(others,)])
        self.assertEqual(len(self.ids()), own)


if __name__ == "__main__":
    main()
