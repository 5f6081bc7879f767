#!/usr/bin/python3
"""Kafka's passwords and certificates are rotated while the relay is running, busy or idle."""

import os
from pathlib import Path
from typing import Any, ClassVar

from walrelay_dev.certificates import Authority, BrokerKeystore
from walrelay_test.servers import test_folder
from walrelay_test.testcase import RECONNECT_SOON, IntegrationTest, RelayProcess, main


def replace(path: Path, content: str, mode: int = 0o600) -> None:
    """Replaces the file by renaming another one, as Kubernetes and Vault do."""
    following = path.with_suffix(".next")
    following.write_text(content)
    following.chmod(mode)
    os.replace(following, path)


class RotatedPasswordTest(IntegrationTest):
    """Uses PLAIN, because Debian 12's librdkafka cannot use SCRAM with current brokers."""

    kafka_options: ClassVar[dict[str, Any]] = {"secured": "SASL_PLAINTEXT", "properties": {
        "listener.name.secured.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secured.plain.sasl.jaas.config":
            'org.apache.kafka.common.security.plain.PlainLoginModule required user_walrelay="first";'}}

    def setUp(self) -> None:
        super().setUp()
        self.restart_with_password("first")
        self.password = test_folder() / f"{self.name}-password"
        replace(self.password, "first\n")

    def options(self) -> dict[str, Any]:
        return super().options() | {
            "kafka.bootstrap_servers": self.kafka.config.secured_bootstrap,
            "kafka.security_protocol": "SASL_PLAINTEXT", "kafka.sasl_mechanism": "PLAIN",
            "kafka.sasl_username": "walrelay", "kafka.sasl_password_file": str(self.password)} | RECONNECT_SOON

    def restart_with_password(self, password: str) -> None:
        """Restarts the broker, because connections made with the previous password last until they are closed."""
        self.kafka.stop()
        self.kafka.config.properties["listener.name.secured.plain.sasl.jaas.config"] = (
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            f'user_walrelay="{password}";')
        self.kafka.start()

    def expect_login_refused(self, relay: RelayProcess) -> None:
        relay.wait_for_state("degraded")
        relay.wait_until(lambda: "WR-4007" in relay.get("/readyz")[1], 60, "WR-4007 on /readyz")

    def test_password_rotated_while_idle_is_read_from_the_file_later(self) -> None:
        relay = self.start_relay()
        self.outbox.insert(1)
        self.settle()
        self.restart_with_password("second")
        other = f"{self.name}.other"
        self.outbox.insert(2, type=other)  # a topic without known metadata: nothing is in flight
        self.expect_login_refused(relay)
        replace(self.password, "second\n")
        self.settle(seconds=120)
        self.assertEqual((self.ids(), self.ids(other)), ([1], [2]))
        self.assertEqual(relay.logs("disconnected"), [])

    def test_password_rotated_in_the_file_first_keeps_the_producer(self) -> None:
        relay = self.start_relay()
        self.outbox.insert(1)
        self.settle()
        replace(self.password, "second\n")
        relay.wait_for_log("credentials_changed")
        self.restart_with_password("second")
        self.outbox.insert(2)
        self.expect_published(1, 2)
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 1)

    def test_password_rotated_under_load_repeats_nothing(self) -> None:
        relay = self.start_relay()
        self.outbox.insert(1)
        self.settle()
        self.restart_with_password("second")
        self.outbox.insert(2)  # produced, and rejected
        self.expect_login_refused(relay)
        replace(self.password, "second\n")
        self.expect_published(1, 2, seconds=120)

    def test_wrong_password_at_startup_can_be_corrected_later(self) -> None:
        replace(self.password, "wrong\n")
        relay = self.start_relay()
        self.outbox.insert(1)
        self.expect_login_refused(relay)
        replace(self.password, "first\n")
        self.expect_published(1, seconds=120)

    def test_temporarily_unreadable_password_file_is_not_fatal(self) -> None:
        relay = self.start_relay()
        self.outbox.insert(1)
        self.settle()
        replace(self.password, "first\n", mode=0o644)
        self.assertEqual(relay.wait_for_log("credentials_unreadable")["code"], "WR-1005")
        self.outbox.insert(2)
        self.settle()
        self.password.chmod(0o600)
        relay.wait_for_log("credentials_readable")
        self.outbox.insert(3)
        self.expect_published(1, 2, 3)
        self.assertEqual(len(relay.logs("credentials_unreadable")), 1)
        self.assertEqual(relay.metric("walrelay_kafka_producers_started_total"), 1)


class RotatedCertificateTest(IntegrationTest):
    @classmethod
    def setUpClass(cls) -> None:
        folder = test_folder() / "authorities"
        cls.authorities = {}
        for name in ("first", "second"):
            (folder / name).mkdir(parents=True)
            cls.authorities[name] = Authority(folder / name)
        folder.chmod(0o755)
        cls.keystore = BrokerKeystore(folder / "kafka.pem", cls.authorities["first"].issue("kafka", 100))
        cls.kafka_options = cls.keystore.kafka_options
        super().setUpClass()

    def test_ca_file_replaced_while_idle_is_reloaded(self) -> None:
        trusted = test_folder() / f"{self.name}-ca.pem"
        replace(trusted, self.authorities["first"].certificate.read_text())
        relay = self.start_relay({"kafka.bootstrap_servers": self.kafka.config.secured_bootstrap,
                                  "kafka.security_protocol": "SSL", "kafka.ssl_ca_file": str(trusted)} | RECONNECT_SOON)
        self.outbox.insert(1)
        self.settle()
        self.keystore.write(self.authorities["second"].issue("kafka", 100))
        self.kafka.stop()
        self.kafka.start()
        replace(trusted, self.authorities["second"].certificate.read_text())
        relay.wait_for_log("producer_renewed")
        self.outbox.insert(2)
        self.expect_published(1, 2)
        self.assertEqual(relay.logs("disconnected"), [])


if __name__ == "__main__":
    main()
