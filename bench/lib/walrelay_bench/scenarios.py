"""What is measured. Each scenario is given a stage and returns rows of figures.

Where two systems are compared they take turns, so that a machine whose speed drifts treats them alike.
"""

import json
import signal
import statistics
import subprocess
import time
from collections.abc import Callable
from typing import Any

from walrelay_dev.process import wait_until

from .stage import TOPIC, Stage, binary
from .systems import Measured, pg_recvlogical, walrelay

Figures = dict[str, Any]

_LONG = 1800.0


def _median(rows: list[Figures], key: str) -> float:
    return statistics.median(row[key] for row in rows)


def _until_confirmed(stage: Stage, relay: Measured, slot: str, end: str) -> None:
    def confirmed() -> bool:
        if not relay.alive():
            raise SystemExit(f"the relay ended: {(stage.postgres.log.parent / 'walrelay.log').read_text()[-2000:]}")
        return stage.confirmed(slot, end)
    wait_until(confirmed, _LONG, "the slot to be confirmed")


def _drain_once(stage: Stage, base: str, end: str, events: int, *settings: str) -> Figures:
    stage.copy_slot(base, "bench")
    started = time.monotonic()
    relay = walrelay(stage, "bench", *settings)
    _until_confirmed(stage, relay, "bench", end)
    seconds = time.monotonic() - started
    usage = relay.end()
    return {"seconds": seconds, "rate": events / seconds, "cpu_s_per_million": usage.cpu_seconds / events * 1e6,
            "peak_rss_mib": usage.peak_rss_mib}


def _read_once(stage: Stage, base: str, end: str, events: int) -> Figures:
    stage.copy_slot(base, "bench")
    started = time.monotonic()
    usage = pg_recvlogical(stage, "bench", end).wait()
    seconds = time.monotonic() - started
    return {"seconds": seconds, "rate": events / seconds, "cpu_s_per_million": usage.cpu_seconds / events * 1e6}


def drain(stage: Stage, rounds: int, events: int) -> Figures:
    """A backlog of one-row transactions into Kafka, against pg_recvlogical on the same log."""
    stage.fresh_topic()
    stage.create_slot("base")
    end = stage.fill(events)
    _drain_once(stage, "base", end, events)  # the brokers' compilers warm up
    ours, limit = [], []
    for _ in range(rounds):
        limit.append(_read_once(stage, "base", end, events))
        ours.append(_drain_once(stage, "base", end, events))
    for slot in ("base", "bench"):
        stage.drop_slot(slot)
    return {"events": events, "rounds": rounds, "walrelay_rate": _median(ours, "rate"),
            "pg_recvlogical_rate": _median(limit, "rate"),
            "ratio": statistics.median(a["rate"] / b["rate"] for a, b in zip(ours, limit)),
            "cpu_s_per_million": _median(ours, "cpu_s_per_million"),
            "pg_recvlogical_cpu_s_per_million": _median(limit, "cpu_s_per_million"),
            "peak_rss_mib": max(row["peak_rss_mib"] for row in ours),
            "all": {"walrelay": ours, "pg_recvlogical": limit}}


def _one_transaction(stage: Stage, name: str, insert: str, *settings: str) -> Figures:
    stage.create_slot("bench")
    stage.sql(insert)
    end = stage.wal_end()
    started = time.monotonic()
    relay = walrelay(stage, "bench", *settings)
    _until_confirmed(stage, relay, "bench", end)
    seconds = time.monotonic() - started
    usage = relay.end()
    stage.drop_slot("bench")
    stage.sql("TRUNCATE outbox")
    return {"what": name, "seconds": seconds, "cpu_seconds": usage.cpu_seconds, "peak_rss_mib": usage.peak_rss_mib}


def rows(stage: Stage, rounds: int, events: int) -> Figures:
    """One transaction of millions of rows: memory must not depend on its size."""
    stage.fresh_topic(config={"retention.bytes": 256 << 20, "segment.bytes": 64 << 20})
    return _one_transaction(stage, f"one transaction of {events} rows", f"""
        INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload)
        SELECT 'order', 'order-' || i % 9973, 'OrderPlaced', '{{"n": 1}}' FROM generate_series(1, {events}) i""")


def gigabyte(stage: Stage, rounds: int, events: int) -> Figures:
    """One transaction of 1 GiB: 1,024 rows of 1 MiB."""
    stage.fresh_topic(config={"max.message.bytes": 4 << 20, "retention.bytes": 256 << 20})
    return _one_transaction(stage, "one transaction of 1 GiB", """
        ALTER TABLE outbox ALTER payload SET STORAGE EXTERNAL;
        INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload)
        SELECT 'order', 'order-' || i % 97, 'OrderPlaced',
               to_jsonb((SELECT string_agg(md5(i::text || j), '') FROM generate_series(1, 32768) j))
        FROM generate_series(1, 1024) i""", "kafka.max_record_bytes=2MiB")


def latency(stage: Stage, rounds: int, events: int) -> Figures:
    """From the call of an INSERT to the consumer, at 1,000 events/s."""
    runs = []
    stage.fresh_topic()
    stage.create_slot("bench")
    relay = walrelay(stage, "bench")
    for _ in range(rounds):
        before = relay.cpu_seconds()
        started = time.monotonic()
        done = subprocess.run([binary("bench/walrelay_latency"), "--dsn", stage.dsn, "--kafka", stage.kafka.bootstrap,
                               "--topic", TOPIC, "--rate", "1000", "--seconds", "20", "--warmup", "8"],
                              capture_output=True, text=True, check=True)
        run = json.loads(done.stdout)
        run["cpu_of_one_core"] = (relay.cpu_seconds() - before) / (time.monotonic() - started)
        runs.append(run)
    usage = relay.end()
    stage.drop_slot("bench")
    return {"rounds": rounds, "rate": 1000, **{key: _median(runs, key) for key in ("p50", "p90", "p99", "p999", "cpu_of_one_core")},
            "peak_rss_mib": usage.peak_rss_mib, "all": runs}


def start(stage: Stage, rounds: int, events: int) -> Figures:
    """From the start of the process to the first record acknowledged, a backlog waiting."""
    stage.fresh_topic()
    stage.create_slot("base")
    stage.fill(1000)
    millis = []
    for _ in range(max(rounds, 5)):
        stage.copy_slot("base", "bench")
        started = time.monotonic()
        relay = walrelay(stage, "bench", events=True)
        assert relay.stdout is not None
        relay.stdout.readline()
        millis.append((time.monotonic() - started) * 1000)
        relay.end(signal.SIGKILL)
    for slot in ("base", "bench"):
        stage.drop_slot(slot)
    return {"rounds": len(millis), "median_ms": statistics.median(millis), "max_ms": max(millis), "all": millis}


def crash(stage: Stage, rounds: int, events: int) -> Figures:
    """Duplicates after one SIGKILL: half-way through a backlog, and at 1,000 events/s."""
    backlog, live = [], []
    stage.create_slot("base")
    total = 200_000
    end = stage.fill(total)
    for _ in range(rounds):
        stage.fresh_topic()
        stage.copy_slot("base", "bench")
        relay = walrelay(stage, "bench")
        wait_until(lambda: stage.records() > total // 2, _LONG, "half of the backlog")
        relay.end(signal.SIGKILL)
        relay = walrelay(stage, "bench")
        _until_confirmed(stage, relay, "bench", end)
        relay.end()
        backlog.append(stage.records() - total)
    stage.drop_slot("base")
    for _ in range(rounds):
        stage.fresh_topic()
        stage.new_slot("bench")
        relay = walrelay(stage, "bench")
        writer = subprocess.Popen(["/usr/lib/postgresql/15/bin/pgbench", "-n", "-f", _insert_script(stage), "-R", "1000",
                                   "-c", "4", "-T", "8", stage.dsn], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: stage.records() > 4000, _LONG, "a few seconds of events")
        relay.end(signal.SIGKILL)
        relay = walrelay(stage, "bench")
        writer.wait()
        _until_confirmed(stage, relay, "bench", stage.wal_end())
        relay.end()
        live.append(stage.records() - int(stage.sql("SELECT count(*) FROM outbox WHERE event_type = 'Live'")))
        stage.sql("DELETE FROM outbox WHERE event_type = 'Live'")
    stage.drop_slot("bench")
    return {"rounds": rounds, "backlog_median": statistics.median(backlog), "backlog_max": max(backlog),
            "live_median": statistics.median(live), "live_max": max(live), "all": {"backlog": backlog, "live": live}}


def _insert_script(stage: Stage) -> str:
    script = stage.postgres.log.parent / "insert.sql"
    script.write_text("INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload) "
                      "VALUES ('order', 'order-' || (random() * 9973)::int, 'Live', '{\"a\": 1}');\n")
    return str(script)


# name: (scenario, events in the full run, events in the quick run)
SCENARIOS: dict[str, tuple[Callable[[Stage, int, int], Figures], int, int]] = {
    "drain": (drain, 600_000, 60_000),
    "latency": (latency, 0, 0),
    "start": (start, 0, 0),
    "crash": (crash, 0, 0),
    "rows": (rows, 10_000_000, 500_000),
    "gigabyte": (gigabyte, 0, 0),
}
