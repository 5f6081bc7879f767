#!/usr/bin/python3
"""Rolled-back bulk loads of any table, on every major. Postgres 18 sends stream aborts without being asked."""

from walrelay_test.testcase import IntegrationTest, RelayProcess, for_each_major, main

_WIDTH = 20  # number of consecutive savepoints


def bulk_load(end: str, depth: int) -> str:
    """Subtransactions of 5 rows each, nested `depth` deep, then enough rows to exceed 64 kB."""
    nested = "".join(f"SAVEPOINT s{level}; INSERT INTO elsewhere SELECT repeat('x', 200) "
                     "FROM generate_series(1, 5); " for level in range(depth))
    released = "".join(f"RELEASE s{level}; " for level in reversed(range(depth)))
    return (f"BEGIN; {(nested + released) * _WIDTH} INSERT INTO elsewhere SELECT repeat('x', 200) "
            f"FROM generate_series(1, 3000); {end};")


# A rolled-back savepoint with nested subtransactions, in a transaction that commits.
_SAVEPOINT = """
BEGIN; {before}
SAVEPOINT a; SAVEPOINT b;
INSERT INTO elsewhere SELECT repeat('x', 200) FROM generate_series(1, 50);
RELEASE b;
INSERT INTO elsewhere SELECT repeat('x', 200) FROM generate_series(1, 3000);
ROLLBACK TO a; {after} COMMIT;
"""


@for_each_major(IntegrationTest)
class StreamAbortTest:
    """Messages of rolled-back transactions in the stream do not disturb the relay."""

    def prepare(self) -> None:
        super().prepare()
        self.sql("CREATE TABLE elsewhere (v text)")  # not published

    def test_rolled_back_bulk_loads_do_not_block_the_relay(self) -> None:
        relay = self.start_relay()
        self.outbox.insert(1)
        self.settle()
        self.assertEqual(relay.stop(), 0)
        expected = [1]
        for depth in (1, 2, 5, 20):
            self.load(bulk_load("ROLLBACK", depth))
            self.outbox.insert(expected[-1] + 1)
            self.load(bulk_load("COMMIT", depth))
            self.load(bulk_load("PREPARE TRANSACTION 'p'", depth) + "ROLLBACK PREPARED 'p'")
            self.outbox.insert(expected[-1] + 2)
            expected += [expected[-1] + 1, expected[-1] + 2]
            insert = "INSERT INTO outbox VALUES ({}, '" + self.name + "', 'k', 'made', '{{}}');"
            self.load(_SAVEPOINT.format(before=insert.format(expected[-1] + 1),
                                        after=insert.format(expected[-1] + 2)))
            expected += [expected[-1] + 1, expected[-1] + 2]
        sends_aborts = self.postgres.major >= 18
        self.assertEqual("A" in self.kinds_of_messages(), sends_aborts)
        relay.start()
        self.expect_published(*expected)
        self.expect_spilled(relay)
        aborts = relay.metric("walrelay_replication_messages_total", type="stream_abort")
        self.assertEqual(bool(aborts), sends_aborts, aborts)
        self.assertEqual(relay.logs("disconnected"), [])

    def expect_spilled(self, relay: RelayProcess) -> None:
        """Checks that source.decoding_memory is effective: with the server's 64 MB nothing would be spilled."""
        if self.postgres.major >= 14:
            spilled = "SELECT spill_txns FROM pg_stat_replication_slots WHERE slot_name = %s"
            relay.wait_until(lambda: self.database.value(spilled, self.slot) > 0, 60, "spilled transactions")

    def options(self) -> dict:
        return super().options() | {"source.decoding_memory": "64KiB"}

    def load(self, sql: str) -> None:
        self.postgres.psql(sql, dbname=self.name)

    def kinds_of_messages(self) -> str:
        """The message types that the slot would send now."""
        rows = self.sql("SET logical_decoding_work_mem = '64kB'; SELECT pg_catalog.get_byte(data, 0) FROM "
                        "pg_logical_slot_peek_binary_changes(%s, NULL, NULL, 'proto_version', '1', "
                        "'publication_names', 'walrelay')", self.slot)
        return "".join(chr(kind) for (kind,) in rows)


if __name__ == "__main__":
    main()
