#!/usr/bin/python3
"""Pages name the versions of servers that the tests use."""

import re
import unittest
from pathlib import Path

from walrelay_dev.versions import DEBEZIUM_VERSION, KAFKA_VERSION, OLDER_DEBEZIUM_VERSION

ROOT = Path(__file__).resolve().parents[2]
# Not docs/benchmarks.md and docs/reliability.md: their results name the versions that were measured.
PAGES = [ROOT / "docs/reference/debezium-parity.md", ROOT / "docs/guides/from-debezium.md",
         *sorted((ROOT / "bench/peers").glob("*/README.md"))]
KAFKA = re.compile(r"Kafka(?:\s+Connect)?\s+(\d+\.\d+\.\d+)")
DEBEZIUM = re.compile(r"\d+\.\d+\.\d+\.Final")


class VersionsTest(unittest.TestCase):
    def test_pages_name_the_versions_that_the_tests_use(self) -> None:
        texts = {str(page.relative_to(ROOT)): page.read_text() for page in PAGES}
        named = {(page, version) for page, text in texts.items()
                 for version in (*KAFKA.findall(text), *DEBEZIUM.findall(text))}
        known = KAFKA_VERSION, DEBEZIUM_VERSION, OLDER_DEBEZIUM_VERSION
        self.assertEqual({each for each in named if each[1] not in known}, set())
        self.assertIn(("docs/reference/debezium-parity.md", DEBEZIUM_VERSION), named)

    def test_the_consumers_of_the_examples_use_the_same_client(self) -> None:
        pom = (ROOT / "docs/examples/consumer-java/pom.xml").read_text()
        client = re.search(r"<artifactId>kafka-clients</artifactId>\s*<version>(.*?)</version>", pom)
        assert client is not None
        self.assertEqual(client[1], KAFKA_VERSION)


if __name__ == "__main__":
    unittest.main()
