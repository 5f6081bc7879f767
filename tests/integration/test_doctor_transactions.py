#!/usr/bin/python3
"""`walrelay doctor` and exactly-once delivery: the transactional id, the brokers' limits, the coordinators' topic."""

from typing import Any

from walrelay_test.doctor_case import DoctorCase
from walrelay_test.kafka_acls import acl_options, allow, login
from walrelay_test.testcase import main, wait_until


class TransactionsDoctorCase(DoctorCase):
    def options(self) -> dict[str, Any]:
        return super().options() | {"pipeline.id": self.name, "pipeline.mode": "exactly_once"}


class TransactionsTest(TransactionsDoctorCase):
    def test_nothing_is_checked_with_at_least_once_delivery(self) -> None:
        self.assertEqual(self.findings("transactions.id", {"pipeline.mode": "slot"}), [])

    def test_what_is_in_order_is_reported(self) -> None:
        self.expect("transactions.library", "ok", "supports exactly-once delivery")
        self.expect("transactions.id", "ok", f"begin with walrelay.{self.name}")
        self.expect("transactions.log", "ok", "topic __transaction_state has 1 replica")
        self.expect("transactions.consumers", "ok", "isolation.level=read_committed")


class LimitedTransactionsTest(TransactionsDoctorCase):
    kafka_options = acl_options("outsider", properties={"transaction.max.timeout.ms": "20000"})

    def test_timeout_beyond_the_brokers_limit_is_a_problem(self) -> None:
        found = self.expect("transactions.id", "problem", "INVALID_TRANSACTION_TIMEOUT", "transaction.max.timeout.ms")
        self.assertEqual(found["code"], "WR-4010")
        self.expect("transactions.timeout", "problem", "the brokers accept at most 20 s")
        self.expect("transactions.id", "ok", "", options={"kafka.transaction_timeout": "20s"})

    def test_denied_id_is_a_warning_with_the_grant(self) -> None:
        allow(self.kafka.bootstrap, "outsider", "write", "outbox.", "prefixed")  # for a producer id
        options = login(self.kafka, "outsider") | {"kafka.transaction_timeout": "10s"}
        self.expect("transactions.id", "warning", f"unless walrelay.{self.name} is granted by its full name",
                    f"--transactional-id walrelay.{self.name} --resource-pattern-type prefixed", options)
        for operation in ("describe", "write"):
            allow(self.kafka.bootstrap, "outsider", operation, f"walrelay.{self.name}", "prefixed", "transactional_id")
        wait_until(lambda: self.findings("transactions.id", options)[0]["severity"] == "ok", 60, "the ACL")


if __name__ == "__main__":
    main()
