#!/usr/bin/python3
"""Starts and stops the servers that many test modules share: ctest's tests servers.start and servers.stop.

    python3 -m walrelay_test.shared_servers start FILE   writes the folder of the servers into FILE
    python3 -m walrelay_test.shared_servers stop FILE    fails if a server has ended by itself

The servers are also stopped when the parent of the process that started them exits, as ctest does when it is
interrupted.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from walrelay_dev.errors import ServerError
from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.postgres import Postgres

from .reaper import remove_servers
from .servers import POSTGRES_SETTINGS, check_running, require_servers

# Enough for all modules that run at the same time, and for what a module leaves behind that was killed.
_LIMITS = {"max_replication_slots": 200, "max_wal_senders": 200, "max_connections": 400}
_SHOWN_LINES = 40


def start(file: Path) -> int:
    try:
        require_servers()
    except unittest.SkipTest as reason:
        print(f"skipped: {reason}")
        return 0
    stop(file)  # those of an earlier run
    folder = Path(tempfile.mkdtemp(prefix="walrelay-shared-", dir="/tmp"))
    folder.chmod(0o755)
    subprocess.Popen([sys.executable, "-m", "walrelay_test.reaper", folder, str(os.getppid())],
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                     start_new_session=True)
    try:
        # No test lets this server crash, so it need not wait for the disk.
        Postgres(directory=folder / "postgres", tcp=True,
                 settings=POSTGRES_SETTINGS | _LIMITS | {"fsync": False}).__enter__()
        KafkaCluster(directory=folder / "kafka").__enter__()
    except BaseException:
        remove_servers(folder)
        raise
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{folder}\n")
    return 0


def stop(file: Path) -> int:
    if not file.exists():
        return 0
    folder = Path(file.read_text().strip())
    file.unlink()
    if not folder.exists():
        return 0
    ended = 0
    for server in (Postgres.open(folder / "postgres"), KafkaCluster.open(folder / "kafka")):
        try:
            check_running(server)
        except ServerError as error:
            log = server.log if isinstance(server, Postgres) else server.node(1).log
            print(f"{error}; end of its log:\n" + "\n".join(log.read_text().splitlines()[-_SHOWN_LINES:]))
            ended += 1
    remove_servers(folder)
    return 1 if ended else 0


def main() -> int:
    commands = {"start": start, "stop": stop}
    if len(sys.argv) != 3 or sys.argv[1] not in commands:
        print(__doc__)
        return 64
    return commands[sys.argv[1]](Path(sys.argv[2]))


if __name__ == "__main__":
    sys.exit(main())
