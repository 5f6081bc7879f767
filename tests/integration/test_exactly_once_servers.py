#!/usr/bin/python3
"""Exactly-once delivery when Postgres loses something: a crash, a promotion, a restored copy."""

from typing import Any

import test_progress
import test_promotion
from walrelay_test.once_case import OnceCase
from walrelay_test.relay_process import RelayProcess
from walrelay_test.testcase import main


class OnceRestoreTest(OnceCase, test_progress.RestoreTest):
    """The tests of restored servers, with transactions."""


class OnceServerCrashTest(OnceCase, test_progress.ServerCrashTest):
    """The tests of servers that lose the slot's last position, with transactions."""


class OncePromotionTest(OnceCase, test_promotion.PromotionCase):
    """The recorded position is beyond the fork."""

    def publish(self, *tables: str) -> None:
        test_promotion.PromotionCase.publish(self, *tables)  # the copy of the server has the slot, too

    def options(self) -> dict[str, Any]:
        return super().options() | {"source.create_slot": False, "pipeline.progress": "required"}

    def start_relay(self, options: dict[str, Any] | None = None, **process: Any) -> RelayProcess:
        relay = self.new_relay(options, **process)
        self.walrelay("progress", "init")
        return relay.start()

    def expect_followed(self, relay: RelayProcess) -> None:
        # Asynchronous replication lost rows 4 to 6; their records stay in Kafka.
        self.expect_once(1, 2, 3, 4, 5, 6, 7)
        self.assertEqual(relay.stop(), 0)
        self.outbox.insert(8)
        relay.start()
        self.expect_once(1, 2, 3, 4, 5, 6, 7, 8)

    def test_slot_is_followed_by_a_relay_that_runs(self) -> None:
        relay, third = self.relay_of_six_events()
        self.promote(third)
        self.link.accept()
        self.outbox.insert(7)
        relay.wait_for_log("timeline_switched")
        self.expect_followed(relay)

    def test_slot_is_followed_after_a_kill(self) -> None:
        relay, third = self.relay_of_six_events()
        relay.kill()
        self.promote(third)
        self.link.accept()
        self.outbox.insert(7)
        relay.start()
        relay.wait_for_log("timeline_switched")
        self.expect_followed(relay)


if __name__ == "__main__":
    main()
