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


def make_folders(path: Path) -> None:
    """Like mkdir -p, but every user can enter the new folders, regardless of the umask."""
    if not path.is_dir():
        make_folders(path.parent)
        path.mkdir(exist_ok=True)
        path.chmod(0o755)
