#!/usr/bin/python3
"""`walrelay verify`: what stands in the topics is what walrelay would have published, or it says where not."""

import subprocess
from typing import Any

from testcase import IntegrationTest, main, relay_program, wait_until


class VerifyTest(IntegrationTest):
    def arguments(self, *arguments: str) -> list[Any]:
        return [relay_program(), "verify", "--dsn", self.database.dsn, "--kafka", self.kafka.bootstrap,
                "--slot", self.slot, "--set", "source.publication=walrelay", *arguments]

    def verify(self, *arguments: str, code: int = 0) -> str:
        run = subprocess.run(self.arguments(*arguments), text=True, timeout=120, capture_output=True)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run.stdout

    def publish_rows(self, *ids: int, **row: Any) -> None:
        self.start_relay()
        self.outbox.insert(*ids, **row)
        self.settle()

    def test_what_the_relay_publishes_from_now_on_is_the_same(self) -> None:
        self.start_relay().wait_ready()
        self.outbox.insert(1)
        child = subprocess.Popen(self.arguments("--limit", "3"), text=True, stdout=subprocess.PIPE)
        self.addCleanup(child.kill)
        wait_until(lambda: self.sql("SELECT 1 FROM pg_replication_slots WHERE temporary "
                                    "AND confirmed_flush_lsn IS NOT NULL"), 60, "a temporary slot")
        self.outbox.insert(2, 3, 4, payload='{"a": "ü"}')
        told, _ = child.communicate(timeout=120)
        self.assertEqual((child.returncode, told), (0, "3 events compared, 0 different\n"))

    def test_rows_that_were_published_are_the_same(self) -> None:
        self.publish_rows(1, 2, payload='{"a": 1}')
        self.assertEqual(self.verify("--id", "1", "--id", "2"), "2 events compared, 0 different\n")

    def test_first_difference_of_each_event_is_named(self) -> None:
        self.publish_rows(1, 2, payload='{"a": 1}')
        self.sql("""UPDATE outbox SET payload = '{"a": 2}' WHERE id = 2""")
        told = self.verify("--id", "1", "--id", "2", "--timeout", "0", code=3)
        self.assertIn(f"{self.topic}  id=2  [0]@1\n", told)
        self.assertIn('value: walrelay "{"a": 2}", topic "{"a": 1}"', told)
        self.assertIn("2 events compared, 1 different\n", told)

    def test_other_configuration_is_another_record(self) -> None:
        self.publish_rows(1)
        told = self.verify("--id", "1", "--timeout", "0", "--set", "format.key=json", code=3)
        self.assertIn('key: walrelay ""k"", topic "k"', told)

    def test_event_that_is_not_there_is_told(self) -> None:
        self.outbox.insert(1)
        told = self.verify("--id", "1", "--timeout", "0", code=3)
        self.assertIn(f"{self.topic}  id=1", told)
        self.assertIn("it is not there", told)


if __name__ == "__main__":
    main()
