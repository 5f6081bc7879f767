"""Paths of the repository and of downloaded servers."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]


def cache_folder() -> Path:
    """The folder for downloaded server binaries; it may not exist yet.

    The first that is set of $WALRELAY_CACHE, $XDG_CACHE_HOME/walrelay, ~/.cache/walrelay. For root the
    last is /var/cache/walrelay, because root's servers run as another user, which cannot read /root.
    """
    if explicit := os.environ.get("WALRELAY_CACHE"):
        return Path(explicit).resolve()
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg).resolve() / "walrelay"
    if os.geteuid() == 0:
        return Path("/var/cache/walrelay")
    return Path.home() / ".cache" / "walrelay"


def scratch_folder() -> Path:
    """Where the servers of tests keep their data: in memory, if there is plenty, otherwise /tmp.

    Servers flush their files often, and a slow or busy disk would make each test wait for it.
    """
    memory, plenty = Path("/dev/shm"), 8 << 30
    if memory.is_dir() and os.access(memory, os.W_OK | os.X_OK):
        free = os.statvfs(memory)
        if free.f_bavail * free.f_frsize >= plenty and not free.f_flag & os.ST_NOEXEC:
            return memory
    return Path("/tmp")


def make_folders(path: Path) -> None:
    """Like mkdir -p, but every user can enter the new folders, regardless of the umask."""
    if not path.is_dir():
        make_folders(path.parent)
        path.mkdir(exist_ok=True)
        path.chmod(0o755)
