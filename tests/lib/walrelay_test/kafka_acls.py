"""Brokers with users and ACLs.

The ACLs are created with a raw protocol request: Debian 12's python3-confluent-kafka cannot create them, and Kafka's
command for it is not in the jars that the servers use.
"""

import struct
from collections.abc import Mapping
from typing import Any

from walrelay_dev.kafka import KafkaCluster

from .kafka_request import encode_string, send_request

_CREATE_ACLS, _VERSION = 30, 1
_RESOURCES = {"topic": 2, "transactional_id": 5}
_PATTERNS = {"literal": 3, "prefixed": 4}
_OPERATIONS = {"read": 3, "write": 4, "create": 5, "describe": 8}
_DENY, _ALLOW = 2, 3


def acl_options(*users: str, properties: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Options of a cluster in which these users may do only what ACLs allow. Users without a name may do everything."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required "
    return {"secured": "SASL_PLAINTEXT", "properties": {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "listener.name.secured.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secured.plain.sasl.jaas.config":
            module + " ".join(f'user_{name}="{_password(name)}"' for name in users) + ";",
        **(properties or {})}}


def login(kafka: KafkaCluster, user: str) -> dict[str, str]:
    """A relay's options with which it logs in as this user."""
    return {"kafka.bootstrap_servers": kafka.config.secured_bootstrap, "kafka.security_protocol": "SASL_PLAINTEXT",
            "kafka.sasl_mechanism": "PLAIN", "kafka.sasl_username": user, "kafka.sasl_password": _password(user)}


def _password(user: str) -> str:
    return f"{user}-secret"


def allow(bootstrap: str, user: str, operation: str, name: str, pattern: str = "literal",
          resource: str = "topic") -> None:
    """Adds an ACL, which takes effect a moment later.

    Sends the request to the first bootstrap server, whose clients must be super users.
    """
    _add(bootstrap, user, operation, name, pattern, resource, _ALLOW)


def deny(bootstrap: str, user: str, operation: str, name: str) -> None:
    """Takes a right to a topic away, whatever is allowed."""
    _add(bootstrap, user, operation, name, "literal", "topic", _DENY)


def _add(bootstrap: str, user: str, operation: str, name: str, pattern: str, resource: str, permission: int) -> None:
    host, port = bootstrap.split(",")[0].rsplit(":", 1)
    body = (struct.pack(">ib", 1, _RESOURCES[resource]) + encode_string(name) + struct.pack(">b", _PATTERNS[pattern])
            + encode_string(f"User:{user}") + encode_string("*") + struct.pack(">bb", _OPERATIONS[operation], permission))
    answer = send_request(host, int(port), _CREATE_ACLS, _VERSION, body)
    _, count, error = struct.unpack_from(">iih", answer)  # after the throttle time; the first error
    if (count, error) != (1, 0):
        raise RuntimeError(f"the broker rejected the ACL: error {error}, {answer[10:]!r}")
