"""A memory limit for a process that runs, as a container or a unit with MemoryMax= has it."""

import os
import unittest
from pathlib import Path

_V2 = Path("/sys/fs/cgroup")
_V1 = Path("/sys/fs/cgroup/memory")


class MemoryLimit:
    """A control group with one limit. Close it after its processes have ended."""

    def __init__(self, name: str, limit: int) -> None:
        """Raises SkipTest where no group can be created: that requires root and the memory controller."""
        version2 = (_V2 / "cgroup.controllers").exists()
        self.folder = (_V2 if version2 else _V1) / f"walrelay-{name}"
        try:
            if version2:
                (_V2 / "cgroup.subtree_control").write_text("+memory")
            self.folder.mkdir()
            self._limit = self.folder / ("memory.max" if version2 else "memory.limit_in_bytes")
            self.set(limit)
        except OSError as error:
            raise unittest.SkipTest(f"no control group with a memory limit: {error}") from None

    def set(self, limit: int) -> None:
        self._limit.write_text(str(limit))

    def add(self, pid: int) -> None:
        (self.folder / "cgroup.procs").write_text(str(pid))

    def close(self) -> None:
        os.rmdir(self.folder)
