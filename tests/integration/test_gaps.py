#!/usr/bin/python3
"""When the slot may have skipped events, the relay reports a gap, publishes nothing and waits for an operator."""

import os
import re
import subprocess
import unittest
from pathlib import Path
from typing import Any

from walrelay_test.gap_case import HELD, NO_ANSWER, NONE_HELD, GapCase
from walrelay_test.pgoutput import parse_lsn
from walrelay_test.tcp_proxy import TcpProxy
from walrelay_test.testcase import for_each_major, main


# Listens under a relay's name until standard input ends. Without an answer it never accepts a connection.
_SQUATTER = """
import socket, sys, threading
name, answer = sys.argv[1:]
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind("\\0" + name)
listener.listen(8)
def serve():
    while True:
        client, _ = listener.accept()
        client.recv(1000)
        client.send(answer.encode())
if answer:
    threading.Thread(target=serve, daemon=True).start()
print("listening", flush=True)
sys.stdin.read()
"""


class SlotGapTest(GapCase):
    def advance_slot(self) -> None:
        self.free_slot()
        self.outbox.insert(2)
        self.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", self.slot)
        self.relay.resume()

    def test_nothing_is_published_or_confirmed_until_the_gap_is_accepted(self) -> None:
        self.advance_slot()
        gap = self.expect_held("WR-2106")
        confirmed = self.database.confirmed(self.slot)
        self.assertEqual(parse_lsn(gap["to_lsn"]), confirmed)
        self.outbox.insert(3)
        shown = self.resume(code=HELD)
        for part in ("WR-2106", gap["id"], f"{gap['from_lsn']} to {gap['to_lsn']}", "--accept-gap"):
            self.assertIn(part, shown)
        polls = self.polls()
        self.relay.wait_until(lambda: self.polls() > polls, 60, "another poll")
        self.assertEqual(self.database.confirmed(self.slot), confirmed)
        self.assertIsNone(self.database.slot(self.slot, "active_pid"))
        self.assertEqual(self.ids(), [1])
        self.assertIn("is accepted", self.resume("--accept-gap", code=NONE_HELD))
        self.expect_streaming()
        self.expect_published(1, 3)
        self.assertEqual(self.relay.wait_for_log("gap_accepted")["gap"], gap["id"])
        self.assertIn("No gap is held", self.resume(code=NONE_HELD))
        self.assertIn("No gap is held", self.resume("--accept-gap", code=NONE_HELD))

    def polls(self) -> int:
        """Number of polls of the source since the gap is held."""
        return self.gap()["checks"]

    def test_only_the_held_gap_can_be_accepted_by_id(self) -> None:
        self.advance_slot()
        gap = self.expect_held("WR-2106")
        self.assertIn(gap["id"], self.resume("--accept-gap", "2106-00000000", code=HELD))
        self.assertIn("is accepted", self.resume("--accept-gap", gap["id"], code=NONE_HELD))
        self.expect_streaming()

    def test_accepted_slot_loss_waits_for_a_new_slot(self) -> None:
        self.free_slot()
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        self.relay.resume()
        self.expect_held("WR-2107")
        printed = self.resume("--accept-gap", code=NONE_HELD)
        self.assertIn("is accepted", printed)
        self.relay.wait_until(lambda: "WR-2101" in self.relay.get("/readyz")[1], 60, "the relay to wait for a slot")
        self.assertIsNone(self.database.slot(self.slot, "slot_name"))
        self.outbox.insert(2)
        self.database.create_slot(self.slot)
        self.outbox.insert(3)
        self.expect_published(1, 3)

    def test_recreated_slot_is_another_gap(self) -> None:
        self.free_slot()
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        self.relay.resume()
        gone = self.expect_held("WR-2107")
        self.outbox.insert(2)
        self.database.create_slot(self.slot)
        self.assertIn("another one", self.resume("--accept-gap", gone["id"], code=HELD))
        moved = self.expect_held("WR-2106")
        self.assertEqual(moved["from_lsn"], gone["from_lsn"])
        self.resume("--accept-gap", moved["id"], code=NONE_HELD)
        self.outbox.insert(3)
        self.expect_published(1, 3)

    def test_relay_stops_immediately_while_a_gap_is_held(self) -> None:
        self.advance_slot()
        self.expect_held("WR-2106")
        self.assertEqual(self.relay.stop(seconds=20), 0)  # less than drain_timeout

    @unittest.skipIf(os.geteuid() != 0, "only root can start a process of another user")
    def test_process_of_another_user_neither_answers_nor_stops_an_acceptance(self) -> None:
        self.advance_slot()
        gap = self.expect_held("WR-2106")
        names = re.findall(f"@(walrelay/{self.slot}/[0-9a-f]+)/", Path("/proc/net/unix").read_text())
        # One that never accepts a connection, and one that claims that there is no gap.
        for number, answer in enumerate(("", "none - 0\nAll events were published.")):
            other = subprocess.Popen(["/usr/bin/python3", "-c", _SQUATTER, f"{names[0]}/0000000{number}", answer], cwd="/",
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=65534, group=65534,
                                     extra_groups=[])
            self.addCleanup(other.communicate)
            self.addCleanup(other.kill)
            self.assertEqual(other.stdout.readline(), "listening\n")
        printed = self.resume("--accept-gap", gap["id"], code=NONE_HELD)
        self.assertIn(f"Gap {gap['id']} is accepted", printed)
        self.assertIn("of user 65534 is not asked", printed)
        self.assertNotIn("All events were published", printed)
        self.outbox.insert(3)
        self.expect_published(1, 3)

    def test_request_of_another_user_is_rejected(self) -> None:
        self.advance_slot()
        gap = self.expect_held("WR-2106")
        printed = self.resume("--accept-gap", gap["id"], code=NO_ANSWER, user=65534, group=65534, extra_groups=[])
        self.assertNotIn(gap["id"], printed)
        self.relay.wait_for_log("control_refused", uid=65534)
        self.expect_held("WR-2106")



@for_each_major(GapCase)
class StartingStreamTest:
    """The slot is moved after the relay has read it, and before START_REPLICATION acquires it."""

    def setUp(self) -> None:
        self.moves = False
        self.link = self.enterContext(TcpProxy(self.postgres.port, tap=lambda: self))
        super().setUp()

    def relay_options(self) -> dict[str, Any]:
        return {"source.dsn": f"host=127.0.0.1 port={self.link.port} user=postgres dbname={self.name}"}

    def to_server(self, data: bytes) -> bytes:
        if self.moves and b"START_REPLICATION" in data:
            self.moves = False
            self.outbox.insert(2)
            self.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", self.slot)
        return data

    def to_client(self, data: bytes) -> bytes:
        return data

    def test_it_is_a_gap(self) -> None:
        self.moves = True
        self.link.cut()
        gap = self.expect_held("WR-2106")
        self.assertEqual(parse_lsn(gap["to_lsn"]), self.database.confirmed(self.slot))
        self.resume("--accept-gap", code=NONE_HELD)
        self.outbox.insert(3)
        self.expect_published(1, 3)


class CreateSlotTest(GapCase):
    def relay_options(self) -> dict[str, Any]:
        return {"source.create_slot": True}

    def test_slot_that_was_read_is_not_recreated(self) -> None:
        self.free_slot()
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        self.relay.resume()
        self.expect_held("WR-2107")
        self.resume("--accept-gap", code=NONE_HELD)
        self.relay.wait_until(lambda: "WR-2101" in self.relay.get("/readyz")[1], 60, "the relay to wait for a slot")
        self.assertIsNone(self.database.slot(self.slot, "slot_name"))


if __name__ == "__main__":
    main()
