#!/usr/bin/python3
"""Starts and stops the broker that many test modules share: ctest's tests broker.start and broker.stop.

    python3 -m walrelay_test.shared_broker start FILE   writes the folder of the broker into FILE
    python3 -m walrelay_test.shared_broker stop FILE    fails if the broker has ended by itself

The broker is also stopped when the parent of the process that started it exits, as ctest does when it is interrupted.
Postgres is not shared: all databases of a server write to the same WAL, and a long transaction in one of them delays the
slots of the others.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from walrelay_dev.errors import ServerError
from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.paths import scratch_folder

from .reaper import remove_servers
from .servers import check_running, require_servers

_SHOWN_LINES = 40


def start(file: Path) -> int:
    try:
        require_servers()
    except unittest.SkipTest as reason:
        print(f"skipped: {reason}")
        return 0
    stop(file)  # that of an earlier run
    folder = Path(tempfile.mkdtemp(prefix="walrelay-shared-", dir=scratch_folder()))
    folder.chmod(0o755)
    subprocess.Popen([sys.executable, "-m", "walrelay_test.reaper", folder, str(os.getppid())],
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                     start_new_session=True)
    try:
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
    broker = KafkaCluster.open(folder / "kafka")
    try:
        check_running(broker)
    except ServerError as error:
        log = broker.node(1).log.read_text().splitlines()
        print(f"{error}; end of its log:\n" + "\n".join(log[-_SHOWN_LINES:]))
        return 1
    finally:
        remove_servers(folder)
    return 0


def main() -> int:
    commands = {"start": start, "stop": stop}
    if len(sys.argv) != 3 or sys.argv[1] not in commands:
        print(__doc__)
        return 64
    return commands[sys.argv[1]](Path(sys.argv[2]))


if __name__ == "__main__":
    sys.exit(main())
