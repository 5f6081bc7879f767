#!/usr/bin/python3
"""Counts the progress records of idle pipelines next to a busy table, and the CPU time of their relay.

    scripts/dev python bench/tools/idle_pipelines.py [--pipelines 50] [--mode slot|exactly_once] [--seconds 30]

All pipelines are of one process and read one database. One client inserts into a table that is not published, a row every
ten milliseconds.
"""

import argparse
import re
import tempfile
import threading
import time
from pathlib import Path

from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.postgres import Postgres
from walrelay_test.database import Database
from walrelay_test.outbox import Outbox
from walrelay_test.relay_config import to_toml
from walrelay_test.relay_process import RelayProcess

_PAUSE_SECONDS = 0.01


def cpu_seconds(pid: int) -> float:
    """Of the process and its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return (int(fields[11]) + int(fields[12])) / 100 + sum(cpu_seconds(int(child)) for child in children)


def write(database: Database, stop: threading.Event) -> None:
    connection = database.connect()
    connection.autocommit = True
    with connection.cursor() as cursor:
        while not stop.wait(_PAUSE_SECONDS):
            cursor.execute("INSERT INTO busy VALUES (1)")
    connection.close()


def recording(relay: RelayProcess) -> int:
    """The number of pipelines that have written a record."""
    return len(re.findall(r"^walrelay_progress_records_total(?:{.*})? [1-9]", relay.get("/metrics")[1], re.MULTILINE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipelines", type=int, default=50)
    parser.add_argument("--mode", default="slot")
    parser.add_argument("--seconds", type=int, default=30)
    options = parser.parse_args()
    senders = options.pipelines + 10
    settings = {"wal_level": "logical", "max_wal_senders": senders, "max_replication_slots": senders,
                "max_connections": 4 * senders}
    with tempfile.TemporaryDirectory() as name, Postgres(15, settings=settings) as postgres, KafkaCluster() as kafka:
        folder = Path(name)
        folder.chmod(0o755)
        database = Database.create(postgres, "idle")
        Outbox(database, "idle")
        database.execute("CREATE TABLE busy (i int)")
        database.execute("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
        pipelines = folder / "pipelines"
        pipelines.mkdir()
        for number in range(options.pipelines):
            (pipelines / f"p{number}.toml").write_text(to_toml({
                "source.dsn": database.dsn, "source.slot": f"slot{number}", "source.create_slot": True,
                "kafka.bootstrap_servers": kafka.bootstrap, "pipeline.mode": options.mode,
                "pipeline.progress": "required"}))
        relay = RelayProcess(folder / "relay", {}, config_dir=pipelines, arguments=["--set", "http.listen=127.0.0.1:0"])

        def records() -> float:
            return relay.metric("walrelay_progress_records_total") or 0

        relay.start()
        stop = threading.Event()
        writer = threading.Thread(target=write, args=(database, stop), daemon=True)
        writer.start()
        # The first record of each stream is written at once.
        relay.wait_until(lambda: recording(relay) == options.pipelines, 300, "all pipelines to record")
        begun, before, cpu, wal = time.monotonic(), records(), cpu_seconds(relay.pid), database.log_end()
        time.sleep(options.seconds)
        seconds = time.monotonic() - begun
        written, used, wal = records() - before, cpu_seconds(relay.pid) - cpu, database.log_end() - wal
        begun = time.monotonic()
        code = relay.stop()
        ended = time.monotonic() - begun
        stop.set()
        writer.join()
        print(f"{options.pipelines} pipelines, {options.mode}: {written:.0f} records in {seconds:.0f} s, {written / seconds:.1f}"
              f" a second; {used / seconds * 100:.1f} % of a CPU; {wal / seconds / 1024:.0f} KiB of WAL a second; "
              f"stopped within {ended:.1f} s, exit code {code}")


if __name__ == "__main__":
    main()
