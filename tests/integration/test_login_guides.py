#!/usr/bin/python3
"""The examples of docs/guides/kafka-logins.md and postgres-logins.md, executed."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from walrelay_dev.paths import REPOSITORY
from walrelay_dev.patience import patient
from walrelay_test.relay_config import relay_program

GUIDES = REPOSITORY / "docs" / "guides"
PASSWORD = "canary-password"

# What a guide's example leaves to the rest of the file.
REST = {"kafka-logins.md": '[source]\ndsn = "host=127.0.0.1"\n',
        "postgres-logins.md": '[kafka]\nbootstrap_servers = "127.0.0.1:9092"\n'}


def blocks(guide: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (GUIDES / guide).read_text(), re.MULTILINE | re.DOTALL)


class ConfigurationTest(unittest.TestCase):
    def test_examples_are_valid(self) -> None:
        for guide, rest in REST.items():
            self.assertGreater(len(blocks(guide, "toml")), 4, guide)
            for example in blocks(guide, "toml"):
                with self.subTest(guide=guide, example=example), tempfile.NamedTemporaryFile("w") as file:
                    file.write(example + rest)
                    file.flush()
                    done = subprocess.run([relay_program(), "config", "show", "-c", file.name], capture_output=True,
                                          text=True, check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)


class KeyStoreTest(unittest.TestCase):
    """The commands of "Java key stores" with stores that keytool creates."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_shell(self, script: str) -> str:
        done = subprocess.run(["sh", "-euc", script], cwd=self.folder, env=os.environ | {"PASSWORD": PASSWORD},
                              capture_output=True, text=True, check=False, timeout=patient(120))
        self.assertEqual(done.returncode, 0, f"{script}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_commands_convert_the_stores(self) -> None:
        store = "-storepass:env PASSWORD -noprompt"
        self.run_shell(f"keytool -genkeypair -alias client -keyalg EC -dname CN=walrelay -validity 30 "
                       f"-keystore client.jks -storetype JKS -keypass:env PASSWORD {store}\n"
                       f"keytool -exportcert -rfc -alias client -keystore client.jks {store} > own.pem\n"
                       f"keytool -importcert -alias authority -file own.pem -keystore truststore.jks {store}\n")
        for script in blocks("kafka-logins.md", "sh"):
            self.run_shell(script)
        public = [self.run_shell(f"openssl {command}") for command in (
            "pkey -in client.key -pubout", "x509 -in client.pem -pubkey -noout", "x509 -in ca.pem -pubkey -noout")]
        self.assertIn("BEGIN PUBLIC KEY", public[0])
        self.assertEqual(public, [public[0]] * 3)
        self.assertEqual((self.folder / "client.key").stat().st_mode & 0o777, 0o600)

    def test_key_store_of_another_password_or_kind_is_refused_offline(self) -> None:
        store = self.folder / "client.jks"
        self.run_shell("keytool -genkeypair -alias client -keyalg EC -dname CN=walrelay -keystore client.jks "
                       "-storetype JKS -storepass:env PASSWORD -keypass:env PASSWORD -noprompt")
        config = self.folder / "walrelay.toml"
        config.write_text('[source]\ndsn = "host=127.0.0.1"\n[kafka]\nbootstrap_servers = "127.0.0.1:9093"\n'
                          f'security_protocol = "SSL"\n[kafka.librdkafka]\n"ssl.keystore.location" = "{store}"\n'
                          f'"ssl.keystore.password" = "{PASSWORD}"\n')
        done = subprocess.run([relay_program(), "check", "--offline", "-c", config], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 78, done.stdout + done.stderr)
        self.assertIn("WR-4006", done.stderr)
        self.assertNotIn(PASSWORD, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
