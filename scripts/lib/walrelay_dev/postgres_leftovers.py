"""Operating system resources of a cluster: processes, lock file, shared memory."""

import subprocess
from pathlib import Path


def processes(data: Path) -> list[int]:
    """Postmaster and children, including orphans: processes whose working directory is the data folder.

    Excludes zombies.
    """
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _works_in(entry, data)]


def lock_file(data: Path) -> list[str]:
    """The lines of postmaster.pid, which remains after a SIGKILL; empty if the file does not exist."""
    try:
        return (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return []


def remove_shared_memory(data: Path) -> None:
    """Removes the System V segment of a killed server, as a restart would do."""
    lines = lock_file(data)
    if len(lines) > 6 and lines[6].split():
        subprocess.run(["ipcrm", "-m", lines[6].split()[1]], stderr=subprocess.DEVNULL)


def _works_in(process: Path, folder: Path) -> bool:
    try:
        return ((process / "comm").read_text() == "postgres\n"
                and (process / "cwd").readlink() == folder)
    except OSError:  # the process has exited, or belongs to another user
        return False
