"""TCP ports on 127.0.0.1 for temporary servers."""

import random
import socket
from pathlib import Path

from .errors import ServerError

_CANDIDATES = range(10000, 32768)
_FEWEST = 1000
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")

# The ports that this process has reserved. An abstract socket has no file and disappears with the process.
_reserved: list[socket.socket] = []


def free_ports(count: int) -> list[int]:
    """Distinct ports that have no listener and that this function returns to no other process.

    The reservation lasts until this process exits, so that two concurrent test processes cannot choose
    the same port. A server that outlives the process keeps its port by listening on it.
    """
    found: list[int] = []
    for port in random.sample(_candidates(), len(_candidates())):
        if len(found) == count:
            return found
        if _is_free(port) and _reserve(port):
            found.append(port)
    raise ServerError(f"no {count} free ports in {_CANDIDATES.start}..{_CANDIDATES.stop - 1} "
                      f"on 127.0.0.1")


def _candidates() -> list[int]:
    """Candidates outside the range of outgoing connections, if there are enough of them.

    A client's connection must not occupy the port of a server that a test has killed and is about to
    restart.
    """
    try:
        first, last = map(int, _EPHEMERAL.read_text().split())
    except (OSError, ValueError):
        first, last = 32768, 60999  # Linux's default
    outside = [port for port in _CANDIDATES if not first <= port <= last]
    return outside if len(outside) >= _FEWEST else list(_CANDIDATES)


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        return _binds(probe, ("127.0.0.1", port))


def _reserve(port: int) -> bool:
    reservation = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if not _binds(reservation, f"\0walrelay-port-{port}"):
        reservation.close()
        return False
    _reserved.append(reservation)
    return True


def _binds(one: socket.socket, address: "str | tuple[str, int]") -> bool:
    try:
        one.bind(address)
    except OSError:
        return False
    return True
