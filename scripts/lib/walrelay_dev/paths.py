"""Where things are on this machine: the repository, downloaded servers, free ports."""

import os
import random
import socket
from pathlib import Path

from .errors import ServerError

REPOSITORY = Path(__file__).resolve().parents[3]

# Below Linux's ephemeral range (32768 and up): a client's outgoing connection must not take the
# port of a server that a test has just killed and is about to start again.
_PORTS = range(20000, 32768)


def cache_folder() -> Path:
    """The folder for downloaded server binaries; it may not exist yet.

    $WALRELAY_CACHE, else $XDG_CACHE_HOME/walrelay, else ~/.cache/walrelay. For root the last is
    /var/cache/walrelay: root's servers run as another account, which cannot read /root.
    """
    if explicit := os.environ.get("WALRELAY_CACHE"):
        return Path(explicit).resolve()
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg).resolve() / "walrelay"
    if os.geteuid() == 0:
        return Path("/var/cache/walrelay")
    return Path.home() / ".cache" / "walrelay"


def make_folders(path: Path) -> None:
    """Like mkdir -p, but every account can enter the new folders whatever the umask."""
    if not path.is_dir():
        make_folders(path.parent)
        path.mkdir(exist_ok=True)
        path.chmod(0o755)


def free_ports(count: int) -> list[int]:
    """Distinct TCP ports on 127.0.0.1 that nothing listens on now."""
    found: list[int] = []
    for port in random.sample(_PORTS, len(_PORTS)):
        if len(found) == count:
            return found
        if _is_free(port):
            found.append(port)
    raise ServerError(f"no {count} free ports in {_PORTS.start}..{_PORTS.stop - 1} on 127.0.0.1")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
