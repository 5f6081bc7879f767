#!/usr/bin/python3
"""Stops the servers of a test process after it has exited, also by SIGKILL, and deletes its folder.

`servers` starts it, and holds the other end of the pipe that it reads.
"""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts" / "lib"))

from walrelay_dev.kafka import KafkaCluster  # noqa: E402
from walrelay_dev.postgres import Postgres  # noqa: E402


def main() -> None:
    folder = Path(sys.argv[1])
    sys.stdin.read()
    for state in folder.glob("*/cluster.json"):
        server = KafkaCluster if state.parent.name.startswith("kafka") else Postgres
        server.open(state.parent).remove()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
