"""A server in place of the one that had the slot: promoted, restored or upgraded without it."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from walrelay_dev.unprivileged_user import run_as

from .promoted_copy import promote_copy
from .servers import new_postgres


class OtherServer:
    """For a test of class RecoverCase with a Postgres of its own."""

    def prepare_copy(self) -> Any:
        self.relay = self.start_with_proof(1)
        self.assertEqual(self.relay.stop(), 0)
        return self.back_up()

    def start_without_horizons(self) -> None:
        """A horizon is read every ten seconds: one that is read by chance proves the rows before it."""
        self.relay = self.start_relay({"metrics.slot_poll_interval": "1h"})
        self.relay.wait_ready()

    def recover_to(self, copy: Any, until: str) -> None:
        """Replaces the server by the copy with the WAL up to a position, on a new timeline and without the slot."""
        self.postgres.stop()
        for slot in (copy / "pg_replslot").iterdir():
            shutil.rmtree(slot)
        promote_copy(self.postgres, self.database, copy, until)

    def upgrade(self, program: Path) -> None:
        """Replaces the server by what pg_upgrade makes of it: a cluster of the same version, with another identity."""
        self.database.close()
        self.postgres.stop()
        new = self.enterContext(new_postgres(self.postgres.major, template=False))
        new.stop()
        user = self.postgres.data.owner() if os.geteuid() == 0 else None
        bin = program.parent
        run = subprocess.run([program, "-U", "postgres", "-b", bin, "-B", bin, "-d", self.postgres.data, "-D", new.data,
                              "-s", new.data.parent], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             cwd=new.data.parent, **run_as(user))
        self.assertEqual(run.returncode, 0, run.stdout)
        shutil.rmtree(self.postgres.data)
        new.data.rename(self.postgres.data)
        self.postgres.start()
