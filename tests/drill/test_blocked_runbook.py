#!/usr/bin/python3
"""Drill: docs/runbooks/blocked.md, a row that cannot be published."""

import re

from walrelay_dev.paths import REPOSITORY
from walrelay_dev.ports import free_ports
from walrelay_test.runbook import RunbookCase, check_all_typed
from walrelay_test.testcase import main


def tearDownModule() -> None:  # noqa: N802
    check_all_typed()


class PoisonRowTest(RunbookCase):
    def test_exactly_one_row_is_released(self) -> None:
        (port,) = free_ports(1)
        relay = self.start_streaming({"http.listen": f"127.0.0.1:{port}"})  # where `walrelay status` asks
        self.outbox.insert(1)
        self.outbox.insert(2, key=None)
        self.outbox.insert(3)
        relay.wait_for_state("blocked")
        look, _ = self.blocks("blocked")
        shown = self.type(look)
        for part in ("WR-3004", "id=2", "the row has no aggregate id"):
            self.assertIn(part, shown)

        # It does not help to repair the row, as the page says: the next process meets it as it was inserted.
        self.sql("UPDATE outbox SET aggregate_id = 'k' WHERE id = 2")
        self.systemctl("restart")
        relay.wait_for_state("blocked")

        before = relay.config.read_text()
        letters = f"{self.name}-dead-letters"
        relay.config.write_text(f"{before}\n{self.policy().replace('outbox.dead-letters', letters)}")
        self.systemctl("restart")
        self.expect_published(1, 3)

        relay.config.write_text(before)  # the policy is removed: the next such row blocks
        self.systemctl("restart")
        relay.wait_ready()
        self.outbox.insert(4, key=None)
        relay.wait_for_state("blocked")
        self.assertEqual(relay.stop(), 0)

        # The row was repaired in the table: it is published from there.
        relay.config.write_text(f"{before}\n{self.policy().replace('outbox.dead-letters', letters)}")
        self.systemctl("start")
        relay.wait_ready()
        self.walrelay("dead-letters", "retry", "--code", "WR-3004", code=3)  # row 4 still has no key
        self.expect_published(1, 3, 2)

    @staticmethod
    def policy() -> str:
        """The [on_error] of the page."""
        page = (REPOSITORY / "docs/runbooks/blocked.md").read_text()
        return re.search(r"```toml\n(\[on_error\].*?)```", page, re.DOTALL)[1]


if __name__ == "__main__":
    main()
