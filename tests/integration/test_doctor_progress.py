#!/usr/bin/python3
"""`walrelay doctor` and durable progress: the topic, its record, and the user's rights."""

import re
from typing import Any

from walrelay_test.doctor_case import DoctorCase
from walrelay_test.kafka_acls import acl_options, allow, login
from walrelay_test.testcase import main, wait_until


def added_by(command: str, topic: str) -> dict[str, str | int | None]:
    """The settings that a printed command gives to the topic: the scripts of Kafka are not installed."""
    found = re.fullmatch(r"kafka-configs\.sh --bootstrap-server BROKER --alter --topic (\S+) --add-config (\S+)", command)
    assert found is not None and found.group(1) == topic, command
    return dict(each.split("=") for each in found.group(2).split(","))


class ProgressDoctorCase(DoctorCase):
    def options(self) -> dict[str, Any]:
        return super().options() | {"pipeline.progress": "required", "pipeline.id": self.name}

    @property
    def progress_topic(self) -> str:
        return f"walrelay.progress.{self.name}"

    def expect_code(self, check: str, code: str, text: str, remedy: str = "",
                    options: dict[str, Any] | None = None) -> None:
        self.assertEqual(self.expect(check, "problem", text, remedy, options)["code"], code)


class ProgressTest(ProgressDoctorCase):
    def test_nothing_is_checked_while_progress_is_off(self) -> None:
        options = {"pipeline.progress": "off"}
        self.assertEqual(self.findings("progress.topic", options) + self.findings("progress.record", options), [])

    def test_missing_topic_is_not_created(self) -> None:
        self.expect("progress.topic", "ok", f"topic {self.progress_topic} does not exist; walrelay creates it")
        self.assertNotIn(self.progress_topic, self.kafka.topics())

    def test_topic_that_could_lose_the_record_is_a_problem(self) -> None:
        wide, fading = f"{self.name}-wide", f"{self.name}-fading"
        self.kafka.create_topic(wide, partitions=3, config={"cleanup.policy": "compact"})
        self.kafka.create_topic(fading, config={"cleanup.policy": "compact,delete"})
        self.expect_code("progress.topic", "WR-4015", "3 partitions; expected 1", "kafka.progress_topic",
                         {"kafka.progress_topic": wide})
        self.expect_code("progress.topic", "WR-4015", "cleanup.policy", "cleanup.policy=compact",
                         {"kafka.progress_topic": fading})

    def settings_findings(self, topic: str) -> list[dict[str, str]]:
        return [each for each in self.findings("progress.topic", {"kafka.progress_topic": topic})
                if "--add-config segment.ms=" in each.get("remedy", "")]

    def test_settings_of_an_existing_topic_are_altered_by_the_printed_command(self) -> None:
        topic = f"{self.name}-defaults"
        self.kafka.create_topic(topic, config={"cleanup.policy": "compact"})
        finding, = self.settings_findings(topic)
        self.assertEqual(finding["severity"], "warning")
        for name in ("segment.ms", "min.compaction.lag.ms", "max.compaction.lag.ms", "delete.retention.ms"):
            self.assertIn(f"{name} = ", finding["text"])
        self.kafka.alter_topic_config(topic, added_by(finding["remedy"], topic))
        self.assertEqual(self.settings_findings(topic), [])

    def test_topic_of_the_relay_is_suitable(self) -> None:
        relay = self.start_relay({"pipeline.progress": "auto"})
        relay.wait_ready()
        self.assertEqual(relay.logs("topic_settings_refused"), [])
        self.assertEqual(self.settings_findings(self.progress_topic), [])
        self.assertEqual(self.kafka.topic_config(self.progress_topic)["delete.retention.ms"], "60000")

    def test_used_slot_without_a_record_is_a_problem(self) -> None:
        self.expect_code("progress.record", "WR-4018", f"slot {self.slot} is confirmed up to", "walrelay progress init")
        self.expect("progress.record", "ok", "there is no record yet", options={"pipeline.progress": "auto"})

    def test_record_is_compared_with_the_slot(self) -> None:
        relay = self.start_relay({"pipeline.progress": "auto"})
        relay.wait_ready()
        self.outbox.insert(1)
        self.settle()
        self.expect("progress.record", "ok", "the record is up to")  # while the relay runs
        self.assertEqual(relay.stop(), 0)
        self.expect("progress.topic", "ok", f"topic {self.progress_topic} can be read")
        self.expect("progress.record", "ok", "the record is up to")
        before = self.kafka.consume(self.progress_topic)
        self.outbox.insert(2)
        self.sql("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", self.slot)
        self.expect_code("progress.record", "WR-2106", "when walrelay last used it", "walrelay resume --accept-gap")
        self.expect_code("progress.record", "WR-2205", f'it is the record of pipeline "{self.name}"', "pipeline.id",
                         {"pipeline.id": "other", "kafka.progress_topic": self.progress_topic})
        self.assertEqual(self.kafka.consume(self.progress_topic), before)


class LimitedUserProgressTest(ProgressDoctorCase):
    kafka_options = acl_options("outsider", "reader")

    def test_missing_rights_are_a_problem_only_if_progress_is_required(self) -> None:
        options = login(self.kafka, "outsider")
        self.expect_code("progress.topic", "WR-4016", self.progress_topic, "--operation Create", options)
        self.expect("progress.topic", "warning", "would start without the record", "--operation Create",
                    options | {"pipeline.progress": "auto"})

    def test_record_that_cannot_be_read_is_a_problem(self) -> None:
        relay = self.start_relay({"pipeline.progress": "auto"})
        relay.wait_ready()
        self.settle()
        self.assertEqual(relay.stop(), 0)
        allow(self.kafka.bootstrap, "reader", "describe", self.progress_topic)
        options = login(self.kafka, "reader")
        wait_until(lambda: any("cleanup.policy is unknown" in each["text"]
                               for each in self.findings("progress.topic", options)), 60, "the ACL")
        self.expect_code("progress.topic", "WR-4016", self.progress_topic, "--operation Read", options)


if __name__ == "__main__":
    main()
