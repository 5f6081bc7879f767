"""Replaces a server with a promoted copy of itself that lacks the end of its WAL."""

import shutil
import subprocess
from pathlib import Path

from walrelay_dev.postgres import Postgres
from walrelay_dev.process import wait_until
from walrelay_test.database import Database


def promote_copy(postgres: Postgres, database: Database, copy: Path, until: str) -> None:
    """`copy`: an older copy of the data directory, which is moved; `until`: an LSN.

    REQUIRES: the server is stopped.
    """
    data = postgres.data
    subprocess.run(["cp", "-a", f"{data}/pg_wal/.", copy / "pg_wal"], check=True)
    shutil.rmtree(data)
    copy.rename(data)
    recovery_signal = data / "recovery.signal"
    recovery_signal.touch()
    shutil.chown(recovery_signal, data.owner(), data.group())
    recovery = {"restore_command": "false", "recovery_target_lsn": until, "recovery_target_inclusive": False,
                "recovery_target_action": "promote"}
    postgres.settings.update(recovery)
    postgres.start()
    wait_until(lambda: not database.value("SELECT pg_is_in_recovery()"), 60, "the promotion")
    for name in recovery:
        del postgres.settings[name]
