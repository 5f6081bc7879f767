#!/usr/bin/python3
"""Stops servers and deletes their folder after the process that needs them has exited, also by SIGKILL.

    python3 -m walrelay_test.reaper FOLDER        waits for the end of standard input, whose other end the process holds
    python3 -m walrelay_test.reaper FOLDER PID    waits for the exit of PID, and does nothing if the folder is gone
"""

import os
import select
import shutil
import sys
from pathlib import Path

from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.postgres import Postgres


def remove_servers(folder: Path) -> None:
    for state in folder.glob("*/cluster.json"):
        server = KafkaCluster if state.parent.name.startswith("kafka") else Postgres
        server.open(state.parent).remove()
    shutil.rmtree(folder)


def main() -> None:
    folder = Path(sys.argv[1])
    if len(sys.argv) > 2:
        try:
            select.select([os.pidfd_open(int(sys.argv[2]))], [], [])
        except ProcessLookupError:
            pass
    else:
        sys.stdin.read()
    if folder.exists():
        remove_servers(folder)


if __name__ == "__main__":
    main()
