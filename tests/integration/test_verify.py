#!/usr/bin/python3
"""`walrelay verify`: compares the topics with the records that walrelay would have published."""

import subprocess
from typing import Any

from walrelay_dev.patience import patient
from walrelay_test.testcase import IntegrationTest, main, relay_program, wait_until


class VerifyTest(IntegrationTest):
    def arguments(self, *arguments: str) -> list[Any]:
        return [relay_program(), "verify", "--dsn", self.database.dsn, "--kafka", self.kafka.bootstrap,
                "--slot", self.slot, "--set", "source.publication=walrelay", *arguments]

    def verify(self, *arguments: str, code: int = 0) -> str:
        run = subprocess.run(self.arguments(*arguments), text=True, timeout=patient(120), capture_output=True)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run.stdout

    def publish_rows(self, *ids: int, **row: Any) -> None:
        self.start_relay()
        self.outbox.insert(*ids, **row)
        self.settle()

    def test_newly_published_events_match(self) -> None:
        self.start_relay().wait_ready()
        self.outbox.insert(1)
        child = subprocess.Popen(self.arguments("--limit", "3"), text=True, stdout=subprocess.PIPE)
        self.addCleanup(child.kill)
        wait_until(lambda: self.sql("SELECT 1 FROM pg_replication_slots WHERE temporary AND database = %s "
                                    "AND confirmed_flush_lsn IS NOT NULL", self.name), 60, "a temporary slot")
        self.outbox.insert(2, 3, 4, payload='{"a": "ü"}')
        printed, _ = child.communicate(timeout=patient(120))
        self.assertEqual((child.returncode, printed), (0, "3 events compared, 0 different\n"))

    def test_published_rows_match(self) -> None:
        self.publish_rows(1, 2, payload='{"a": 1}')
        self.assertEqual(self.verify("--id", "1", "--id", "2"), "2 events compared, 0 different\n")

    def test_header_with_the_commit_time_is_not_compared_for_rows_of_a_table(self) -> None:
        self.start_relay({"route.commit_time_header": "ce_time"})
        self.outbox.insert(1)
        self.settle()
        printed = self.verify("--id", "1", "--set", "route.commit_time_header=ce_time")
        self.assertEqual(printed, "1 event compared, 0 different\n")
        printed = self.verify("--id", "1", "--timeout", "0", code=3)
        self.assertIn("headers: walrelay [id, event_type], topic [id, event_type, ce_time]", printed)

    def test_first_difference_of_each_event_is_reported(self) -> None:
        self.publish_rows(1, 2, payload='{"a": 1}')
        self.sql("""UPDATE outbox SET payload = '{"a": 2}' WHERE id = 2""")
        printed = self.verify("--id", "1", "--id", "2", "--timeout", "0", code=3)
        self.assertIn(f"{self.topic}  id=2  [0]@1\n", printed)
        self.assertIn('value: walrelay "{"a": 2}", topic "{"a": 1}"', printed)
        self.assertIn("2 events compared, 1 different\n", printed)

    def test_changed_configuration_is_a_difference(self) -> None:
        self.publish_rows(1)
        printed = self.verify("--id", "1", "--timeout", "0", "--set", "format.key=json", code=3)
        self.assertIn('key: walrelay ""k"", topic "k"', printed)

    def test_missing_event_is_reported(self) -> None:
        self.outbox.insert(1)
        printed = self.verify("--id", "1", "--timeout", "0", code=3)
        self.assertIn(f"{self.topic}  id=1", printed)
        self.assertIn("missing in the topic", printed)


if __name__ == "__main__":
    main()
