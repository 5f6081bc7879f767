#!/usr/bin/python3
"""A transaction that Postgres cannot send: it is named, and an operator can continue without it."""

from walrelay_test.gap_case import HELD, NONE_HELD, GapCase
from walrelay_test.once_case import OnceCase
from walrelay_test.pgoutput import parse_lsn
from walrelay_test.testcase import IntegrationTest, main


class UndecodableTransactionTest(GapCase):
    """A database in WIN1252 has a byte that is no character there, and so cannot be converted to UTF-8."""

    payload = "text"

    def setUp(self) -> None:
        IntegrationTest.setUp(self)
        self.relay = self.start_relay()
        self.relay.wait_ready()
        self.outbox.insert(1)
        self.settle()

    def prepare(self) -> None:
        self.database.drop()
        self.postgres.psql(f"CREATE DATABASE {self.name} ENCODING 'WIN1252' LC_COLLATE 'C' LC_CTYPE 'C' "
                           "TEMPLATE template0")
        super().prepare()

    def insert_bad(self, *numbers: int, bad: int) -> None:
        with self.database.transaction() as cursor:
            for number in numbers:
                self.outbox.insert(number, cursor=cursor)
            cursor.execute("INSERT INTO outbox VALUES (%s, %s, 'k', 'made', chr(129))", (bad, self.name))
            self.outbox.insert(bad + 1, cursor=cursor)

    def expect_stuck(self) -> str:
        """Waits until the transaction is named; returns what `walrelay resume` shows."""
        self.relay.wait_until(lambda: "committed at" in self.relay.get("/readyz?verbose")[1], 60, "WR-2402")
        page = self.relay.get("/readyz?verbose")[1]
        self.assertIn("WR-2402", page)
        self.assertIn("WIN1252", page)
        return self.resume(code=HELD)

    def test_exactly_this_transaction_is_skipped(self) -> None:
        self.insert_bad(2, bad=3)
        self.outbox.insert(5)
        shown = self.expect_stuck()
        self.assertIn("after 1 of its rows", shown)
        confirmed = self.database.confirmed(self.slot)
        self.assertIn("is accepted", self.resume("--accept-gap", code=NONE_HELD))
        self.assertEqual(self.resume(code=NONE_HELD).count("No gap is held"), 1)
        self.expect_published(1, 2, 5)
        line = self.relay.wait_for_log("transaction_skipped")
        self.assertEqual(line["code"], "WR-2402")
        self.assertGreaterEqual(parse_lsn(line["lsn"]), confirmed)
        self.relay.wait_ready()
        self.relay.kill()
        self.relay.wait_exit()
        self.relay.start()
        self.relay.wait_ready()
        self.outbox.insert(6)
        self.settle()
        self.assertEqual(list(dict.fromkeys(self.ids())), [1, 2, 5, 6])

    def test_other_transaction_needs_its_own_decision(self) -> None:
        self.insert_bad(bad=2)
        self.outbox.insert(4)
        self.insert_bad(bad=5)
        self.outbox.insert(7)
        first = self.expect_stuck()
        # The second one may be found before the command has seen that the first one is accepted.
        code, shown = self.run_resume("--accept-gap")
        self.assertIn("is accepted", shown)
        self.assertEqual(code, HELD if "has found another one since" in shown else NONE_HELD, shown)
        self.relay.wait_until(lambda: self.relay.logs("transaction_skipped"), 60, "the first one to be skipped")
        second = self.expect_stuck()
        self.assertNotEqual(first, second)
        self.resume("--accept-gap", code=NONE_HELD)
        self.expect_published(1, 4, 7)
        self.assertEqual(len(self.relay.logs("transaction_skipped")), 2)


class ExactlyOnceUndecodableTest(UndecodableTransactionTest, OnceCase):
    pass


if __name__ == "__main__":
    main()
