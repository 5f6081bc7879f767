#!/usr/bin/python3
"""Every block ```toml of the documentation is accepted by `walrelay check --offline`."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from walrelay_dev.certificates import self_signed
from walrelay_test.relay_config import relay_environment, relay_program

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Files that a reader is told to create, as the value of a key or of a parameter of the DSN.
FILE = re.compile(r'(?<=[="])(/[\w./-]+\.(?:pem|crt|key|p12)|/(?:etc|run)/[\w./-]*[\w-]+)(?=["&])')

CERTIFICATE, KEY = self_signed()
CONTENTS = {".pem": CERTIFICATE, ".crt": CERTIFICATE, ".key": KEY}


# tests/integration/test_login_guides.py executes these, with the keys and tokens that their blocks need.
EXECUTED = {"kafka-logins.md", "postgres-logins.md"}


def pages() -> list[Path]:
    return [page for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]) if page.name not in EXECUTED]


class SnippetsTest(unittest.TestCase):
    maxDiff = None

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def with_files(self, text: str) -> str:
        """The block with paths of files that exist."""
        for number, path in enumerate(sorted(set(FILE.findall(text)), key=len, reverse=True)):
            copy = self.folder / f"{number}{Path(path).suffix}"
            copy.write_text(KEY if path.endswith("key.pem") else CONTENTS.get(copy.suffix, "secret\n"))
            copy.chmod(0o600)
            text = text.replace(path, str(copy))
        return text

    def check(self, text: str) -> str:
        """What `check --offline` reports; "" if the block is valid."""
        config = self.folder / "walrelay.toml"
        config.write_text(self.with_files(text))
        # A block shows a part of a file: the addresses may be in another.
        flags = ["--dsn", "host=localhost"] if not re.search(r"^dsn *=", text, re.MULTILINE) else []
        flags += ["--kafka", "localhost:9092"] if "bootstrap_servers" not in text else []
        run = subprocess.run([relay_program(), "check", "--offline", "-c", config, *flags], text=True, timeout=60,
                             capture_output=True, env=relay_environment(), cwd=self.folder)
        return "" if run.returncode == 0 else run.stdout + run.stderr

    def test_every_block_is_valid(self) -> None:
        for page in pages():
            for block in BLOCK.findall(page.read_text()):
                with self.subTest(page=str(page.relative_to(ROOT)), block=block):
                    self.assertEqual(self.check(block), "")

    def test_guides_have_blocks(self) -> None:
        """Guides about a service show a complete configuration."""
        for name in ("rds-aurora", "cloud-sql", "azure", "confluent-cloud", "msk", "redpanda", "strimzi"):
            blocks = BLOCK.findall((ROOT / f"docs/guides/{name}.md").read_text())
            self.assertTrue(any("dsn" in block and "bootstrap_servers" in block for block in blocks), name)

    def test_invalid_block_is_noticed(self) -> None:
        self.assertIn("WR-1002", self.check("[kafka]\nbootstrap_server = \"a:9092\"\n"))


if __name__ == "__main__":
    unittest.main()
