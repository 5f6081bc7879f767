#!/usr/bin/python3
"""A drill: what many idle pipelines in one process cost.

    scripts/dev python tests/drill/fleet_drill.py --pipelines 50 --seconds 60

Each pipeline has its own database and slot on one Postgres, and its own client of one Kafka broker. Prints memory and
CPU of the process and its worker while nothing happens, then whether each pipeline publishes an event, then how long an
internal error interrupts them.
"""

import argparse
import os
import re
import signal
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from walrelay_dev.ports import free_ports
from walrelay_test.database import Database
from walrelay_test.outbox import Outbox
from walrelay_test.relay_config import to_toml
from walrelay_test.relay_process import RelayProcess
from walrelay_test.servers import new_kafka, new_postgres, require_servers, test_folder


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int, name: str) -> float:
    """A line of /proc/PID/smaps_rollup in MiB. Pss divides what processes share among them."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(rf"^{name}:\s+(\d+) kB$", lines, re.MULTILINE)[1]) / 1024


def time_of(line: dict[str, Any]) -> float:
    return datetime.fromisoformat(line["ts"].replace("Z", "+00:00")).timestamp()


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
                             arguments=["--set", f"http.listen=127.0.0.1:{free_ports(1)[0]}"]).start()
        relay.wait_until(lambda: relay.get("/readyz")[0] == 200, 120, "all pipelines to be ready")
        time.sleep(15)  # until nothing of the start is left: the first samples of the slots, the clients' metadata
        before = sum(map(cpu_seconds, relay.processes()))
        time.sleep(options.seconds)  # the measurement itself
        busy = (sum(map(cpu_seconds, relay.processes())) - before) / options.seconds
        print(f"{options.pipelines} idle pipelines: {100 * busy:.2f} % of a core")
        for name, pid in zip(("parent", "worker"), relay.processes(), strict=True):
            print(f"{name}: {memory_mb(pid, 'Rss'):.1f} MiB resident; {memory_mb(pid, 'Pss'):.1f} MiB with its part of what "
                  f"is shared, {memory_mb(pid, 'Pss_Anon'):.1f} of it anonymous; "
                  f"{len(os.listdir(f'/proc/{pid}/task'))} threads")
        for outbox in outboxes:
            outbox.insert(1)
        relay.wait_until(lambda: relay.metric("walrelay_events_published_total") == options.pipelines, 60,
                         "each pipeline to publish its event")
        print(f"{options.pipelines} events published, one by each")
        streams = len(relay.logs("streaming"))
        failed = time.time()
        os.kill(relay.processes()[1], signal.SIGABRT)
        relay.wait_until(lambda: len(relay.logs("streaming")) == streams + options.pipelines, 120,
                         "each pipeline to stream again")
        times = sorted(time_of(line) - failed for line in relay.logs("streaming")[streams:])
        print(f"streaming again: the first after {times[0]:.2f} s, half after {times[len(times) // 2]:.2f} s, the last "
              f"after {times[-1]:.2f} s; exit code {relay.stop()}")


if __name__ == "__main__":
    main()
