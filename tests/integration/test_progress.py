#!/usr/bin/python3
"""Durable progress: what a restarted relay knows from its record in Kafka (docs/guides/progress.md)."""

import json
import time
from collections.abc import Callable
from typing import Any

from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.kafka_records import library
from walrelay_test.database import Database
from walrelay_test.kafka_acls import acl_options, allow, login
from walrelay_test.once_case import OnceCase
from walrelay_test.outbox import Outbox
from walrelay_test.pgoutput import format_lsn, parse_lsn
from walrelay_test.progress_case import FOUND, UNAVAILABLE, USAGE, ProgressCase
from walrelay_test.protobuf_types import message_type
from walrelay_test.relay_config import to_toml
from walrelay_test.relay_process import RelayProcess
from walrelay_test.replication_client import ReplicationClient
from walrelay_test.servers import new_kafka, new_postgres
from walrelay_test.testcase import main, wait_until


class RecordTest(ProgressCase):
    def test_record_describes_pipeline_and_last_transaction(self) -> None:
        self.publish_rows(1, 2, 3)
        record = self.record()
        self.assertEqual((record.format, record.pipeline, record.database, record.slot, record.generation),
                         (1, self.pipeline, self.name, self.slot, 0))
        system = self.database.value("SELECT system_identifier::text FROM pg_control_system()")
        self.assertEqual((record.system_id, record.timeline), (system, 1))
        xid, end = self.sql("SELECT xmin::text::bigint, pg_current_wal_flush_lsn()::text FROM outbox WHERE id = 3")[0]
        self.assertEqual(record.transaction_id, xid)
        self.assertLess(record.commit_lsn, record.frontier)
        self.assertLessEqual(record.frontier, parse_lsn(end))
        self.assertGreaterEqual(record.frontier, self.database.confirmed(self.slot))

    def test_key_and_header_are_those_of_the_contract(self) -> None:
        self.publish_rows(1)
        record = self.kafka.consume(self.progress_topic)[-1]
        self.assertEqual((record.key, dict(record.headers)), (self.pipeline.encode(), {"walrelay.format": b"1"}))

    def test_topic_has_one_compacted_partition(self) -> None:
        self.start_streaming()
        self.assertEqual(self.kafka.topics()[self.progress_topic], 1)
        self.assertEqual(self.kafka.topic_config(self.progress_topic)["cleanup.policy"], "compact")

    def test_id_and_topic_are_configurable(self) -> None:
        topic = f"{self.name}-records"
        self.publish_rows(1, relay=self.new_relay({"pipeline.id": "orders", "kafka.progress_topic": topic}))
        self.assertEqual(self.record(topic).pipeline, "orders")
        self.assertNotIn(self.progress_topic, self.kafka.topics())

    def test_killed_relay_has_confirmed_only_what_is_recorded(self) -> None:
        relay = self.start_streaming()
        for round in range(5):
            confirmed = self.database.confirmed(self.slot)
            for id in range(20):
                self.outbox.insert(20 * round + id)
            relay.wait_until(lambda: self.database.confirmed(self.slot) > confirmed, 60, "a confirmed position")
            relay.kill()
            wait_until(lambda: not self.database.slot(self.slot, "active"), 60, "a free slot")
            self.assertGreaterEqual(self.record().frontier, self.database.confirmed(self.slot))
            relay.start()
        self.settle()
        self.assertEqual(sorted(set(self.ids())), list(range(100)))

    def test_nothing_is_confirmed_while_brokers_refuse_the_record(self) -> None:
        relay = self.start_streaming()
        self.outbox.insert(1)
        self.settle()
        self.kafka.alter_topic_config(self.progress_topic, {"max.message.bytes": 50})
        last = self.publish_until_unrecorded(relay)
        self.kafka.alter_topic_config(self.progress_topic, {"max.message.bytes": None})
        self.settle(120)
        self.assertEqual(self.first_ids(), list(range(1, last + 1)))
        relay.wait_ready()

    def publish_until_unrecorded(self, relay: RelayProcess) -> int:
        """Inserts rows until one is published and not confirmed for a second, because it is not recorded: a setting
        of a topic takes effect after a moment. Returns its id."""
        for id in range(2, 30):
            before = self.database.log_end()
            self.outbox.insert(id)
            self.wait_for_records(id)
            sampled = self.sampled(relay)
            relay.wait_until(lambda: self.sampled(relay) > sampled + 1, 60, "samples of the slot for a second")
            confirmed = self.database.confirmed(self.slot)
            self.assertLessEqual(confirmed, self.record().frontier)
            if confirmed <= before:
                return id
        self.fail("every row was confirmed")

    @staticmethod
    def sampled(relay: RelayProcess) -> float:
        """When the relay sampled the slot last, in seconds."""
        return relay.metric("walrelay_slot_last_sample_timestamp_seconds") or 0


class RestartTest(ProgressCase):
    def test_stopped_relay_continues_without_a_decision_or_a_repetition(self) -> None:
        relay = self.publish_rows(1, 2)
        self.outbox.insert(3)
        relay.start()
        self.expect_published(1, 2, 3)
        self.assertEqual(relay.logs("gap"), [])

    def test_killed_relay_repeats_nothing_that_is_recorded(self) -> None:
        relay = self.start_streaming()
        self.outbox.insert(1)
        self.settle()
        relay.kill()
        self.outbox.insert(2)
        relay.start()
        self.expect_published(1, 2)

    def test_standby_reads_the_record_of_the_instance_before(self) -> None:
        first = self.start_streaming()
        second = self.start_relay()
        second.wait_for_state("standby")
        self.outbox.insert(1)
        self.settle()
        first.stop()
        second.wait_ready()
        self.outbox.insert(2)
        self.expect_published(1, 2)
        self.assertEqual(second.logs("gap"), [])


class ServerCrashTest(ProgressCase):
    postgres_options = {}

    def crash_until_the_slot_moves_back(self, relay: RelayProcess) -> int:
        """Kills relay and server. Returns the last row; the relay is stopped.

        The server may have saved the slot by itself just before.
        """
        for id in range(2, 7):
            self.outbox.insert(id)
            self.settle()
            relay.kill()
            before = self.database.confirmed(self.slot)
            self.postgres.kill()
            self.postgres.start()
            if self.database.confirmed(self.slot) < before:
                return id
            relay.start()
            relay.wait_ready()
        self.fail("the slot never lost a confirmed position")

    def test_events_are_not_repeated_when_server_and_relay_crash(self) -> None:
        relay = self.start_streaming()
        self.outbox.insert(1)
        last = self.crash_until_the_slot_moves_back(relay)
        relay.start()
        self.outbox.insert(last + 1)
        self.expect_published(*range(1, last + 2))
        self.assertEqual(relay.logs("gap"), [])


class SlotChangeTest(ProgressCase):
    """The slot is changed while no relay runs."""

    def test_advanced_slot_is_a_gap(self) -> None:
        relay = self.publish_rows(1)
        self.outbox.insert(2)
        self.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", self.slot)
        self.expect_held_once(relay, "WR-2106", row=3)
        self.assertEqual(self.ids(), [1, 3])

    def test_recreated_slot_is_a_gap(self) -> None:
        relay = self.publish_rows(1)
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        self.outbox.insert(2)
        self.database.create_slot(self.slot)
        self.expect_held_once(relay, "WR-2106", row=3)
        self.assertEqual(self.ids(), [1, 3])

    def test_dropped_slot_is_a_gap_and_not_recreated(self) -> None:
        relay = self.publish_rows(1)
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        relay.start()
        self.accept(relay, self.expect_held(relay, "WR-2107"))
        self.outbox.insert(2)
        self.assertIsNone(self.database.slot(self.slot, "slot_name"))
        self.database.create_slot(self.slot)
        self.outbox.insert(3)
        self.expect_published(1, 3)
        self.expect_restart_without_a_gap(relay)

    def test_awaited_slot_is_read_although_another_process_used_it_first(self) -> None:
        relay = self.publish_rows(1)
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        relay.start()
        self.accept(relay, self.expect_held(relay, "WR-2107"))
        relay.pause()
        self.database.create_slot(self.slot)
        with ReplicationClient(self.postgres, self.name).start(self.slot):
            relay.resume()
            relay.wait_for_state("standby")
            self.outbox.insert(2)
        self.expect_published(1, 2)
        self.expect_restart_without_a_gap(relay)

    def test_relay_that_exits_at_a_gap_finds_it_again(self) -> None:
        relay = self.publish_rows(1, relay=self.new_relay({"source.on_gap": "exit"}))
        self.sql("SELECT pg_logical_emit_message(true, 'other', '')")
        self.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", self.slot)
        for _ in range(2):
            relay.start()
            self.assertEqual(relay.wait_exit(), 4)
            self.assertEqual(relay.wait_for_log("failed")["code"], "WR-2106")


class HeldGapTest(ProgressCase):
    """The catalogue shows only in comparison with an earlier reading that rows were hidden."""

    def hold(self) -> tuple[RelayProcess, dict[str, Any]]:
        relay = self.publish_rows(1)
        relay.start()
        relay.wait_ready()
        relay.pause()
        self.sql("ALTER PUBLICATION walrelay DROP TABLE outbox")
        self.outbox.insert(2)
        self.sql("ALTER PUBLICATION walrelay ADD TABLE outbox")
        self.sql("SELECT pg_terminate_backend(%s)", self.database.walsender(self.slot))
        relay.resume()
        gap = self.expect_held(relay, "WR-2110")
        wait_until(lambda: self.shown()["held"], 60, "a record of the gap")
        return relay, gap

    def test_killed_relay_holds_its_gap_again(self) -> None:
        relay, gap = self.hold()
        self.assertEqual(self.shown()["held"]["id"], gap["id"])
        self.assertIn(gap["id"], self.walrelay("doctor", code=FOUND))
        relay.kill()
        relay.start()
        self.assertEqual(self.expect_held(relay, "WR-2110")["id"], gap["id"])
        self.accept(relay, gap)
        self.outbox.insert(3)
        self.expect_published(1, 3)
        wait_until(lambda: self.shown()["held"] is None, 60, "a record without the gap")
        self.expect_restart_without_a_gap(relay)

    def test_rows_that_were_hidden_while_no_relay_ran_are_a_gap(self) -> None:
        relay = self.publish_rows(1)
        self.sql("ALTER PUBLICATION walrelay DROP TABLE outbox")
        self.outbox.insert(2)
        self.sql("ALTER PUBLICATION walrelay ADD TABLE outbox")
        self.assertIn("removed from the publication and added again", self.walrelay("doctor", code=FOUND))
        self.expect_held_once(relay, "WR-2110", row=3)
        self.expect_published(1, 3)

    def test_one_acceptance_is_enough_for_a_pair(self) -> None:
        first, gap = self.hold()
        second = self.start_relay()
        self.assertEqual(self.expect_held(second, "WR-2110")["id"], gap["id"])
        self.accept(second, gap)
        # The command reaches one of the two: they have the same socket.
        wait_until(lambda: first.logs("gap_released") or second.logs("gap_released"), 60, "a released gap")
        self.outbox.insert(3)
        self.expect_published(1, 3)


class RestoreTest(ProgressCase):
    """The data directory is replaced by an earlier copy while no relay runs: no new timeline begins."""

    postgres_options = {}

    def publish_and_restore(self) -> RelayProcess:
        """Publishes rows 2 and 3 after the copy was made."""
        relay = self.publish_rows(1)
        copy = self.back_up()
        relay.start()
        relay.wait_ready()
        self.outbox.insert(2)
        self.fill_wal()
        self.publish_rows(3, relay=relay)
        self.restore(copy)
        self.assertEqual(self.sql("SELECT id FROM outbox"), [(1,)])
        return relay

    def test_server_that_is_behind_is_a_gap(self) -> None:
        relay = self.publish_and_restore()
        self.outbox.insert(4)
        self.expect_held_once(relay, "WR-2202", row=5)
        self.assertEqual(self.first_ids(), [1, 2, 3, 4, 5])

    def test_server_that_has_grown_past_the_frontier_is_a_gap(self) -> None:
        relay = self.publish_and_restore()
        self.outbox.insert(4)
        self.fill_wal(self.record().frontier)
        self.outbox.insert(5)
        self.expect_held_once(relay, "WR-2204", row=6)
        self.assertEqual(self.first_ids(), [1, 2, 3, 4, 5, 6])

    def test_restored_server_without_new_rows_is_a_gap(self) -> None:
        relay = self.publish_and_restore()
        last = self.record().commit_lsn
        self.fill_wal(self.record().frontier)
        for _ in range(10):  # else the next xid, if it was recorded, shows that the server was restored: WR-2202
            self.sql("SELECT pg_catalog.txid_current()")
        relay.start()
        self.expect_held(relay, "WR-2204")
        self.assertLessEqual(self.database.confirmed(self.slot), last)
        self.assertEqual(self.ids(), [1, 2, 3])

    def test_intact_server_is_no_gap_after_a_restart(self) -> None:
        relay = self.publish_rows(1)
        self.back_up()
        self.outbox.insert(2)
        relay.start()
        self.expect_published(1, 2)
        self.assertEqual(relay.logs("gap"), [])


class OtherServerTest(ProgressCase):
    def test_another_system_is_a_gap(self) -> None:
        self.publish_rows(1)
        other = self.enterContext(new_postgres(template=False))
        self.database.close()
        self.addCleanup(setattr, self, "database", self.database)
        self.database = Database.create(other, self.name)
        self.addCleanup(self.database.close)
        self.outbox = Outbox(self.database, self.name)
        self.publish("outbox")
        self.database.create_slot(self.slot)
        self.outbox.insert(2)
        self.expect_held_once(self.new_relay({"source.dsn": self.database.dsn}), "WR-2201", row=3)
        self.assertEqual(self.ids(), [1, 2, 3])


class ForeignRecordTest(ProgressCase):
    def test_record_of_another_pipeline_is_a_gap(self) -> None:
        shared = {"kafka.progress_topic": f"{self.name}-shared"}
        first = self.publish_rows(1, relay=self.new_relay(shared | {"pipeline.id": "first"}))
        self.outbox.insert(2)
        second = self.start_relay(shared | {"pipeline.id": "second"})
        self.accept(second, self.expect_held(second, "WR-2205"))
        self.expect_published(1, 2)
        self.expect_restart_without_a_gap(second)
        second.stop()
        first.start()
        self.expect_held(first, "WR-2106")

    def test_record_of_another_slot_is_a_gap(self) -> None:
        self.publish_rows(1, relay=self.new_relay({"pipeline.id": self.name}))
        self.sql("SELECT pg_copy_logical_replication_slot(%s, %s)", self.slot, f"{self.slot}_2")
        relay = self.start_relay({"pipeline.id": self.name, "source.slot": f"{self.slot}_2"})
        self.expect_held(relay, "WR-2205")


class OtherWritersTest(ProgressCase):
    """Any user of Kafka who may write to the progress topic, and any row, can name it."""

    def forge(self, value: bytes, *, key: str | None = None, headers: dict[str, bytes] | None = None,
              kafka: KafkaCluster | None = None) -> None:
        producer = library().Producer({"bootstrap.servers": (kafka or self.kafka).bootstrap})
        producer.produce(self.progress_topic, value, (key or self.pipeline).encode(),
                         headers=headers if headers is not None else {"walrelay.format": b"1"})
        producer.flush()

    def test_rows_never_reach_the_topic(self) -> None:
        dead = f"{self.name}-dead"
        topics = {"route.topic": "${routedByValue}", "route.allow": ["*"], "on_error.dead_letter_topic": dead}
        relay = self.start_streaming(topics)
        self.outbox.insert(1, type=self.progress_topic)
        relay.wait_for_state("blocked")
        self.assertIn("WR-3005", relay.get("/readyz")[1])
        self.assertEqual(relay.stop(), 0)
        relay = self.start_streaming(topics | {"on_error.topic": "skip"})
        for id, topic in enumerate(("walrelay.progress.of.another", dead, self.topic), 2):
            self.outbox.insert(id, type=topic)
        self.settle()
        self.assertEqual([line["code"] for line in relay.logs("row_skipped")], ["WR-3005"] * 3)
        self.assertEqual(self.ids(), [4])
        self.assertEqual({record.key for record in self.kafka.consume(self.progress_topic)}, {self.pipeline.encode()})
        self.assertFalse({"walrelay.progress.of.another", dead} & set(self.kafka.topics()))

    def test_record_without_evidence_is_a_gap_and_skips_nothing(self) -> None:
        relay = self.publish_rows(1)
        forged = self.record()
        forged.ClearField("settled_before")
        for field in ("commit_lsn", "transaction_id", "commit_time_us"):
            forged.ClearField(field)
        self.outbox.insert(2)
        forged.frontier = self.database.log_end()
        self.forge(forged.SerializeToString())
        relay.start()
        gap = self.expect_held(relay, "WR-2206")
        self.assertEqual(self.ids(), [1])
        self.accept(relay, gap)
        self.expect_published(1, 2)
        self.expect_restart_without_a_gap(relay)
        # An operator who says so moves the slot, too.
        relay.stop()
        self.outbox.insert(3)
        forged.frontier, forged.generation = self.database.log_end(), self.record().generation + 1
        self.forge(forged.SerializeToString())
        relay.start()
        self.expect_held(relay, "WR-2206")
        relay.stop()
        self.walrelay("progress", "set", "--lsn", format_lsn(forged.frontier))
        self.outbox.insert(4)
        relay.start()
        self.expect_published(1, 2, 4)

    def test_records_that_no_pipeline_has_written_are_ignored_and_reported(self) -> None:
        relay = self.publish_rows(1)
        self.forge(b"not a record", headers={})
        self.forge(b"not a record", key="another")
        self.outbox.insert(2)
        relay.start()
        self.expect_published(1, 2)
        self.assertEqual(relay.wait_for_log("progress_foreign_records")["records"], 2)
        self.assertEqual(relay.metric("walrelay_progress_foreign_records"), 2)
        self.assertIn("2 records that no pipeline has written", self.walrelay("progress", "show"))
        self.assertIn("progress.writers", self.run_walrelay("doctor").stdout)

    def test_record_of_a_later_version_blocks(self) -> None:
        relay = self.publish_rows(1)
        later = self.record()
        later.format = 2
        self.forge(later.SerializeToString(), headers={"walrelay.format": b"2"})
        relay.start()
        relay.wait_for_state("blocked")
        self.assertIn("WR-4017", relay.get("/readyz")[1])

    def test_record_of_another_cluster_is_a_gap(self) -> None:
        """A mirrored progress topic says what is in the topics of the other cluster."""
        self.publish_rows(1)
        mirror = self.enterContext(new_kafka())
        mirror.create_topic(self.progress_topic, config={"cleanup.policy": "compact"})
        self.forge(self.record().SerializeToString(), kafka=mirror)
        self.outbox.insert(2)
        relay = self.start_relay({"kafka.bootstrap_servers": mirror.bootstrap})
        self.accept(relay, self.expect_held(relay, "WR-4035"))
        relay.wait_until(lambda: self.topic in mirror.topics(), 60, "a record in the other cluster")
        relay.wait_ready()
        self.expect_restart_without_a_gap(relay)
        self.assertEqual([dict(record.headers)["id"] for record in mirror.consume(self.topic)], [b"2"])


class RenamedDatabaseTest(ProgressCase):
    def rename(self, name: str) -> None:
        wait_until(lambda: not self.database.slot(self.slot, "active"), 60, "a free slot")
        self.database.close()
        other = Database(self.postgres, "postgres")
        other.execute(f"ALTER DATABASE {self.database.name} RENAME TO {name}")
        other.close()
        self.database = Database(self.postgres, name)
        self.outbox.database = self.database

    def test_renamed_database_is_named_and_its_id_continues(self) -> None:
        self.publish_rows(1)
        name = self.name
        self.addCleanup(self.rename, name)
        self.rename(f"{name}_renamed")
        self.outbox.insert(2)
        dsn = {"source.dsn": self.database.dsn, "pipeline.progress": "auto"}
        relay = self.start_relay(dsn)
        self.expect_held(relay, "WR-2205")
        self.assertIn(f"{name} was renamed to {name}_renamed", relay.wait_for_log("gap")["msg"])
        self.assertEqual(relay.stop(), 0)
        self.start_streaming(dsn | {"pipeline.id": self.pipeline})
        self.expect_published(1, 2)


class TopicSettingsTest(ProgressCase):
    def expect_refused(self, *parts: str) -> RelayProcess:
        relay = self.start_relay()
        relay.wait_for_state("blocked")
        self.assertIn("WR-4015", relay.get("/readyz")[1])
        line = relay.wait_for_log(code="WR-4015")
        for part in (self.progress_topic, *parts):
            self.assertIn(part, line["msg"])
        return relay

    def test_topic_from_which_records_are_deleted_blocks_until_it_is_fixed(self) -> None:
        self.kafka.create_topic(self.progress_topic, config={"cleanup.policy": "delete"})
        relay = self.expect_refused("cleanup.policy")
        self.kafka.alter_topic_config(self.progress_topic, {"cleanup.policy": "compact"})
        relay.wait_ready()
        self.outbox.insert(1)
        self.expect_published(1)

    def test_topic_that_is_created_again_beside_a_running_relay_is_checked(self) -> None:
        relay = self.start_streaming()
        self.outbox.insert(1)
        self.settle()
        self.kafka.delete_topic(self.progress_topic)
        self.kafka.create_topic(self.progress_topic, config={"cleanup.policy": "delete"})
        self.outbox.insert(2)
        relay.wait_for_log(code="WR-4015")
        relay.wait_for_state("blocked")
        self.kafka.alter_topic_config(self.progress_topic, {"cleanup.policy": "compact"})
        relay.wait_ready(120)
        self.outbox.insert(3)
        self.settle()
        self.assertEqual(self.first_ids(), [1, 2, 3])
        self.assertEqual(self.record().pipeline, self.pipeline)

    def test_topic_with_two_partitions_is_refused(self) -> None:
        self.kafka.create_topic(self.progress_topic, 2, config={"cleanup.policy": "compact"})
        self.expect_refused("2 partitions")


class RightsTest(ProgressCase):
    """A broker that denies what no ACL allows, except to users without a name."""

    kafka_options = acl_options("writer")

    def start_as_writer(self, progress: str) -> RelayProcess:
        for operation in ("write", "describe", "create"):
            allow(self.kafka.bootstrap, "writer", operation, "outbox.", "prefixed")
        return self.start_relay(login(self.kafka, "writer") | {"pipeline.progress": progress})

    def test_auto_without_rights_publishes_after_one_warning(self) -> None:
        relay = self.start_as_writer("auto")
        relay.wait_ready()
        self.outbox.insert(1)
        self.expect_published(1)
        self.sql("SELECT pg_terminate_backend(%s)", self.database.walsender(self.slot))
        relay.wait_for_log("streaming", count=2)
        self.outbox.insert(2)
        self.expect_published(1, 2)
        warnings = relay.logs("progress_not_recorded")
        self.assertEqual([line["code"] for line in warnings], ["WR-4016"])

    def test_required_without_rights_blocks_until_they_are_granted(self) -> None:
        relay = self.start_as_writer("required")
        relay.wait_for_state("blocked")
        self.assertIn("WR-4016", relay.get("/readyz")[1])
        for operation in ("create", "describe", "read", "write"):
            allow(self.kafka.bootstrap, "writer", operation, "walrelay.progress.", "prefixed")
        relay.wait_ready(120)
        self.outbox.insert(1)
        self.expect_published(1)
        self.assertEqual(self.record().pipeline, self.pipeline)


class MissingRecordTest(ProgressCase):
    def expect_missing(self, relay: RelayProcess) -> None:
        relay.start()
        relay.wait_for_state("blocked")
        self.assertIn("WR-4018", relay.get("/readyz")[1])

    def test_pipeline_that_ran_without_a_record_continues_after_init(self) -> None:
        self.publish_rows(1, relay=self.new_relay({"pipeline.progress": "off"}))
        self.outbox.insert(2)
        relay = self.new_relay()
        self.expect_missing(relay)
        self.assertEqual(self.ids(), [1])
        self.assertIn(self.confirmed_text(), self.walrelay("progress", "init"))
        relay.wait_ready()
        self.expect_published(1, 2)

    def test_deleted_topic_is_noticed_at_the_next_start(self) -> None:
        relay = self.publish_rows(1)
        self.kafka.delete_topic(self.progress_topic)
        self.expect_missing(relay)

    def test_auto_continues_from_a_slot_that_was_used(self) -> None:
        self.publish_rows(1, relay=self.new_relay({"pipeline.progress": "off"}))
        self.outbox.insert(2)
        self.start_relay({"pipeline.progress": "auto"})
        self.expect_published(1, 2)
        self.assertGreater(self.record().frontier, 0)


class SetupTest(ProgressCase):
    """The first start of a new pipeline needs no command after `walrelay setup`."""

    def options(self) -> dict[str, Any]:
        return super().options() | {"source.create_slot": False}

    def expect_published_after_setup(self, options: dict[str, Any]) -> None:
        relay = self.new_relay(options)
        self.assertIn(f"first progress record, at {self.confirmed_after_setup()}", self.output)
        self.outbox.insert(1)
        relay.start()
        relay.wait_ready()
        self.outbox.insert(2)
        self.expect_published(1, 2)
        self.expect_restart_without_a_gap(relay)
        self.assertIn("Nothing to do", self.walrelay("setup", "--apply"))

    def confirmed_after_setup(self) -> str:
        self.output = self.walrelay("setup", "--apply")
        return self.confirmed_text()

    def test_required_needs_no_other_command(self) -> None:
        self.expect_published_after_setup({})

    def test_exactly_once_needs_no_other_command(self) -> None:
        self.expect_published_after_setup({"pipeline.mode": "exactly_once", "pipeline.progress": "auto"})

    def test_slot_that_exists_is_not_adopted(self) -> None:
        self.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", self.slot)
        self.new_relay()
        self.assertIn("walrelay progress init", self.walrelay("setup", "--apply"))
        self.assertNotIn(self.progress_topic, self.kafka.topics())
        self.assertIn(self.confirmed_text(), self.walrelay("progress", "init"))
        self.assertNotIn("progress init", self.walrelay("setup", "--apply"))

    def test_unreachable_brokers_are_a_warning_that_names_the_command(self) -> None:
        self.new_relay({"kafka.bootstrap_servers": "127.0.0.1:1"})
        output = self.walrelay("setup", "--apply")
        for part in ("the database is ready", "warning", "WR-4001", "walrelay progress init"):
            self.assertIn(part, output)

    def test_record_of_an_earlier_slot_is_kept(self) -> None:
        self.new_relay()
        self.walrelay("setup", "--apply")
        before = self.record()
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        output = self.walrelay("setup", "--apply")
        for part in ("warning", "WR-2106", "walrelay progress init --force"):
            self.assertIn(part, output)
        self.assertEqual(self.record(), before)


class AutoTest(ProgressCase):
    """Whether progress is recorded is decided by what the brokers answer, not while they cannot."""

    # A killed broker can rejoin only after its session has expired, by default 9 s.
    kafka_options = {"properties": {"broker.session.timeout.ms": 2000, "default.replication.factor": 3}}

    def options(self) -> dict[str, Any]:
        return super().options() | {"pipeline.progress": "auto"}

    def prepare(self) -> None:
        super().prepare()
        self.addCleanup(self.kafka.start)
        self.kafka.create_topic(self.topic, replication=1)

    def create_progress_topic(self) -> None:
        self.kafka.create_topic(self.progress_topic, replication=1, config={"cleanup.policy": "compact"})

    def expect_recorded_after(self, relay: RelayProcess, repair: Callable[[], object]) -> None:
        repair()
        relay.wait_ready(120)
        self.outbox.insert(1)
        self.expect_published(1)
        self.assertEqual(self.record().pipeline, self.pipeline)
        self.assertEqual(relay.logs("progress_not_recorded"), [])

    def test_auto_waits_for_a_broker(self) -> None:
        self.create_progress_topic()
        self.kafka.kill_node(1)
        relay = self.start_relay()
        relay.wait_for_log("disconnected", code="WR-4001", count=2)
        self.expect_recorded_after(relay, lambda: self.kafka.start_node(1))

    def test_auto_waits_for_enough_brokers_for_the_topic(self) -> None:
        relay = self.start_relay()
        relay.wait_for_state("blocked")
        page = relay.get("/readyz?verbose")[1]
        self.assertIn("WR-4014", page)
        self.assertIn(self.progress_topic, relay.wait_for_log(code="WR-4014")["msg"])
        self.expect_recorded_after(relay, self.create_progress_topic)


class CommandTest(ProgressCase):
    def test_show_prints_the_record(self) -> None:
        self.publish_rows(1)
        record = self.record()
        shown = self.shown()
        self.assertEqual((shown["pipeline"], shown["slot"], shown["generation"]), (self.pipeline, self.slot, 0))
        self.assertEqual(shown["frontier"], format_lsn(record.frontier))
        self.assertEqual(shown["last_transaction"]["transaction_id"], record.transaction_id)
        text = self.walrelay("progress", "show")
        for part in (self.progress_topic, self.name, record.system_id, format_lsn(record.frontier)):
            self.assertIn(part, text)

    def test_show_reports_that_there_is_no_record(self) -> None:
        self.new_relay()
        shown = self.walrelay("progress", "show", code=FOUND)
        for part in ("no record", "does not exist", "WR-4018", "walrelay progress init"):
            self.assertIn(part, shown)
        self.assertIn('"record":null', self.walrelay("progress", "show", "--json", code=FOUND))
        self.assertNotIn(self.progress_topic, self.kafka.topics())
        self.kafka.create_topic(self.progress_topic, config={"cleanup.policy": "compact"})
        self.assertIn("is empty", self.walrelay("progress", "show", code=FOUND))

    def test_show_needs_no_server_if_the_pipeline_has_an_id(self) -> None:
        relay = {"pipeline.id": f"{self.name}-id"}
        self.publish_rows(1, relay=self.new_relay(relay))
        self.new_relay(relay | {"source.dsn": "host=127.0.0.1 port=1 dbname=d user=u"})
        self.assertIn(self.slot, self.walrelay("progress", "show"))

    def test_init_keeps_an_existing_record(self) -> None:
        self.publish_rows(1)
        self.assertIn("--force", self.walrelay("progress", "init", code=USAGE))
        self.assertEqual(self.record().generation, 0)
        self.walrelay("progress", "init", "--force")
        self.assertEqual(self.record().generation, 1)

    def test_forced_init_adopts_what_another_program_has_published(self) -> None:
        relay = self.publish_rows(1)
        self.outbox.insert(2)
        self.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", self.slot)
        self.walrelay("progress", "init", "--force")
        self.outbox.insert(3)
        relay.start()
        self.expect_published(1, 3)
        self.expect_restart_without_a_gap(relay)

    def test_commands_refuse_while_a_relay_reads_the_slot(self) -> None:
        self.start_streaming()
        for command in (["init", "--force"], ["set", "--lsn", self.log_end_text(), "--force"]):
            self.assertIn("WR-2102", self.walrelay("progress", *command, code=UNAVAILABLE))

    def test_set_skips_what_committed_before_the_position(self) -> None:
        relay = self.publish_rows(1)
        self.outbox.insert(2)
        self.walrelay("progress", "set", "--lsn", self.log_end_text())
        self.outbox.insert(3)
        relay.start()
        self.expect_published(1, 3)
        self.assertEqual(self.record().generation, 0)
        self.expect_restart_without_a_gap(relay)

    def test_set_refuses_positions_at_which_the_relay_would_hold(self) -> None:
        self.publish_rows(1)
        beyond = format_lsn(self.database.log_end() + (1 << 32))
        for lsn, part in (("0/1", "confirmed position"), (beyond, "end of the WAL")):
            self.assertIn(part, self.walrelay("progress", "set", "--lsn", lsn, code=USAGE))

    def test_forced_set_to_an_earlier_position_makes_the_relay_hold(self) -> None:
        relay = self.publish_rows(1)
        self.walrelay("progress", "set", "--lsn", "0/1", "--force")
        self.assertEqual(self.shown()["generation"], 1)
        self.expect_held_once(relay, "WR-2106", row=2)


class EndOfTheTopic:
    """A start reads the newest versions, however many older records the topic has."""

    def fill(self, count: int, version: Any, minutes: int = 60) -> None:
        """Adds records with this version, as if they had been written some time ago and never compacted."""
        before = time.time() - 60 * minutes
        version.written_us = int(before * 1e6)
        producer = library().Producer({"bootstrap.servers": self.kafka.bootstrap, "batch.num.messages": 100,
                                       "linger.ms": 5})
        for _ in range(count):
            producer.produce(self.progress_topic, key=version.pipeline, value=version.SerializeToString(),
                             headers={"walrelay.format": b"1"}, timestamp=int(before * 1e3))
            producer.poll(0)
        self.assertEqual(producer.flush(60), 0)

    def test_old_records_are_not_read(self) -> None:
        self.kafka.create_topic(self.progress_topic, config={"cleanup.policy": "compact"})
        other = message_type("walrelay.progress.v1.Progress")(
            format=1, pipeline="other", system_id="1", timeline=1, database="other", slot="other", frontier=1,
            run_id="x" * 200, sequence=1)
        self.fill(20_000, other)
        relay = self.start_streaming({"log.level": "debug"})
        first = relay.wait_for_log("progress_read")
        self.assertEqual((first["from_offset"], first["records"]), (0, 20_000))
        self.assertGreater(first["fetched_bytes"], 4_000_000)
        for id in (1, 2):
            self.outbox.insert(id)
            self.settle()
        self.assertEqual(relay.stop(), 0)
        # All of the topic would be read without a version that is older than some minutes.
        self.fill(1, self.records()[20_000])
        relay.start()
        relay.wait_ready()
        read = relay.wait_for_log("progress_read")
        self.assertGreater(read["from_offset"], 15_000)
        self.assertLess(read["records"], 5_000)
        self.assertLess(read["fetched_bytes"], 1_000_000)
        self.outbox.insert(3)
        self.expect_published(1, 2, 3)
        self.assertEqual(relay.logs("gap"), [])

    def test_newest_version_is_found_far_behind_late_ones(self) -> None:
        relay = self.start_streaming({"log.level": "debug"})
        wait_until(self.records, 60, "the first record")
        old = self.records()[0]
        self.outbox.insert(1)
        self.settle()
        self.assertEqual(relay.stop(), 0)
        newest = self.record()
        self.assertGreater(newest.frontier, old.frontier)
        self.fill(3_000, old)
        self.assertEqual(self.frontier(), newest.frontier)
        relay.start()
        relay.wait_ready()
        self.assertEqual(relay.wait_for_log("progress_read")["from_offset"], 0)
        self.outbox.insert(2)
        self.expect_published(1, 2)
        self.assertEqual(relay.logs("gap"), [])


class EndOfTheTopicTest(EndOfTheTopic, ProgressCase):
    def version(self, frontier: int, pipeline: str | None = None) -> Any:
        return message_type("walrelay.progress.v1.Progress")(
            format=1, pipeline=pipeline or self.pipeline, system_id="1", timeline=1, database=self.name, slot=self.slot,
            frontier=frontier, run_id="run", sequence=1)

    def newest(self) -> int:
        answer = self.walrelay("progress", "show", "--json").splitlines()[-1]  # after a line about the other pipeline
        return parse_lsn(json.loads(answer)["record"]["frontier"])

    def test_what_compaction_would_keep_is_read(self) -> None:
        self.kafka.create_topic(self.progress_topic, config={"cleanup.policy": "compact"})
        relay = self.new_relay({"pipeline.id": self.pipeline})
        relay.config.write_text(to_toml(self.options() | {"pipeline.id": self.pipeline}))
        # The last one of those before the last five minutes, and a late one behind many others.
        self.fill(1, self.version(9))
        self.fill(1_500, self.version(1, "other"))
        self.fill(1, self.version(5), minutes=0)
        self.assertEqual(self.newest(), 9)
        # Versions that were stored while the last one, which is late, was on its way.
        self.fill(1, self.version(20), minutes=40)
        self.fill(1_500, self.version(1, "other"), minutes=30)
        self.fill(1, self.version(10), minutes=50)
        self.assertEqual(self.newest(), 20)
        # The newest one, behind many others.
        self.fill(1, self.version(21), minutes=20)
        self.fill(1_500, self.version(1, "other"), minutes=1)
        self.assertEqual(self.newest(), 21)


class OnceEndOfTheTopicTest(EndOfTheTopic, OnceCase):
    pass


if __name__ == "__main__":
    main()
