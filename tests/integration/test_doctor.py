#!/usr/bin/python3
"""`walrelay doctor` against real servers: it reports each problem with the command that fixes it."""

import json
import subprocess
import unittest
from typing import Any

from testcase import IntegrationTest, main, relay_program, wait_until
from admin_types import admin_type, parse
from certificates import Authority
from kafka_acls import allow
from kafka_settings import alter_broker
from relay_config import relay_environment
from servers import test_folder
from walrelay_dev.account import write_file

MEGABYTE = 1 << 20


class DoctorCase(IntegrationTest):
    def call(self, *arguments: str, options: dict[str, Any] | None = None) -> tuple[int, str]:
        """Exit code and output of `walrelay doctor`."""
        settings = self.options() | {"http.listen": "127.0.0.1:1"} | (options or {})
        flags = [f"--set={name}={value}" for name, value in settings.items()]
        run = subprocess.run([relay_program(), "doctor", *flags, *arguments], cwd="/", text=True,
                             timeout=120, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             env=relay_environment())
        return run.returncode, run.stdout

    def findings(self, check: str, options: dict[str, Any] | None = None) -> list[dict[str, str]]:
        """The findings of a check."""
        return [each for each in json.loads(self.call("--json", options=options)[1])["findings"]
                if each["check"] == check]

    def expect(self, check: str, severity: str, text: str, remedy: str = "",
               options: dict[str, Any] | None = None) -> dict[str, str]:
        """Checks that one of the check's findings is this one."""
        found = self.findings(check, options)
        for each in found:
            if each["severity"] == severity and text in each["text"] and \
                    remedy in each.get("remedy", ""):
                return each
        self.fail(f"{check}: no {severity} with {text!r} and {remedy!r} in {found}")


class DoctorTest(DoctorCase):
    def test_passed_checks_are_listed_and_every_other_finding_has_a_remedy(self) -> None:
        relay = self.start_relay()
        relay.wait_ready()
        self.outbox.insert(1, 2, 3)
        self.settle()
        code, text = self.call("--json", options={
            "http.listen": f"127.0.0.1:{relay.wait_for_log('listening')['port']}"})
        self.assertEqual(code, 0, text)
        diagnosis = parse("Diagnosis", text)
        severity = admin_type("Diagnosis").Severity.Value
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

    def test_short_producer_id_expiration_is_reported(self) -> None:
        self.assertEqual(self.findings("kafka.producer_id_lifetime")[0]["severity"], "ok")
        broker = self.kafka.node_ids[0]
        self.addCleanup(alter_broker, self.kafka.bootstrap, broker, "producer.id.expiration.ms", "86400000")
        alter_broker(self.kafka.bootstrap, broker, "producer.id.expiration.ms", "3600000")
        wait_until(lambda: self.findings("kafka.producer_id_lifetime")[0]["severity"] == "warning", 60,
                   "the broker to apply the setting")
        self.expect("kafka.producer_id_lifetime", "warning", "silent for 1h00m",
                    "--add-config producer.id.expiration.ms=86400000")

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
        import psycopg2
        session = psycopg2.connect(f"{self.database.dsn} user=hasty")
        self.addCleanup(session.close)
        self.expect("latency.synchronous_commit", "warning", f"for role hasty in database {self.name} (1 session now)",
                    f'ALTER ROLE "hasty" IN DATABASE "{self.name}" RESET synchronous_commit')

    def test_asynchronous_commits_of_a_database_are_reported(self) -> None:
        self.postgres.psql(f"ALTER DATABASE {self.name} SET synchronous_commit = off")
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

    def test_publication_without_the_table_is_a_problem(self) -> None:
        self.sql("ALTER PUBLICATION walrelay DROP TABLE outbox")
        self.assertEqual(self.expect("publication.complete", "problem", "not in the publication",
                                     "ALTER PUBLICATION")["code"], "WR-2303")

    def test_publication_younger_than_the_slot_is_reported(self) -> None:
        self.sql("DROP PUBLICATION walrelay")
        self.sql("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
        self.expect("publication.older_than_slot", "warning", "WR-2306", "pg_drop_replication_slot")

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


class SparseKafkaTest(DoctorCase):
    """Three brokers, one of which is killed."""

    kafka_options = {"nodes": 3}

    def test_replica_settings_of_each_topic_are_checked(self) -> None:
        for name, replicas, least in (("one", 1, 1), ("loose", 3, 1), ("tight", 3, 3)):
            self.kafka.create_topic(f"outbox.event.{name}", replication=replicas,
                                    config={"min.insync.replicas": str(least)})
        self.expect("kafka.topics", "warning", "topic outbox.event.one has one replica")
        self.expect("kafka.topics", "warning", "topic outbox.event.loose has min.insync.replicas = 1",
                    "--topic outbox.event.loose --add-config min.insync.replicas=2")
        self.expect("kafka.topics", "warning", "topic outbox.event.tight has 3 replicas",
                    "min.insync.replicas=2")
        self.kafka.kill_node(3)
        wait_until(lambda: any("topic outbox.event.tight has 2 replicas in sync" in each["text"] and
                               each["code"] == "WR-4008" for each in self.findings("kafka.topics")
                               if each["severity"] == "problem"), 120, "the missing replica to be reported")

    def test_write_probe_reports_missing_replicas(self) -> None:
        self.kafka.create_topic(self.topic, replication=3, config={"min.insync.replicas": "3"})
        self.kafka.start()
        self.kafka.kill_node(2)
        self.addCleanup(self.kafka.start_node, 2)

        def refused() -> bool:
            _, text = self.call("--json", "--write-probe", self.topic)
            return any(each["check"] == "kafka.write" and each.get("code") == "WR-4008" and
                       "2 replicas are in sync, min.insync.replicas is 3" in each["text"]
                       for each in json.loads(text)["findings"])
        wait_until(refused, 120, "the missing replica to be reported")


class CertificatesTest(DoctorCase):
    """Servers with TLS, and certificates that are valid, that expire soon, and that have expired."""

    postgres_options = {"tcp": True}

    @classmethod
    def setUpClass(cls) -> None:
        folder = test_folder() / "certificates"
        folder.mkdir()
        cls.authority = Authority(folder)
        cls.pairs = {name: cls.authority.issue(name, days)
                     for name, days in (("lasting", 200), ("ending", 10), ("ended", -1))}
        cls.keystore = folder / "kafka.pem"
        cls.write_keystore("lasting")
        cls.kafka_options = {"secured": "SSL", "properties": {
            "listener.name.secured.ssl.keystore.type": "PEM",
            "listener.name.secured.ssl.keystore.location": str(cls.keystore)}}
        super().setUpClass()

    @classmethod
    def write_keystore(cls, name: str) -> None:
        cls.keystore.write_text("".join(path.read_text() for path in cls.pairs[name]))
        cls.keystore.chmod(0o644)

    def show_by_postgres(self, name: str) -> None:
        """Makes the server use this certificate."""
        for path, setting in zip(self.pairs[name], ("server.key", "server.crt")):
            write_file(self.postgres.data / setting, path.read_text(), self.postgres._account, 0o600)
        self.postgres.psql("ALTER SYSTEM SET ssl = on")
        self.postgres.psql("SELECT pg_reload_conf()")
        wait_until(lambda: self.postgres.psql("SHOW ssl") == "on", 60, "TLS")

    def show_by_kafka(self, name: str) -> None:
        self.write_keystore(name)
        self.kafka.stop()
        self.kafka.start()

    def postgres_tls(self, mode: str) -> dict[str, Any]:
        return {"source.dsn": f"host=127.0.0.1 port={self.postgres.port} user=postgres "
                              f"dbname={self.name} sslmode={mode} "
                              f"sslrootcert={self.authority.certificate}"}

    def kafka_tls(self) -> dict[str, Any]:
        return {"kafka.bootstrap_servers": self.kafka.config.secured_bootstrap,
                "kafka.security_protocol": "SSL", "kafka.ssl_ca_file": str(self.authority.certificate)}

    def expect_soon(self, check: str, severity: str, text: str, options: dict[str, Any]) -> None:
        """Retries, because a server takes a moment to load a certificate."""
        wait_until(lambda: any(each["severity"] == severity and text in each["text"]
                               for each in self.findings(check, options)), 60, f"{check}: {text}")

    def test_severity_of_a_postgres_certificate_follows_its_remaining_days(self) -> None:
        for name, severity, text in (("lasting", "ok", "CN=lasting is valid for 199 days"),
                                     ("ending", "warning", "CN=ending expires in 9 days"),
                                     ("ended", "problem", "CN=ended has expired")):
            self.show_by_postgres(name)
            self.expect_soon("tls.postgres", severity, text, self.postgres_tls("require"))
        refused = self.findings("postgres.connect", self.postgres_tls("verify-full"))
        self.assertEqual(refused[0]["severity"], "problem")
        self.expect("tls.postgres", "problem", "CN=ended has expired", "Renew it",
                    self.postgres_tls("verify-full"))

    def test_broker_certificate_is_checked_even_when_it_is_rejected(self) -> None:
        for name, severity, text in (("lasting", "ok", "CN=lasting is valid for 199 days"),
                                     ("ending", "warning", "CN=ending expires in 9 days")):
            self.show_by_kafka(name)
            self.expect("tls.kafka", severity, text, options=self.kafka_tls())
            self.assertEqual(self.findings("kafka.cluster", self.kafka_tls())[0]["severity"], "ok")
        self.show_by_kafka("ended")
        self.expect("kafka.cluster", "problem", "certificate", options=self.kafka_tls())
        self.expect("tls.kafka", "problem", "CN=ended has expired", "Renew it", self.kafka_tls())

    def test_configured_certificate_files_are_checked(self) -> None:
        self.expect("tls.files", "ok", "sslrootcert of source.dsn", options=self.postgres_tls("prefer"))
        self.expect("tls.files", "problem", "CN=ended has expired", "Put the renewed",
                    {"kafka.ssl_ca_file": str(self.pairs["ended"][1])})


class LimitedUserTest(DoctorCase):
    """Brokers with an authorizer, and users whose rights come from ACLs."""

    kafka_options = {"secured": "SASL_PLAINTEXT", "properties": {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "listener.name.secured.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secured.plain.sasl.jaas.config":
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            + " ".join(f'user_{name}="{name}-secret"' for name in ("outsider", "reader", "writer")) + ";"}}

    def user(self, name: str, **more: str) -> dict[str, Any]:
        return {"kafka.bootstrap_servers": self.kafka.config.secured_bootstrap,
                "kafka.security_protocol": "SASL_PLAINTEXT", "kafka.sasl_mechanism": "PLAIN",
                "kafka.sasl_username": name, "kafka.sasl_password": f"{name}-secret"} | more

    def probe(self, user: str, topic: str) -> dict[str, str]:
        _, text = self.call("--json", "--write-probe", topic, options=self.user(user))
        self.assertNotIn(f"{user}-secret", text)
        (found,) = [each for each in json.loads(text)["findings"] if each["check"] == "kafka.write"]
        return found

    def test_user_without_acls_gets_no_producer_id(self) -> None:
        found = self.expect("kafka.producer_id", "problem", "CLUSTER_AUTHORIZATION_FAILED",
                            "--operation Write", self.user("outsider"))
        self.assertEqual(found["code"], "WR-4005")
        self.assertEqual(self.probe("outsider", self.topic)["code"], "WR-4005")

    def test_topics_without_describe_or_create_rights_are_reported(self) -> None:
        self.kafka.create_topic(f"{self.name}-letters")
        options = self.user("outsider", **{"on_error.dead_letter_topic": f"{self.name}-letters"})
        found = self.expect("kafka.named_topics", "problem", f"{self.name}-letters",
                            "Grant WRITE and DESCRIBE", options)
        self.assertEqual(found["code"], "WR-4005")
        self.expect("kafka.topic_creation", "warning", "could not be created", "--operation Create", options)
        self.expect("kafka.producer_id_lifetime", "warning", "producer.id.expiration.ms is unknown",
                    "--operation DescribeConfigs --cluster", options)

    def test_write_probe_distinguishes_denied_from_allowed_topics(self) -> None:
        denied = f"{self.name}-denied"
        for topic in (self.topic, denied):
            self.kafka.create_topic(topic)
            allow(self.kafka.bootstrap, "writer", "describe", topic)
        allow(self.kafka.bootstrap, "writer", "write", self.topic)
        wait_until(lambda: self.probe("writer", self.topic)["severity"] == "ok", 60,
                   "the WRITE permission")
        found = self.probe("writer", denied)
        self.assertEqual((found["severity"], found["code"]), ("problem", "WR-4005"), found)
        self.assertIn("TOPIC_AUTHORIZATION_FAILED", found["text"])
        self.assertIn("Grant WRITE", found["remedy"])
        self.assertEqual(len(self.kafka.consume(denied)), 0)
        self.assertEqual(self.findings("kafka.producer_id", self.user("writer"))[0]["severity"], "ok")


if __name__ == "__main__":
    main()
