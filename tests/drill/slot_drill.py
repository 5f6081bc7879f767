#!/usr/bin/python3
"""A drill: Kafka stops, and retained WAL grows to max_slot_wal_keep_size until Postgres invalidates the slot.

    scripts/dev drill --limit 1024 --rate 0.7

Uses real servers and a real Prometheus with the rules of packaging/. Every surface is polled once a second.
Prints in Markdown when each surface first reported each state, and compares the forecast time until
invalidation with the actual time.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from walrelay_dev import cli
from walrelay_dev.paths import REPOSITORY
from walrelay_dev.patience import patient
from walrelay_dev.ports import free_ports
from walrelay_dev.process import wait_until
from walrelay_test.database import Database
from walrelay_test.outbox import Outbox
from walrelay_test.relay_config import relay_environment, relay_program
from walrelay_test.relay_process import RelayProcess
from walrelay_test.servers import new_kafka, new_postgres, require_servers, test_folder

SLOT = "walrelay"
_PARTS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.97)  # of the time until invalidation
_DOCTOR_EVERY = 30.0
_AFTERWARDS = 150.0  # the alert for a missing relay fires after two minutes


class Prometheus:
    """A Prometheus server with walrelay's rules that scrapes the relay every second."""

    def __init__(self, folder: Path, target: str) -> None:
        folder.mkdir()
        (port,) = free_ports(1)
        self._address = f"127.0.0.1:{port}"
        config = folder / "prometheus.yml"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(REPOSITORY / "packaging/prometheus/walrelay.rules.yml")],
            "scrape_configs": [{"job_name": "walrelay", "static_configs": [{"targets": [target]}]}]}))
        with open(folder / "log", "wb") as log:
            self._child = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "prometheus", f"--config.file={config}",
                 f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={self._address}"],
                stdout=log, stderr=log)

    def __enter__(self) -> "Prometheus":
        wait_until(lambda: self._ask("/-/ready") is not None, 60, "Prometheus to be ready")
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.wait()

    def firing(self) -> set[str]:
        alerts = json.loads(self._ask("/api/v1/alerts") or '{"data": {"alerts": []}}')["data"]["alerts"]
        return {each["labels"]["alertname"] for each in alerts if each["state"] == "firing"}

    def _ask(self, path: str) -> bytes | None:
        try:
            with urllib.request.urlopen(f"http://{self._address}{path}", timeout=10) as answer:
                return answer.read()
        except OSError:
            return None


class Writers(threading.Thread):
    """Writes events, and WAL of a table that is not published (`rate` MiB per second), until end() is called."""

    def __init__(self, database: Database, outbox: Outbox, rate: float) -> None:
        super().__init__(daemon=True)
        database.execute("CREATE TABLE other (filler text)")
        database.execute("ALTER TABLE other ALTER filler SET STORAGE EXTERNAL")
        self._database = database
        self._outbox = outbox
        self._bytes = int(rate * (1 << 20) / 4)
        self._ended = threading.Event()
        self.events = 0

    def run(self) -> None:
        while not self._ended.wait(0.25):
            self.events += 1
            self._outbox.insert(self.events)
            self._database.execute("INSERT INTO other SELECT repeat('x', %s); TRUNCATE other", self._bytes)

    def end(self) -> None:
        self._ended.set()
        self.join()


class Timeline:
    """The changes of what each surface reports."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.entries: list[tuple[float, str, str]] = []
        self._last: dict[str, str] = {}

    @property
    def now(self) -> float:
        return time.monotonic() - self.began

    def note(self, surface: str, words: str) -> None:
        if self._last.get(surface) != words:
            self._last[surface] = words
            self.entries.append((self.now, surface, words))
            print(f"  {self.now:7.1f} s  {surface}: {words}", file=sys.stderr, flush=True)


class Drill:
    """One slot on its way to invalidation."""

    def __init__(self, database: Database, relay: RelayProcess, prometheus: Prometheus) -> None:
        self.timeline = Timeline()
        self.forecasts: list[tuple[float, float]] = []  # time, forecast seconds to invalidation
        self.used_up: float | None = None               # time when no WAL reserve was left
        self._database = database
        self._relay = relay
        self._prometheus = prometheus
        self._logged = 0
        self._doctor_due = 0.0

    def watch(self) -> None:
        """Polls all surfaces until Postgres has invalidated the slot, and for a while after."""
        lost_at: float | None = None
        while lost_at is None or self.timeline.now < lost_at + _AFTERWARDS:
            status, safe = self._database.execute(
                "SELECT wal_status, safe_wal_size FROM pg_replication_slots WHERE slot_name = %s", SLOT)[0]
            self.timeline.note("Postgres, wal_status", status)
            if self.used_up is None and (status in ("unreserved", "lost") or (safe is not None and safe <= 0)):
                self.used_up = self.timeline.now
            if lost_at is None and status == "lost":
                lost_at = self.timeline.now
            self._poll()
            if not self._relay.running():
                self.timeline.note("the process", f"exits with code {self._relay.wait_exit()}")
            time.sleep(1)

    def _poll(self) -> None:
        for line in self._new_lines():
            if line["level"] in ("warning", "error") and line["event"] != "kafka_log":
                detail = f" ({line['risk']})" if "risk" in line else ""
                self.timeline.note(f"log, {line['event']}", f"{line.get('code', '')}{detail} {line['msg']}")
        code, body = self._relay.get("/readyz")
        if code:
            state, *problems = body.splitlines()
            codes = [each.partition(" ")[0] for each in problems if each.startswith("WR-")]
            self.timeline.note("/readyz", " ".join([str(code), state, *codes]))
        if self._relay.running():
            for name in ("walrelay_slot_risk", "walrelay_slot_wal_status"):
                self.timeline.note(name, self._set_label(name))
            left = self._relay.metric("walrelay_slot_seconds_to_loss")
            if left is not None and self.used_up is None:
                self.forecasts.append((self.timeline.now, left))
        title = self._relay.get("/status")[1].partition("<h1>")[2].partition("</h1>")[0]
        if title:
            self.timeline.note("/status", title)
        for alert in sorted(self._prometheus.firing()):
            self.timeline.note(f"alert {alert}", "fires")
        if self.timeline.now >= self._doctor_due:
            self._doctor_due = self.timeline.now + _DOCTOR_EVERY
            self._ask_doctor()

    def _new_lines(self) -> list[dict]:
        lines = self._relay.logs()
        new, self._logged = lines[self._logged:], len(lines)
        return new

    def _set_label(self, name: str) -> str:
        for line in self._relay.get("/metrics")[1].splitlines():
            if line.startswith(name + "{") and line.endswith(" 1"):
                return line.rpartition('="')[2].partition('"')[0]
        return "–"

    def _ask_doctor(self) -> None:
        done = subprocess.run([relay_program(), "doctor", "--json", "--config", self._relay.folder / "relay.toml"],
                              capture_output=True, text=True, env=relay_environment(), timeout=patient(120))
        findings = {each["check"]: each["severity"] for each in json.loads(done.stdout)["findings"]}
        shown = [f"{check} {findings[check]}" for check in ("slot.retained", "slot.usable", "kafka.cluster")
                if check in findings]
        self.timeline.note("doctor", f"exit code {done.returncode}; {', '.join(shown)}")


def report(drill: Drill, limit: int, rate: float, events: int) -> Iterator[str]:
    yield f"`scripts/dev drill --limit {limit} --rate {rate:g}`; {events} events were written."
    yield ""
    yield "| after | surface | reports |"
    yield "| ---: | --- | --- |"
    for at, surface, words in drill.timeline.entries:
        text = words.replace("|", "\\|")
        yield f"| {at:.0f} s | {surface} | {text} |"
    if drill.used_up is None:
        return
    yield ""
    yield "| of the time until invalidation | forecast | actual | error |"
    yield "| ---: | ---: | ---: | ---: |"
    for part in _PARTS:
        at, left = min(drill.forecasts, key=lambda each: abs(each[0] - part * drill.used_up))
        if abs(at - part * drill.used_up) > 10:
            continue  # no forecast was available yet
        actual = drill.used_up - at
        yield f"| {part:.0%} | {left:.0f} s | {actual:.0f} s | {(left - actual) / actual:+.0%} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=1024, help="max_slot_wal_keep_size in MiB (default: 1024)")
    parser.add_argument("--rate", type=float, default=0.7, help="MiB of WAL per second (default: 0.7)")
    args = parser.parse_args()
    require_servers()
    with ExitStack() as stack:
        postgres = stack.enter_context(new_postgres(settings={
            "max_slot_wal_keep_size": f"{args.limit}MB", "min_wal_size": "32MB", "max_wal_size": "256MB",
            "checkpoint_timeout": "60s"}))
        kafka = stack.enter_context(new_kafka())
        database = Database.create(postgres, "shop")
        outbox = Outbox(database, "order")
        database.execute("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
        database.create_slot(SLOT)
        (port,) = free_ports(1)
        relay = RelayProcess(test_folder() / "relay", {
            "source.dsn": database.dsn, "source.slot": SLOT, "kafka.bootstrap_servers": kafka.bootstrap,
            "http.listen": f"127.0.0.1:{port}"}).start()
        stack.callback(lambda: relay.running() and relay.stop())
        relay.wait_ready()
        prometheus = stack.enter_context(Prometheus(test_folder() / "prometheus", f"127.0.0.1:{port}"))
        writers = Writers(Database(postgres, "shop"), outbox, args.rate)
        writers.start()
        stack.callback(writers.end)
        relay.wait_until(lambda: (relay.metric("walrelay_events_published_total") or 0) > 20, 60, "events to flow")
        drill = Drill(Database(postgres, "shop"), relay, prometheus)
        kafka.stop_node(1)
        drill.timeline.note("Kafka", "is stopped")
        drill.watch()
        print("\n".join(report(drill, args.limit, args.rate, writers.events)))
    return 0


if __name__ == "__main__":
    cli.run("drill", main)
