#!/usr/bin/python3
"""`walrelay doctor` and the settings of brokers, their replicas, certificates and users."""

import json
from typing import Any

from walrelay_dev.certificates import Authority, BrokerKeystore, use_in_postgres
from walrelay_test.doctor_case import DoctorCase
from walrelay_test.kafka_acls import acl_options, allow, login
from walrelay_test.kafka_settings import alter_broker
from walrelay_test.relay_config import to_toml
from walrelay_test.servers import test_folder
from walrelay_test.testcase import main, wait_until


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
        cls.keystore = BrokerKeystore(folder / "kafka.pem", cls.pairs["lasting"])
        cls.kafka_options = cls.keystore.kafka_options
        super().setUpClass()

    def use_in_postgres(self, name: str) -> None:
        use_in_postgres(self.postgres, self.pairs[name])

    def use_in_kafka(self, name: str) -> None:
        self.keystore.write(self.pairs[name])
        self.kafka.stop()
        self.kafka.start()

    def postgres_tls(self, mode: str) -> dict[str, Any]:
        return {"source.dsn": f"host=127.0.0.1 port={self.postgres.port} user=postgres "
                              f"dbname={self.name} sslmode={mode} "
                              f"sslrootcert={self.authority.certificate}"}

    def kafka_tls(self) -> dict[str, Any]:
        return {"kafka.bootstrap_servers": self.kafka.config.secured_bootstrap,
                "kafka.security_protocol": "SSL", "kafka.ssl_ca_file": str(self.authority.certificate)}

    def expect_eventually(self, check: str, severity: str, text: str, options: dict[str, Any]) -> None:
        """Retries, because a server takes a moment to load a certificate."""
        wait_until(lambda: any(each["severity"] == severity and text in each["text"]
                               for each in self.findings(check, options)), 60, f"{check}: {text}")

    def test_severity_of_a_postgres_certificate_follows_its_remaining_days(self) -> None:
        for name, severity, text in (("lasting", "ok", "CN=lasting is valid for 199 days"),
                                     ("ending", "warning", "CN=ending expires in 9 days"),
                                     ("ended", "problem", "CN=ended has expired")):
            self.use_in_postgres(name)
            self.expect_eventually("tls.postgres", severity, text, self.postgres_tls("require"))
        refused = self.findings("postgres.connect", self.postgres_tls("verify-full"))
        self.assertEqual(refused[0]["severity"], "problem")
        self.expect("tls.postgres", "problem", "CN=ended has expired", "Renew it",
                    self.postgres_tls("verify-full"))

    def test_broker_certificate_is_checked_even_when_it_is_rejected(self) -> None:
        for name, severity, text in (("lasting", "ok", "CN=lasting is valid for 199 days"),
                                     ("ending", "warning", "CN=ending expires in 9 days")):
            self.use_in_kafka(name)
            self.expect("tls.kafka", severity, text, options=self.kafka_tls())
            self.assertEqual(self.findings("kafka.cluster", self.kafka_tls())[0]["severity"], "ok")
        self.use_in_kafka("ended")
        self.expect("kafka.cluster", "problem", "certificate", options=self.kafka_tls())
        self.expect("tls.kafka", "problem", "CN=ended has expired", "Renew it", self.kafka_tls())

    def test_configured_certificate_files_are_checked(self) -> None:
        self.expect("tls.files", "ok", "sslrootcert of source.dsn", options=self.postgres_tls("prefer"))
        self.expect("tls.files", "problem", "CN=ended has expired", "Put the renewed",
                    {"kafka.ssl_ca_file": str(self.pairs["ended"][1])})


class LimitedUserTest(DoctorCase):
    """Brokers with an authorizer, and users whose rights come from ACLs."""

    kafka_options = acl_options("outsider", "reader", "writer")

    def user(self, name: str, **more: Any) -> dict[str, Any]:
        return {**login(self.kafka, name), **more}

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

    def test_rules_for_topics_are_checked(self) -> None:
        self.kafka.create_topic(self.topic, config={"retention.ms": "1000"})
        rules = [{"match": self.topic, "partitions": 2, "config": {"retention.ms": 5}},
                 {"match": "broken.*", "replication_factor": 9}]
        file = test_folder() / f"{self.name}.toml"
        file.write_text(to_toml({"kafka.topics.create": "create", "kafka.topics.rules": rules}))

        def found(check: str, **options: Any) -> list[tuple[str | None, str, str]]:
            _, text = self.call("--json", "--config", str(file), options=options)
            return [(each.get("code"), each["text"], each.get("remedy", ""))
                    for each in json.loads(text)["findings"] if each["check"] == check]
        self.assertEqual([text for _, text, _ in found("kafka.topic_rules") if self.topic in text], [
            f'topic {self.topic} has partitions = 1; rule match = "{self.topic}" has 2',
            f'topic {self.topic} has retention.ms = 1000; rule match = "{self.topic}" has 5'])
        ((code, text, _),) = found("kafka.topic_creation")
        self.assertEqual(code, "WR-4014")
        self.assertIn("INVALID_REPLICATION_FACTOR", text)
        self.assertIn('rule match = "broken.*"', text)
        codes = {code: remedy for code, _, remedy in found("kafka.topic_creation", **self.user("outsider"))}
        self.assertIn("--operation Create", codes["WR-4005"])
        self.assertNotIn("outbox.event.walrelay-doctor", self.kafka.topics())

    def test_short_producer_id_expiration_is_reported(self) -> None:
        self.assertEqual(self.findings("kafka.producer_id_lifetime")[0]["severity"], "ok")
        broker = self.kafka.node_ids[0]
        self.addCleanup(alter_broker, self.kafka.bootstrap, broker, "producer.id.expiration.ms", "86400000")
        alter_broker(self.kafka.bootstrap, broker, "producer.id.expiration.ms", "3600000")
        wait_until(lambda: self.findings("kafka.producer_id_lifetime")[0]["severity"] == "warning", 60,
                   "the broker to apply the setting")
        self.expect("kafka.producer_id_lifetime", "warning", "silent for 1 h",
                    "--add-config producer.id.expiration.ms=86400000")


if __name__ == "__main__":
    main()
