#!/usr/bin/python3
"""A drill: what many idle pipelines in one process cost.

    scripts/dev python tests/drill/fleet_drill.py --pipelines 50 --seconds 60

Each pipeline has its own database and slot on one Postgres, and its own client of one Kafka broker. Prints memory and
CPU of the process while nothing happens, then whether each pipeline publishes an event.
"""

import argparse
import os
import time
from pathlib import Path

from walrelay_test.database import Database
from walrelay_test.outbox import Outbox
from walrelay_test.relay_config import to_toml
from walrelay_test.relay_process import RelayProcess
from walrelay_test.servers import new_kafka, new_postgres, require_servers, test_folder


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pipelines", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60, help="how long the idle process is measured")
    options = parser.parse_args()
    require_servers()
    settings = {"max_connections": 4 * options.pipelines + 20, "max_wal_senders": 2 * options.pipelines,
                "max_replication_slots": options.pipelines + 10}
    folder = test_folder() / "fleet"
    folder.mkdir()
    with new_postgres(settings=settings) as postgres, new_kafka() as kafka:
        outboxes = []
        for number in range(options.pipelines):
            database = Database.create(postgres, f"fleet{number}")
            outboxes.append(Outbox(database, f"fleet{number}"))
            database.execute("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
            database.create_slot(f"fleet{number}")
            (folder / f"fleet{number}.toml").write_text(to_toml({
                "source.dsn": database.dsn, "source.slot": f"fleet{number}",
                "kafka.bootstrap_servers": kafka.bootstrap}))
            database.close()
        relay = RelayProcess(test_folder() / "relay", {}, config_dir=folder,
                             arguments=["--set", "http.listen=127.0.0.1:0"]).start()
        relay.wait_until(lambda: relay.get("/readyz")[0] == 200, 120, "all pipelines to be ready")
        time.sleep(15)  # until nothing of the start is left: the first samples of the slots, the clients' metadata
        before = cpu_seconds(relay.pid)
        time.sleep(options.seconds)  # the measurement itself
        busy = (cpu_seconds(relay.pid) - before) / options.seconds
        threads = len(os.listdir(f"/proc/{relay.pid}/task"))
        print(f"{options.pipelines} idle pipelines: {relay.memory_mb('VmRSS'):.1f} MiB resident (peak "
              f"{relay.memory_mb():.1f}), of which {relay.memory_mb('RssAnon'):.1f} MiB anonymous; "
              f"{100 * busy:.2f} % of a core; {threads} threads")
        for outbox in outboxes:
            outbox.insert(1)
        relay.wait_until(lambda: relay.metric("walrelay_events_published_total") == options.pipelines, 60,
                         "each pipeline to publish its event")
        print(f"{options.pipelines} events published, one by each; exit code {relay.stop()}")


if __name__ == "__main__":
    main()
