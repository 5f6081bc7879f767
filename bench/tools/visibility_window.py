#!/usr/bin/python3
"""Measures how often Postgres sends a commit before other sessions can see it, on servers on this machine.

    scripts/dev python bench/tools/visibility_window.py [--seconds 20] [--rates 100,1000]

A relay with source.wait_visible queries a snapshot as soon as it has received a BEGIN. If the snapshot lists the
transaction as running, a consumer that received the event at that moment could not see the row. Later, fewer
consumers would be affected. pgbench writes one-row transactions from four clients.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.postgres import Postgres
from walrelay_dev.postgres_binaries import client_program
from walrelay_dev.process import wait_until
from walrelay_test.database import Database
from walrelay_test.outbox import Outbox
from walrelay_test.relay_process import RelayProcess

_INSERT = "INSERT INTO outbox VALUES (1, 'window', :client_id, 'made', '{}');\n"


def measure(database: Database, relay: RelayProcess, pgbench: str, script: Path, rate: int, seconds: int) -> str:
    def count(result: str) -> float:
        return relay.metric("walrelay_visibility_queries_total", result=result) or 0
    before = {result: count(result) for result in ("visible", "running")}
    waited = relay.metric("walrelay_visibility_wait_seconds_total") or 0
    subprocess.run([pgbench, "-n", "-c", "4", "-j", "1", "-R", str(rate), "-T", str(seconds), "-f", script,
                    database.dsn], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = database.log_end()
    wait_until(lambda: database.confirmed("window") >= end, 60, "the slot to be confirmed")
    visible, running = (count(result) - before[result] for result in ("visible", "running"))
    waited = (relay.metric("walrelay_visibility_wait_seconds_total") or 0) - waited
    share = 100 * running / (visible + running)
    return (f"{rate:6} tx/s: {visible + running:7.0f} queries, {running:5.0f} ({share:.2f} %) found the transaction "
            f"still running; mean wait {1e3 * waited / max(visible, 1):.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rates", default="100,1000")
    parser.add_argument("--pgbench", default=str(client_program("pgbench")))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Postgres(15, settings={"wal_level": "logical"}) as postgres, \
            KafkaCluster() as kafka:
        Path(folder).chmod(0o755)
        script = Path(folder) / "insert.sql"
        script.write_text(_INSERT)
        database = Database.create(postgres, "commits")
        Outbox(database, "window")
        database.execute("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
        database.create_slot("window")
        relay = RelayProcess(Path(folder) / "relay", {
            "source.dsn": database.dsn, "source.slot": "window", "source.wait_visible": True,
            "kafka.bootstrap_servers": kafka.bootstrap, "http.listen": "127.0.0.1:0"}).start()
        relay.wait_ready()
        for rate in map(int, options.rates.split(",")):
            print(measure(database, relay, options.pgbench, script, rate, options.seconds), flush=True)
        relay.stop()


if __name__ == "__main__":
    main()
