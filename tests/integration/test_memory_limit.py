#!/usr/bin/python3
"""A row that does not fit into the memory limit of the relay's control group."""

from walrelay_test.memory_limit import MemoryLimit
from walrelay_test.testcase import IntegrationTest, main

MIB = 1 << 20


class MemoryLimitTest(IntegrationTest):
    def expect_a_named_state(self, dsn: str) -> None:
        limit = MemoryLimit(self.name, 256 * MIB)
        self.addCleanup(limit.close)  # after the relay has ended
        self.sql("ALTER TABLE outbox ALTER payload TYPE text")
        relay = self.start_relay({"source.dsn": dsn, "on_error.too_large": "skip"})
        relay.wait_ready()
        limit.add(relay.pid)
        pid = relay.pid
        self.sql("INSERT INTO outbox VALUES (1, %s, 'k', 'made', repeat('x', 200 << 20))", self.name)
        self.outbox.insert(2)
        refused = relay.wait_for_log("disconnected", code="WR-2403")
        self.assertIn("this process may have 256.0 MiB", refused["msg"])
        relay.wait_for_state("blocked")
        self.assertIn("WR-2402", relay.get("/readyz?verbose")[1])
        self.assertIn("MemoryMax=", relay.get("/readyz?verbose")[1])
        self.assertEqual((relay.running(), relay.pid), (True, pid))
        self.assertEqual(self.ids(), [])
        # The limit fits now. The row is larger than any record, which is a matter of [on_error].
        self.assertEqual(relay.stop(), 0)
        limit.set(1024 * MIB)
        relay.start()
        limit.add(relay.pid)
        relay.wait_for_log("row_skipped", code="WR-3006")
        self.expect_published(2)

    def test_over_a_unix_socket(self) -> None:
        self.expect_a_named_state(self.database.dsn)

    def test_over_tcp(self) -> None:
        self.expect_a_named_state(self.database.postgres.dsn(self.name, host="tcp"))


if __name__ == "__main__":
    main()
