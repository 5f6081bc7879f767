#!/usr/bin/python3
"""Drills: docs/runbooks/gap.md after another server has taken the place of the one with the slot."""

import re
import shutil
import subprocess
from datetime import datetime, timedelta, timezone

from walrelay_dev.paths import REPOSITORY
from walrelay_dev.postgres_binaries import bin_folder
from walrelay_test.other_server import OtherServer
from walrelay_test.runbook import RunbookCase
from walrelay_test.testcase import main

HELD = 3  # exit code of `walrelay resume`


def how_to_begin(row: str) -> list[str]:
    """The commands of a row of the page's table, by how the row begins."""
    page = (REPOSITORY / "docs/runbooks/gap.md").read_text()
    line = next(line for line in page.splitlines() if line.strip().startswith(f"| {row}"))
    return re.findall(r"`(walrelay [^`]*)`", line.split("|")[2])


class OtherServerDrill(OtherServer, RunbookCase):
    postgres_options = {}

    def setUp(self) -> None:
        super().setUp()
        self.sql("ALTER TABLE outbox ADD created_at timestamptz DEFAULT now()")  # as `setup --create-table` makes it

    def expect_recovered(self, code: str, row: str, *ids: int) -> None:
        """The relay holds the gap, the page leads to its end, and these events are in the topics, each once."""
        relay = self.relays[-1]
        relay.start()
        self.expect_held(relay, code)
        show, recover, _ = self.blocks("gap")
        self.assertIn(code, self.type(show, code=HELD))
        # A time well before the state that the server has.
        since = (datetime.now(timezone.utc) - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        begin = how_to_begin(row)[0].replace("TIME", since)
        self.type(recover, flags=begin.removeprefix("walrelay recover").strip())
        relay.wait_ready()
        self.outbox.insert(max(ids) + 1)
        self.settle()
        self.assertEqual(sorted(self.ids()), [*sorted(ids), max(ids) + 1])

    def test_failover_to_a_standby_without_the_slot(self) -> None:
        copy = self.prepare_copy()
        self.start_without_horizons()
        self.outbox.insert(2)
        self.settle()
        self.relay.kill()
        self.outbox.insert(3)
        self.recover_to(copy, self.log_end_text())
        self.outbox.insert(4)
        self.expect_recovered("WR-2107", "WR-2103, WR-2105, WR-2106, WR-2107", 1, 2, 3, 4)

    def test_upgrade_without_the_slot(self) -> None:
        upgrade = bin_folder(self.postgres.major) / "pg_upgrade"
        self.start_with_proof(1)
        self.outbox.insert(2)
        self.settle()
        self.assertEqual(self.relays[-1].stop(), 0)
        self.outbox.insert(3)
        self.drop_slot()
        self.upgrade(upgrade)
        self.outbox.insert(4)
        self.expect_recovered("WR-2201", "WR-2201 after `pg_upgrade` without the slot", 1, 2, 3, 4)

    def restore(self) -> None:
        """The server returns as a copy of its disk, which lacks a row that was published since."""
        copy = self.prepare_copy()
        relay = self.relays[-1]
        relay.start()
        relay.wait_ready()
        self.outbox.insert(2)
        self.settle()
        self.assertEqual(relay.stop(), 0)
        self.database.close()
        self.postgres.stop()
        shutil.rmtree(self.postgres.data)
        copy.rename(self.postgres.data)
        self.postgres.start()
        self.assertEqual(self.sql("SELECT id::int FROM outbox ORDER BY 1"), [(1,)])

    def test_restore_of_a_copy_of_the_disk(self) -> None:
        self.restore()
        # Row 2 is in Kafka, and not in the database any more.
        self.expect_recovered("WR-2202", "WR-2202 restored", 1, 2)

    def test_restore_of_a_copy_of_the_disk_that_has_grown_since(self) -> None:
        self.restore()
        self.outbox.insert(3)
        self.expect_recovered("WR-2204", "WR-2204 restored, and grown since", 1, 2, 3)


if __name__ == "__main__":
    main()
