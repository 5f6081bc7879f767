"""Creates Kafka ACLs with a raw protocol request.

Debian 12's python3-confluent-kafka cannot create ACLs, and Kafka's command for it is not in the jars that
the servers use.
"""

import struct

from .kafka_request import encode_string, send_request

_CREATE_ACLS, _VERSION = 30, 1
_TOPIC = 2
_PATTERNS = {"literal": 3, "prefixed": 4}
_OPERATIONS = {"write": 4, "create": 5, "describe": 8}
_ALLOW = 3


def allow(bootstrap: str, user: str, operation: str, topic: str, pattern: str = "literal") -> None:
    """Adds an ACL, which takes effect a moment later.

    Sends the request to the first bootstrap server, whose clients must be super users.
    """
    host, port = bootstrap.split(",")[0].rsplit(":", 1)
    body = (struct.pack(">ib", 1, _TOPIC) + encode_string(topic) + struct.pack(">b", _PATTERNS[pattern])
            + encode_string(f"User:{user}") + encode_string("*") + struct.pack(">bb", _OPERATIONS[operation], _ALLOW))
    answer = send_request(host, int(port), _CREATE_ACLS, _VERSION, body)
    _, count, error = struct.unpack_from(">iih", answer)  # after the throttle time; the first error
    if (count, error) != (1, 0):
        raise RuntimeError(f"the broker rejected the ACL: error {error}, {answer[10:]!r}")
