#!/usr/bin/python3
"""`walrelay doctor` against real servers: it reports each problem with the command that fixes it."""

import json
import subprocess
from typing import Any

import psycopg2
from walrelay_dev.patience import patient
from walrelay_test.doctor_case import DoctorCase
from walrelay_test.protobuf_types import message_type, parse
from walrelay_test.relay_config import relay_environment
from walrelay_test.testcase import main, relay_program


class DoctorTest(DoctorCase):
    def test_passed_checks_are_listed_and_every_other_finding_has_a_remedy(self) -> None:
        relay = self.start_relay()
        relay.wait_ready()
        self.outbox.insert(1, 2, 3)
        self.settle()
        code, text = self.call("--json", options={
            "http.listen": f"127.0.0.1:{relay.wait_for_log('listening')['port']}"})
        self.assertEqual(code, 0, text)
        diagnosis = parse("walrelay.admin.v1.Diagnosis", text)
        severity = message_type("walrelay.admin.v1.Diagnosis").Severity.Value
        good = {each.check for each in diagnosis.findings if each.severity == severity("ok")}
        for check in ("config.complete", "postgres.connect", "publication.complete", "table.columns",
                      "slot.usable", "slot.retained", "slot.reader", "network.postgres",
                      "network.clocks", "latency.synchronous_commit", "latency.stages",
                      "kafka.cluster", "kafka.producer_id", "kafka.brokers", "kafka.topics",
                      "kafka.topic_creation", "process.relay", "process.libraries"):
            self.assertIn(check, good, text)
        for each in diagnosis.findings:
            self.assertEqual(bool(each.remedy), each.severity != severity("ok"), each)
        self.assertEqual(self.ids(), [1, 2, 3])
        self.assertNotIn("outbox.event.walrelay-doctor", self.kafka.topics())  # only queried

    def test_exit_code_follows_fail_on(self) -> None:
        self.assertEqual(self.call()[0], 0)  # with warnings: no process reads the slot
        self.assertEqual(self.call("--fail-on", "warning")[0], 3)
        self.assertEqual(self.call(options={"source.publication": "other"})[0], 3)

    def test_text_output_names_the_check_and_the_remedy(self) -> None:
        text = self.call()[1]
        self.assertRegex(text, r"warning no process (reads|has read) the slot.* \[slot\.reader\]\n")
        self.assertIn("          Start walrelay run.\n", text)

    def test_roles_that_can_publish_messages_are_listed_until_execute_is_revoked(self) -> None:
        options = {"source.message_prefixes": '["outbox"]'}
        self.assertEqual(self.findings("messages.writers"), [])
        found = self.expect("messages.writers", "warning", "every role can publish events",
                            "REVOKE EXECUTE ON FUNCTION pg_catalog.pg_logical_emit_message(",
                            options)
        self.assertIn("route.allow is empty", found["text"])
        revoke, _, _ = found["remedy"].removeprefix("In each database: ").partition(";")
        self.sql(revoke)
        self.expect("messages.writers", "ok", "roles that can publish events", "", options)

    def test_asynchronous_commits_of_a_role_are_reported_with_its_sessions(self) -> None:
        self.postgres.psql("DROP ROLE IF EXISTS hasty; CREATE ROLE hasty LOGIN")
        self.postgres.psql(f"ALTER ROLE hasty IN DATABASE {self.name} SET synchronous_commit = off")
        self.addCleanup(self.postgres.psql, "DROP ROLE hasty")
        self.addCleanup(self.postgres.psql, f"ALTER ROLE hasty IN DATABASE {self.name} RESET ALL")
        session = psycopg2.connect(f"{self.database.dsn} user=hasty")
        self.addCleanup(session.close)
        self.expect("latency.synchronous_commit", "warning", f"for role hasty in database {self.name} (1 session now)",
                    f'ALTER ROLE "hasty" IN DATABASE "{self.name}" RESET synchronous_commit')

    def test_asynchronous_commits_of_a_database_are_reported(self) -> None:
        for spelling in ("off", "'OFF'", "false", "no", "'0'"):
            with self.subTest(spelling):
                self.postgres.psql(f"ALTER DATABASE {self.name} SET synchronous_commit = {spelling}")
                found = self.findings("latency.synchronous_commit")
                self.assertEqual(len(found), 1, found)
                self.assertIn(f"for database {self.name}", found[0]["text"])
                self.assertIn(f'ALTER DATABASE "{self.name}" RESET synchronous_commit', found[0]["remedy"])

    def test_role_without_replication_gets_the_grant_as_remedy(self) -> None:
        self.postgres.psql("DROP ROLE IF EXISTS plain; CREATE ROLE plain LOGIN")
        self.addCleanup(self.postgres.psql, "DROP ROLE plain")
        self.expect("postgres.connect", "problem", "lacks the replication privilege",
                    'ALTER ROLE "plain" REPLICATION',
                    {"source.dsn": f"{self.database.dsn} user=plain"})

    def test_superuser_is_reported(self) -> None:
        self.expect("postgres.role", "warning", "role postgres is a superuser", "walrelay setup --apply --role ROLE")
        self.postgres.psql("DROP ROLE IF EXISTS plain; CREATE ROLE plain LOGIN REPLICATION")
        self.addCleanup(self.postgres.psql, "DROP ROLE plain")
        self.expect("postgres.role", "ok", "role plain is not a superuser", options={"source.dsn": f"{self.database.dsn} user=plain"})

    def test_connection_limit_of_the_role_that_is_too_low_is_reported(self) -> None:
        self.postgres.psql("DROP ROLE IF EXISTS narrow; CREATE ROLE narrow LOGIN REPLICATION "
                           "CONNECTION LIMIT 2")
        self.addCleanup(self.postgres.psql, "DROP ROLE narrow")
        self.expect("postgres.connection_limit", "warning", "may have 2 connections",
                    'ALTER ROLE "narrow" CONNECTION LIMIT',
                    {"source.dsn": f"{self.database.dsn} user=narrow"})

    def test_publication_of_more_than_inserts_is_reported(self) -> None:
        self.sql("ALTER PUBLICATION walrelay SET (publish = 'insert, update')")
        self.expect("publication.inserts_only", "warning", "sends more than inserts",
                    "ALTER PUBLICATION \"walrelay\" SET (publish = 'insert');")

    def test_table_that_a_subscription_writes_to_is_reported_until_the_origin_is_decided(self) -> None:
        self.assertEqual(self.findings("publication.origin"), [])
        self.sql(f"CREATE SUBSCRIPTION {self.name} CONNECTION '' PUBLICATION p WITH (connect = false, slot_name = NONE)")
        self.addCleanup(self.sql, f"DROP SUBSCRIPTION {self.name}")
        # What the first connection to the publisher would do.
        self.sql("SET LOCAL allow_system_table_mods = on; INSERT INTO pg_subscription_rel "
                 "SELECT s.oid, 'outbox'::regclass, 'r', NULL FROM pg_subscription s WHERE subname = %s", self.name)
        self.expect("publication.origin", "warning", "a subscription writes to table public.outbox",
                    'Set source.origin = "none"')
        self.assertEqual(self.findings("publication.origin", {"source.origin": "any"}), [])

    def test_origin_of_another_program_is_reported_until_it_is_decided(self) -> None:
        self.sql("SELECT pg_replication_origin_create(%s)", self.name)
        self.addCleanup(self.postgres.psql, f"SELECT pg_replication_origin_drop('{self.name}')")
        self.expect("publication.origin", "warning", f'the server has replication origin "{self.name}"',
                    'Set source.origin = "none"')
        self.assertEqual(self.findings("publication.origin", {"source.origin": "none"}), [])

    def test_publication_without_the_table_is_a_problem(self) -> None:
        self.sql("ALTER PUBLICATION walrelay DROP TABLE outbox")
        self.assertEqual(self.expect("publication.complete", "problem", "not in the publication",
                                     "ALTER PUBLICATION")["code"], "WR-2303")

    def test_publication_younger_than_the_slot_is_reported(self) -> None:
        self.sql("DROP PUBLICATION walrelay")
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
        self.expect("publication.older_than_slot", "warning", "WR-2306", "pg_drop_replication_slot")

    def test_table_that_was_added_after_the_position_of_the_slot_is_reported(self) -> None:
        """Rows from before are in no stream, and nothing else says so."""
        self.assertEqual(self.findings("publication.older_than_slot"), [])
        self.sql("ALTER PUBLICATION walrelay DROP TABLE outbox")
        self.outbox.insert(1)
        self.sql("ALTER PUBLICATION walrelay ADD TABLE outbox")
        self.outbox.insert(2)
        joined = self.database.value("SELECT xmin::text FROM pg_publication_rel")
        self.expect("publication.older_than_slot", "warning", "table public.outbox was added", f"xmin before {joined}")
        relay = self.start_relay()
        self.expect_published(2)
        self.assertEqual(relay.wait_for_log("rows_before_membership")["table"], "public.outbox")
        subprocess.run([relay_program(), "republish", "--config", relay.config, "--id", "1"], check=True, cwd="/",
                       env=relay_environment(), timeout=patient(120))
        self.assertEqual(self.ids(), [2, 1])

    def test_new_slot_beside_an_older_one_is_not_compared(self) -> None:
        """It inherits the catalog_xmin of the older one."""
        self.test_publication_younger_than_the_slot_is_reported()
        self.database.create_slot(f"{self.slot}_new")
        self.assertEqual(self.findings("publication.older_than_slot", {"source.slot": f"{self.slot}_new"}), [])

    def test_missing_slot_is_a_problem(self) -> None:
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        self.assertEqual(self.expect("slot.usable", "problem", "slot does not exist", "walrelay setup")["code"], "WR-2101")

    def test_slot_reader_other_than_walrelay_is_reported(self) -> None:
        options = {"source.dsn": f"{self.database.dsn} application_name=intruder"}
        relay = self.start_relay(options)
        relay.wait_ready()
        pid = self.database.walsender(self.slot)
        self.expect("slot.reader", "warning", "application 'intruder'",
                    f"SELECT pg_terminate_backend({pid});")

    def test_relay_that_is_not_ready_is_reported_with_its_state(self) -> None:
        relay = self.start_relay({"kafka.bootstrap_servers": "127.0.0.1:1"})
        self.outbox.insert(1)
        relay.wait_for_state("degraded")
        listen = f"127.0.0.1:{relay.wait_for_log('listening')['port']}"
        self.expect("process.relay", "warning", "degraded", "walrelay status",
                    {"http.listen": listen})

    def test_latency_caused_by_the_writer_is_reported(self) -> None:
        relay = self.start_relay()
        relay.wait_ready()
        self.sql("SET synchronous_commit = off")
        for number in range(40):
            self.outbox.insert(number)
            relay.wait_until(lambda: (relay.metric("walrelay_events_published_total") or 0) > number,
                             60, "the event")
        listen = f"127.0.0.1:{relay.wait_for_log('listening')['port']}"
        self.expect("latency.stages", "warning", "from commit to acknowledgement",
                    "synchronous_commit = off", {"http.listen": listen})

    def test_unreachable_kafka_is_a_problem(self) -> None:
        self.assertEqual(self.expect("kafka.cluster", "problem", "no Kafka broker", "bootstrap_servers",
                                     {"kafka.bootstrap_servers": "127.0.0.1:1"})["code"], "WR-4001")

    def test_topic_with_a_smaller_record_limit_is_reported(self) -> None:
        self.kafka.create_topic(self.topic, config={"max.message.bytes": "1000"})
        self.expect("kafka.max_message_bytes", "warning", f"topic {self.topic} accepts records up to 1000",
                    f"--topic {self.topic} --add-config max.message.bytes=")

    def test_event_older_than_its_topic_keeps_events_is_reported(self) -> None:
        self.kafka.create_topic(self.topic, config={"retention.ms": "60000", "cleanup.policy": "compact,delete"})
        self.sql("ALTER TABLE outbox ADD created_at timestamptz NOT NULL DEFAULT now()")
        self.expect("kafka.compaction", "warning", f"topic {self.topic} has cleanup.policy=compact,delete")
        # Its progress record tells the rows that wait from those that are published.
        relay = self.start_relay({"metrics.slot_poll_interval": "200ms"})
        relay.wait_until(lambda: relay.metric("walrelay_table_unproven_rows") is not None, 60, "the first proof")
        self.outbox.insert(0)
        self.settle()
        self.assertEqual(relay.stop(), 0)
        self.outbox.insert(1, more={"created_at": "2020-01-01"})
        self.expect("kafka.retention", "warning", f"topic {self.topic} keeps events for 1 min", "retention.ms=-1")
        self.assertEqual(self.findings("kafka.retention", {"route.timestamp": "now"}), [])

    def test_table_whose_rows_cannot_be_deleted_is_reported(self) -> None:
        self.assertEqual(self.findings("publication.replica_identity"), [])
        self.sql("ALTER PUBLICATION walrelay SET (publish = 'insert, delete')")
        self.expect("publication.replica_identity", "warning", "table public.outbox has no replica identity",
                    "SET (publish = 'insert')")
        self.sql("ALTER TABLE outbox ADD PRIMARY KEY (id)")
        self.assertEqual(self.findings("publication.replica_identity"), [])

    def test_spilled_transactions_are_counted(self) -> None:
        options = {"source.decoding_memory": "64KiB"}
        relay = self.start_relay(options)
        self.outbox.insert(1)
        self.settle()
        self.expect("slot.spilled", "ok", "spilled nothing")
        self.sql("CREATE TABLE elsewhere AS SELECT repeat('x', 100) FROM generate_series(1, 20000)")
        self.sql("INSERT INTO elsewhere SELECT repeat('x', 100) FROM generate_series(1, 20000)")
        self.settle()
        relay.wait_until(lambda: self.database.value("SELECT spill_txns FROM pg_stat_replication_slots "
                                                     "WHERE slot_name = %s", self.slot) > 0, 60, "spilling")
        self.expect("slot.spilled", "warning", "64.0 KiB", "source.decoding_memory", options)

    def test_two_phase_slot_is_a_problem_and_a_copy_of_it_is_not(self) -> None:
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        self.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', false, true)", self.slot)
        self.outbox.insert(1)
        found = self.expect("slot.two_phase", "problem", "stops the relay", "pg_copy_logical")
        remedy = found["remedy"].partition(": ")[2].partition(";")[0]
        self.sql(remedy)
        copy = f"{self.slot}_copy"
        self.assertEqual(self.findings("slot.two_phase", {"source.slot": copy}), [])
        self.assertEqual(self.database.slot(copy, "confirmed_flush_lsn"),
                         self.database.slot(self.slot, "confirmed_flush_lsn"))

    def test_disabled_wal_sender_timeout_is_reported(self) -> None:
        self.postgres.psql(f"ALTER DATABASE {self.name} SET wal_sender_timeout = 0")
        self.assertEqual(self.findings("postgres.wal_sender_timeout"), [])
        self.expect("postgres.wal_sender_timeout", "warning", "slot stays in use", "at its default",
                    {"source.wal_sender_timeout": "0s"})

    def test_missing_configured_topic_is_reported_and_not_created(self) -> None:
        name = f"{self.name}-letters"
        self.expect("kafka.named_topics", "warning", f"topic {name} does not exist", "Create it",
                    {"on_error.dead_letter_topic": name})
        self.assertNotIn(name, self.kafka.topics())

    def probe(self, topic: str, options: dict[str, Any] | None = None) -> dict[str, str]:
        """The finding of a write probe."""
        _, text = self.call("--json", "--write-probe", topic, options=options)
        (found,) = [each for each in json.loads(text)["findings"] if each["check"] == "kafka.write"]
        return found

    def test_write_probe_writes_one_record_marked_as_a_probe(self) -> None:
        self.kafka.create_topic(self.topic)
        for compression in ("none", "zstd"):
            found = self.probe(self.topic, {"kafka.compression": compression})
            self.assertEqual(found["severity"], "ok", found)
        self.assertIn(f"topic {self.topic}, partition 0, offset 1,", found["text"])
        for record in self.published():
            self.assertEqual((record.key, record.value), (b"walrelay-doctor", None))
            self.assertEqual([name for name, _ in record.headers], ["walrelay.write_probe"])
        self.assertEqual(len(self.published()), 2)

    def test_write_probe_creates_the_topic_where_brokers_allow_it(self) -> None:
        self.assertEqual(self.probe(self.topic)["severity"], "ok")
        self.assertEqual(len(self.published()), 1)

    def test_write_probe_to_an_invalid_topic_or_broker_is_a_problem(self) -> None:
        found = self.probe("no topic")
        self.assertEqual((found["severity"], found["code"]), ("problem", "WR-3005"))
        found = self.probe(self.topic, {"kafka.bootstrap_servers": "127.0.0.1:1"})
        self.assertEqual((found["severity"], found["code"]), ("problem", "WR-4001"))


class UnfitServerTest(DoctorCase):
    """Settings that endanger a server or an outbox."""

    postgres_options = {"settings": {"synchronous_standby_names": "*", "synchronous_commit": "off",
                                     "max_wal_senders": 1, "max_slot_wal_keep_size": "64MB",
                                     "logical_decoding_work_mem": "64kB"}}

    def test_each_unsafe_setting_is_reported(self) -> None:
        found = json.loads(self.call("--json")[1])["findings"]
        by_check = {each["check"]: each for each in found}
        for check, text, remedy in [
                ("postgres.synchronous_standby_names", "commits would wait", "Name the real standbys"),
                ("latency.synchronous_commit", "for the whole server", "ALTER SYSTEM RESET"),
                ("postgres.wal_senders", "all 1 walsenders", "ALTER SYSTEM SET max_wal_senders")]:
            self.assertEqual(by_check[check]["severity"], "warning")
            self.assertIn(text, by_check[check]["text"])
            self.assertIn(remedy, by_check[check]["remedy"])
        self.assertNotIn("postgres.max_slot_wal_keep_size", by_check)
        self.assertIn("more may be written", by_check["slot.retained"]["text"])

    def test_transaction_that_retains_wal_is_reported_with_its_pid(self) -> None:
        with self.database.connect() as other, other.cursor() as cursor:
            cursor.execute("SET application_name = 'forgotten'; BEGIN; CREATE TABLE unfinished (id int)")
            pid = other.info.backend_pid
            for _ in range(40):
                self.sql("SELECT pg_logical_emit_message(false, '', repeat('x', 1048000))")
            self.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_flush_lsn())", self.slot)
            self.expect("slot.held_back", "warning", "application 'forgotten'",
                        f"SELECT pg_terminate_backend({pid});")

    def test_slot_close_to_invalidation_is_a_problem(self) -> None:
        for _ in range(56):
            self.sql("SELECT pg_logical_emit_message(false, '', repeat('x', 1048000))")
        self.assertEqual(self.expect("slot.retained", "problem", "close to its WAL limit",
                                     "ALTER SYSTEM SET max_slot_wal_keep_size")["code"], "WR-2108")


class NotLogicalTest(DoctorCase):
    """A server with default settings."""

    postgres_options = {"settings": {"wal_level": "replica"}}

    def prepare(self) -> None:
        """No slot can be created on this server."""

    def test_setting_to_change_is_named(self) -> None:
        self.assertEqual(self.expect("postgres.wal_level", "problem", "wal_level is replica",
                                     "ALTER SYSTEM SET wal_level = 'logical'")["code"], "WR-2008")
        self.expect("postgres.max_slot_wal_keep_size", "warning", "can fill the server's disk",
                    "ALTER SYSTEM SET max_slot_wal_keep_size")


class UnlistedPluginTest(DoctorCase):
    """Newer minors create and read slots of listed plugins only."""

    postgres_options = {"settings": {"output_plugin_libraries": "test_decoding"}, "major": 18}

    def prepare(self) -> None:
        """No slot can be created on this server."""

    def test_remedy_lists_the_plugin(self) -> None:
        found = self.expect("postgres.output_plugin_libraries", "problem", "without pgoutput")
        for statement in found["remedy"].split(";")[:2]:
            self.postgres.psql(statement)
        self.database.create_slot(self.slot)
        self.assertEqual(self.findings("postgres.output_plugin_libraries"), [])


if __name__ == "__main__":
    main()
