#!/usr/bin/python3
"""pipeline.mode = "exactly_once": what readers see, and that no transaction stays open.

The guide is docs/guides/exactly-once.md.
"""

import time
from typing import Any

from walrelay_dev.errors import ServerError
from walrelay_dev.kafka_records import UNCOMMITTED, library
from walrelay_dev.patience import patient
from walrelay_test.kafka_acls import acl_options, allow, deny, login
from walrelay_test.kafka_transactions import delete_records
from walrelay_test.once_case import OnceCase, ids_of
from walrelay_test.relay_process import RelayProcess
from walrelay_test.testcase import main, wait_until


class PublishingTest(OnceCase):
    payload = "text"

    def test_rows_are_published_once_and_in_order(self) -> None:
        self.start_recording()
        for id in range(1, 31):
            self.outbox.insert(id)
        self.outbox.insert(*range(31, 61))
        self.expect_once(*range(1, 61))
        record = self.published()[0]
        self.assertEqual((record.key, record.value, dict(record.headers)),
                         (b"k", b"{}", {"id": b"1", "event_type": b"made"}))

    def test_rows_of_a_transaction_are_visible_together(self) -> None:
        self.start_recording()
        for number in range(5):
            self.outbox.insert(*range(500 * number, 500 * (number + 1)))
        self.expect_once(*range(2500))
        # Each marker of a Kafka transaction takes an offset.
        offsets = [record.offset for record in self.published()]
        inside = [id for id in range(1, 2500) if id % 500 and offsets[id] != offsets[id - 1] + 1]
        self.assertEqual(inside, [])

    def test_transaction_beyond_atomic_rows_is_published_in_parts(self) -> None:
        self.start_recording({"pipeline.atomic_rows": 100})
        rows = 50_000  # take much longer than what is gathered for one commit
        self.sql("INSERT INTO outbox SELECT i, %s, 'k', 'made', '1' FROM generate_series(0, %s) i", self.name, rows - 1)
        self.outbox.insert(rows)
        self.expect_once(*range(rows + 1))
        parts = [record.partial_row_lsn for record in self.records() if record.partial_commit_lsn > 0]
        self.assertEqual(parts, sorted(parts))
        self.assertGreater(len(parts), 2)
        self.assertEqual(self.record().partial_commit_lsn, 0)

    def test_transaction_beyond_the_window_is_published_in_parts(self) -> None:
        self.start_recording({"pipeline.max_in_flight_records": 50})
        self.outbox.insert(*range(500))
        self.outbox.insert(500)
        self.expect_once(*range(501))
        self.assertGreater(len([record for record in self.records() if record.partial_commit_lsn > 0]), 5)

    def test_record_is_in_the_transaction_of_its_events(self) -> None:
        relay = self.start_recording({"pipeline.confirm_interval": "3s"})
        for id in range(1, 11):
            self.outbox.insert(id)
            self.wait_for_records(id)
            self.assertEqual(self.record().transaction_id,
                             self.database.value("SELECT xmin::text::bigint FROM outbox WHERE id = %s", id))
        relay.kill()
        relay.start()
        self.expect_once(*range(1, 11))

    def test_readers_of_all_records_find_whole_progress_records(self) -> None:
        self.start_recording({"pipeline.atomic_rows": 50})
        self.outbox.insert(*range(1, 501))
        self.settle()
        every = self.kafka.consume(self.progress_topic, isolation=UNCOMMITTED)
        self.assertEqual(every, self.kafka.consume(self.progress_topic))
        for record in self.records():
            self.assertEqual((record.format, record.pipeline, record.slot), (1, self.pipeline, self.slot))
            self.assertTrue(record.frontier and record.run_id)
        sequences = [record.sequence for record in self.records()]
        self.assertEqual(sequences, list(range(1, len(sequences) + 1)))

    def test_idle_relay_keeps_no_transaction_open(self) -> None:
        relay = self.start_recording()
        self.expect_no_transaction_stays_open()
        self.outbox.insert(1)
        self.settle()
        self.expect_no_transaction_stays_open()
        relay.wait_ready()

    def test_stopped_relay_leaves_no_transaction_and_repeats_nothing(self) -> None:
        relay = self.start_recording()
        for round in range(5):
            with self.database.transaction() as cursor:
                self.outbox.insert(*range(1000 * round, 1000 * (round + 1)), cursor=cursor)
            relay.wait_until(lambda: relay.metric("walrelay_events_received_total") or 0, 60, "rows")
            self.assertEqual(relay.stop(), 0)
            self.expect_no_transaction_stays_open(0)
            relay.start()
        self.expect_once(*range(5000))
        self.assertEqual(relay.logs("gap"), [])


class BlockedTest(OnceCase):
    """A row that cannot be published: nothing stays open meanwhile, and the rows before it are visible."""

    payload = "text"

    def start_and_insert(self, options: dict[str, Any] | None = None, **bad: Any) -> RelayProcess:
        """Rows 1 to 3 and 5 are good, row 4 is not; 2 to 5 are one transaction."""
        relay = self.start_recording(options)
        self.outbox.insert(1)
        with self.database.transaction() as cursor:
            self.outbox.insert(2, 3, cursor=cursor)
            self.outbox.insert(4, cursor=cursor, **bad)
            self.outbox.insert(5, cursor=cursor)
        return relay

    def expect_blocked(self, relay: RelayProcess, code: str) -> None:
        relay.wait_for_state("blocked")
        self.assertIn(code, relay.get("/readyz")[1])
        self.expect_no_transaction_stays_open()
        self.assertEqual(self.ids(), [1, 2, 3])

    def expect_dead_letter(self, code: str, **bad: Any) -> None:
        topic = f"{self.name}.dead"
        relay = self.start_and_insert({"on_error.dead_letter_topic": topic, "on_error.null_key": "dead_letter",
                                       "on_error.too_large": "dead_letter"}, **bad)
        self.expect_once(1, 2, 3, 5, seconds=120)
        relay.kill()
        relay.start()
        self.outbox.insert(6)
        self.expect_once(1, 2, 3, 5, 6)
        (letter,) = self.kafka.consume(topic)
        self.assertEqual(dict(letter.headers)["walrelay.code"], code.encode())

    def test_null_key_blocks_without_a_transaction(self) -> None:
        relay = self.start_and_insert(key=None)
        self.expect_blocked(relay, "WR-3004")
        relay.kill()
        self.start_relay({"on_error.null_key": "skip"})
        self.expect_once(1, 2, 3, 5)

    def test_missing_topic_blocks_without_a_transaction(self) -> None:
        other = f"{self.name}.other"
        self.kafka.create_topic(self.topic)
        relay = self.start_and_insert({"kafka.librdkafka.allow.auto.create.topics": "false",
                                       "kafka.librdkafka.topic.metadata.refresh.interval.ms": "100"}, type=other)
        self.expect_blocked(relay, "WR-4004")
        self.kafka.create_topic(f"outbox.event.{other}")
        self.expect_once(1, 2, 3, 5)
        self.assertEqual(self.ids(other), [4])

    def test_refused_record_blocks_without_a_transaction(self) -> None:
        self.kafka.create_topic(self.topic, config={"max.message.bytes": 2000})
        relay = self.start_and_insert(payload="x" * 5000)
        self.expect_blocked(relay, "WR-3006")
        self.kafka.alter_topic_config(self.topic, {"max.message.bytes": 1_000_000})
        self.expect_once(1, 2, 3, 4, 5, seconds=120)

    def test_dead_letter_of_a_null_key_is_published_once(self) -> None:
        self.expect_dead_letter("WR-3004", key=None)

    def test_dead_letter_of_a_refused_record_is_published_once(self) -> None:
        self.kafka.create_topic(self.topic, config={"max.message.bytes": 2000})
        self.expect_dead_letter("WR-3006", payload="x" * 5000)


class ProgressTopicTest(OnceCase):
    """The record is gone or foreign: nothing is published until an operator decides."""

    def expect_blocked(self, relay: RelayProcess, code: str = "WR-4018") -> None:
        relay.wait_for_state("blocked")
        self.assertIn(code, relay.get("/readyz")[1])
        self.outbox.insert(9)
        self.assertEqual(self.ids(), [1])
        self.expect_no_transaction_stays_open(1)

    def truncate(self) -> None:
        self.kafka.alter_topic_config(self.progress_topic, {"cleanup.policy": "delete"})
        wait_until(self.truncated, 60, "the deletion of the records")
        self.kafka.alter_topic_config(self.progress_topic, {"cleanup.policy": "compact"})

    def truncated(self) -> bool:
        try:
            delete_records(self.kafka, self.progress_topic)
        except ServerError:
            return False  # the new policy takes effect in a moment
        return True

    def publish_one(self, options: dict[str, Any] | None = None) -> RelayProcess:
        relay = self.start_recording(options)
        self.outbox.insert(1)
        self.settle()
        return relay

    def test_deleted_topic_blocks_the_next_start(self) -> None:
        relay = self.publish_one()
        relay.kill()
        self.kafka.delete_topic(self.progress_topic)
        relay.start()
        self.expect_blocked(relay)
        self.assertIn(self.confirmed_text(), self.walrelay("progress", "init"))
        self.expect_once(1, 9)

    def test_truncated_topic_blocks_the_next_start(self) -> None:
        relay = self.publish_one()
        relay.kill()
        self.truncate()
        relay.start()
        self.expect_blocked(relay)

    def test_topic_deleted_while_the_relay_runs_is_noticed(self) -> None:
        # If the record is not refused at once, librdkafka waits for the topic for more than a minute.
        relay = self.publish_one({"kafka.librdkafka.topic.metadata.refresh.interval.ms": "100",
                                  "kafka.transaction_timeout": "12s"})
        self.kafka.delete_topic(self.progress_topic)
        begun = time.monotonic()
        self.outbox.insert(9)
        relay.wait_for_state("blocked", seconds=50)
        self.expect_no_transaction_stays_open(0)
        self.assertLess(time.monotonic() - begun, patient(15))
        relay.kill()
        relay.start()
        relay.wait_for_state("blocked")
        if "WR-4015" in relay.get("/readyz")[1]:  # the brokers have created it again
            self.kafka.alter_topic_config(self.progress_topic, {"cleanup.policy": "compact"})
        relay.wait_until(lambda: "WR-4018" in relay.get("/readyz")[1], 60, "the missing record")
        self.assertEqual(self.ids(), [1])

    def test_open_transaction_in_the_topic_is_reported(self) -> None:
        self.publish_one().stop()
        other = library().Producer({"bootstrap.servers": self.kafka.bootstrap, "transactional.id": f"other.{self.name}"})
        other.init_transactions(30)
        other.begin_transaction()
        other.produce(self.progress_topic, key="other")
        other.flush(30)
        relay = self.start_relay()
        relay.wait_until(lambda: "WR-4025" in relay.get("/readyz?verbose")[1], 60, "the open transaction")
        self.assertIn(self.progress_topic, relay.get("/readyz?verbose")[1])
        self.outbox.insert(2)
        def failed_claims() -> float:
            return relay.metric("walrelay_kafka_transactions_failed_total", code="WR-4025") or 0
        before = failed_claims()
        relay.wait_until(lambda: failed_claims() > before, 60, "the next claim to fail")
        self.assertEqual(ids_of(self.uncommitted()), ["1"])
        other.abort_transaction(30)
        self.expect_once(1, 2)

    def test_foreign_record_is_a_gap(self) -> None:
        shared = {"kafka.progress_topic": f"{self.name}-shared"}
        self.publish_rows(1, relay=self.new_relay(shared | {"pipeline.id": f"{self.name}-first"}))
        second = self.start_relay(shared | {"pipeline.id": f"{self.name}-second"})
        self.expect_held(second, "WR-2205")
        self.outbox.insert(2)
        self.assertEqual(self.ids(), [1])


class RightsTest(OnceCase):
    """A broker that denies what no ACL allows, except to users without a name, and limits transactions to 20 s."""

    kafka_options = acl_options("writer", "revoked", "limited", properties={"transaction.max.timeout.ms": "20000"})

    def options(self) -> dict[str, Any]:
        return super().options() | {"kafka.transaction_timeout": "15s"}

    def test_denied_transactional_id_blocks_until_it_is_granted(self) -> None:
        for operation in ("write", "describe", "create", "read"):
            for name in ("outbox.", "walrelay.progress."):
                allow(self.kafka.bootstrap, "writer", operation, name, "prefixed")
        relay = self.start_relay(login(self.kafka, "writer"))
        relay.wait_for_state("blocked")
        page = relay.get("/readyz?verbose")[1]
        self.assertIn("WR-4020", page)
        log = relay.wait_for_log(code="WR-4020")["msg"]
        (id,) = [word.strip('".,;:') for word in log.split() if self.pipeline in word][:1]
        for operation in ("write", "describe"):
            allow(self.kafka.bootstrap, "writer", operation, id, resource="transactional_id")
        relay.wait_ready(120)
        self.outbox.insert(1)
        self.expect_once(1)

    def allow_all(self, user: str) -> None:
        for operation in ("write", "describe", "create", "read"):
            for name in ("outbox.", "walrelay.progress."):
                allow(self.kafka.bootstrap, user, operation, name, "prefixed")
        for operation in ("write", "describe"):
            allow(self.kafka.bootstrap, user, operation, "walrelay.", "prefixed", "transactional_id")

    def start_and_deny(self, user: str, topic: str) -> RelayProcess:
        """Starts a relay that publishes row 1; then its user may no longer write to the topic."""
        self.allow_all(user)
        relay = self.start_recording(login(self.kafka, user))
        self.outbox.insert(1)
        self.expect_once(1)
        deny(self.kafka.bootstrap, user, "write", topic)
        return relay

    def expect_progress_denied(self, relay: RelayProcess) -> None:
        """Checks that the progress topic is blamed, and no event."""
        relay.wait_until(lambda: "WR-4016" in relay.get("/readyz")[1], 60, "WR-4016")
        relay.wait_for_state("blocked")
        line = relay.wait_for_log("progress_refused", code="WR-4016")
        self.assertIn(self.progress_topic, line["msg"])
        self.assertEqual(relay.logs(code="WR-4005"), [])
        self.expect_no_transaction_stays_open()
        self.assertEqual(relay.metric("walrelay_events_skipped_total") or 0, 0)

    def test_progress_topic_that_is_denied_while_the_relay_runs_is_named(self) -> None:
        relay = self.start_and_deny("revoked", self.progress_topic)
        self.outbox.insert(2, 3)
        self.expect_progress_denied(relay)
        relay.kill()
        relay.start()
        self.outbox.insert(4)
        self.expect_progress_denied(relay)
        self.assertEqual(self.ids(), [1])

    def test_denied_topic_of_events_is_named_after_progress_was_committed(self) -> None:
        relay = self.start_and_deny("limited", self.topic)
        self.outbox.insert(2)
        relay.wait_until(lambda: "WR-4005" in relay.get("/readyz")[1], 60, "WR-4005")
        self.assertEqual(relay.logs(code="WR-4016"), [])
        self.assertIn(self.topic, relay.wait_for_log(code="WR-4005")["msg"])
        self.expect_no_transaction_stays_open()

    def test_timeout_beyond_the_limit_of_the_brokers_blocks(self) -> None:
        relay = self.start_relay({"kafka.transaction_timeout": "21s"})
        relay.wait_for_state("blocked")
        self.assertIn("WR-4010", relay.get("/readyz")[1])
        self.assertIn("transaction", relay.wait_for_log(code="WR-4010")["msg"])


if __name__ == "__main__":
    main()
