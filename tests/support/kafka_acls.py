"""What a Kafka user is allowed, said to a broker in its own protocol.

Debian 12's python3-confluent-kafka cannot make ACLs, and Kafka's command for it is not among the jars
that the servers run on.
"""

import socket
import struct

_CREATE_ACLS, _VERSION = 30, 1
_TOPIC = 2
_PATTERNS = {"literal": 3, "prefixed": 4}
_OPERATIONS = {"write": 4, "create": 5, "describe": 8}
_ALLOW = 3


def allow(bootstrap: str, user: str, operation: str, topic: str, pattern: str = "literal") -> None:
    """Adds an ACL. The brokers know of it a moment later.

    Asks the first of the bootstrap servers, whose clients must be super users.
    """
    host, port = bootstrap.split(",")[0].rsplit(":", 1)
    body = (struct.pack(">ib", 1, _TOPIC) + _text(topic) + struct.pack(">b", _PATTERNS[pattern])
            + _text(f"User:{user}") + _text("*") + struct.pack(">bb", _OPERATIONS[operation], _ALLOW))
    request = struct.pack(">hhi", _CREATE_ACLS, _VERSION, 1) + _text("walrelay-tests") + body
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", _read(connection, 4))
        answer = _read(connection, size)
    # correlation id, throttle time, count, then the first error
    _, _, count, error = struct.unpack_from(">iiih", answer)
    if (count, error) != (1, 0):
        raise RuntimeError(f"the broker makes no ACL: error {error}, {answer[14:]!r}")


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def _read(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        part = connection.recv(size - len(content))
        if not part:
            raise RuntimeError("the broker has hung up")
        content += part
    return content
