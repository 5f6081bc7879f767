#!/usr/bin/python3
"""/metrics of a real relay, as Prometheus reads it and as docs/reference/metrics.md describes it."""

import json
import re
import socket
import subprocess
import time
from typing import Any

from walrelay_dev.paths import REPOSITORY
from walrelay_test.testcase import NO_BROKER, IntegrationTest, RelayProcess, main

REFERENCE = (REPOSITORY / "docs" / "reference" / "metrics.md").read_text()
CATALOGUE = set(re.findall(r"^\| `(\w+)` \|", REFERENCE, re.MULTILINE))
# Exported only by the relay that reads the slot.
OF_THE_LEADER = {"walrelay_end_to_end_latency_seconds", "walrelay_stage_latency_seconds",
                 "walrelay_oldest_unpublished_age_seconds", "walrelay_inflight_records",
                 "walrelay_inflight_bytes", "walrelay_inflight_transactions",
                 "walrelay_replication_received_lsn", "walrelay_events_received_total",
                 "walrelay_progress_recorded_lsn"}
# Exported only after a failure, after a skipped row, or near a limit.
OF_TROUBLE = {"walrelay_internal_errors_total", "walrelay_slot_safe_wal_bytes", "walrelay_slot_seconds_to_loss",
              "walrelay_slot_retained_wal_budget_bytes",
              "walrelay_slot_seconds_until_caught_up",
              "walrelay_replication_disconnects_total", "walrelay_events_skipped_total",
              "walrelay_dead_letters_total", "walrelay_route_errors_total",
              "walrelay_produce_errors_total", "walrelay_produce_backpressure_seconds_total",
              "walrelay_source_wal_bytes_per_second", "walrelay_kafka_partition_count_changes_total",
              "walrelay_kafka_topics_created_total", "walrelay_kafka_transactions_failed_total",
              "walrelay_replication_silent_seconds", "walrelay_slot_copy_ready", "walrelay_table_unsent_rows",
              "walrelay_kafka_clients_stalled_total", "walrelay_progress_skipped_wal_bytes_total",
              "walrelay_visibility_queries_total", "walrelay_visibility_wait_seconds_total"}


# Exported only with exactly-once delivery.
OF_TRANSACTIONS = {"walrelay_kafka_transactions_committed_total", "walrelay_kafka_transaction_age_seconds",
                   "walrelay_kafka_transaction_commit_seconds"}
# Exported only with [prune].
OF_PRUNING = {"walrelay_pruned_rows_total", "walrelay_prune_unproven_rows",
              "walrelay_prune_last_pass_timestamp_seconds", "walrelay_prune_errors_total",
              "walrelay_prune_partition_problems"}
# Exported from the start of the process: alerts rest on them.
OF_ALERTS = {"walrelay_ready", "walrelay_leader", "walrelay_gap_held", "walrelay_isolated",
             "walrelay_replication_connected", "walrelay_oldest_unpublished_age_seconds",
             "walrelay_slot_sample_errors_total"}


class MetricsCase(IntegrationTest):
    def options(self) -> dict[str, Any]:
        return super().options() | {"pipeline.progress": "auto", "metrics.table_count_interval": "200ms"}

    def shown(self, relay: RelayProcess) -> set[str]:
        """The metrics that have at least one series."""
        page = relay.get("/metrics")[1]
        return set(re.findall(r"^(walrelay_\w+?)(?:_bucket|_sum|_count)?\{", page, re.MULTILINE))

    def publish_rows(self) -> RelayProcess:
        relay = self.start_relay()
        relay.wait_ready()
        self.outbox.insert(1, 2, 3)
        self.settle()
        relay.wait_until(lambda: relay.metric("walrelay_events_published_total") == 3 and
                         relay.metric("walrelay_slot_active") == 1, 60, "the rows to be counted")
        return relay


class MetricsTest(MetricsCase):
    def test_promtool_accepts_the_page(self) -> None:
        page = self.publish_rows().get("/metrics")[1]
        lint = subprocess.run(["promtool", "check", "metrics"], input=page, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((lint.returncode, lint.stdout), (0, ""))

    def test_healthy_relay_exports_every_metric_except_those_of_failures(self) -> None:
        relay = self.publish_rows()
        self.sql("ANALYZE outbox")  # the width of the rows
        relay.wait_until(lambda: not CATALOGUE - OF_TROUBLE - OF_TRANSACTIONS - OF_PRUNING - self.shown(relay), 60,
                         "every metric of the catalogue")
        self.assertLessEqual(self.shown(relay), CATALOGUE - OF_TRANSACTIONS)

    def test_transactions_are_counted_and_shown(self) -> None:
        relay = self.publish_rows()
        self.settle()
        self.assertEqual(relay.stop(), 0)
        relay = self.start_relay({"pipeline.mode": "exactly_once"})
        relay.wait_ready()
        self.outbox.insert(4)
        relay.wait_until(lambda: relay.metric("walrelay_events_published_total") == 1 and
                         self.shown(relay) >= OF_TRANSACTIONS, 60, "a committed transaction")
        self.assertGreaterEqual(relay.metric("walrelay_kafka_transactions_committed_total"), 1)
        self.settle()
        relay.wait_until(lambda: json.loads(relay.get("/status.json")[1])["transactions"]["state"] == "idle", 60,
                         "no transaction")
        self.assertIn("Mode exactly_once: exactly once for consumers that read committed records; no transaction is open", relay.get("/status")[1])

    def test_every_series_names_source_and_slot(self) -> None:
        page = self.publish_rows().get("/metrics")[1]
        series = re.findall(r"^walrelay_\w+\{(.*)\} ", page, re.MULTILINE)
        self.assertTrue(series)
        for labels in series:
            self.assertIn(f'slot="{self.slot}"', labels)
            self.assertRegex(labels, r'source="[^"/]+/[^"/]+"')

    def test_series_of_alerts_exist_before_the_first_connection(self) -> None:
        # It accepts the connection and never answers: the first attempt takes seconds.
        with socket.create_server(("127.0.0.1", 0)) as silent:
            relay = self.start_relay({
                "source.dsn": f"host=127.0.0.1 port={silent.getsockname()[1]} user=u dbname=d",
                "source.name": "orders-db"})
            identity = {"source": "orders-db", "slot": self.slot}
            relay.wait_until(lambda: OF_ALERTS <= self.shown(relay), 60, "the series of alerts")
            self.assertEqual(relay.metric("walrelay_state", state="starting", **identity), 1)
            for name in OF_ALERTS:
                self.assertEqual(relay.metric(name, **identity), 0, name)

    def test_metrics_of_the_holder_are_absent_on_a_standby(self) -> None:
        leader = self.publish_rows()
        standby = self.start_relay()
        standby.wait_for_state("standby")
        standby.wait_until(lambda: standby.metric("walrelay_slot_lag_bytes") is not None, 60,
                           "a slot sample")
        self.assertLessEqual(OF_THE_LEADER, self.shown(leader))
        self.assertFalse(OF_THE_LEADER & self.shown(standby))
        self.assertEqual([each.metric("walrelay_leader") for each in (leader, standby)], [1, 0])

    def test_latency_of_every_stage_is_measured(self) -> None:
        relay = self.publish_rows()
        self.assertEqual([relay.metric("walrelay_stage_latency_seconds_count", stage=stage)
                          for stage in ("postgres", "relay", "kafka")], [1, 1, 3])
        self.assertGreater(relay.metric("walrelay_stage_latency_seconds_sum", stage="kafka"), 0)

    def test_age_of_the_oldest_unpublished_event_grows_while_kafka_is_unreachable(self) -> None:
        relay = self.start_relay(NO_BROKER)
        self.outbox.insert(1)
        committed = time.monotonic()
        relay.wait_until(lambda: (relay.metric("walrelay_oldest_unpublished_age_seconds") or 0) > 2,
                         60, "the age to grow")
        self.assertGreater(time.monotonic() - committed, 1.5)


class PostgresDownTest(MetricsCase):
    postgres_options = {}

    def test_age_of_the_oldest_unpublished_event_grows_while_postgres_is_down(self) -> None:
        relay = self.publish_rows()
        relay.wait_until(lambda: relay.metric("walrelay_oldest_unpublished_age_seconds") == 0, 60,
                         "everything to be acknowledged")
        self.postgres.stop()
        relay.wait_until(
            lambda: (relay.metric("walrelay_oldest_unpublished_age_seconds") or 0) > 2, 60, "the age to grow")
        self.assertEqual(relay.metric("walrelay_leader"), 0)


if __name__ == "__main__":
    main()
