"""Changes a setting of a running broker.

Debian 12's python3-confluent-kafka has only AlterConfigs, which would replace all settings.
Source: Kafka's protocol guide, IncrementalAlterConfigs 0.
"""

import struct

from walrelay_dev.errors import ServerError

from .kafka_request import encode_string, send_request

_INCREMENTAL_ALTER_CONFIGS, _VERSION = 44, 0
_BROKER = 4
_SET = 0


def alter_broker(bootstrap: str, broker: int, name: str, value: str) -> None:
    """Sends the request to the first bootstrap server, whose clients must be super users."""
    host, port = bootstrap.split(",")[0].rsplit(":", 1)
    body = (struct.pack(">ib", 1, _BROKER) + encode_string(str(broker))
            + struct.pack(">i", 1) + encode_string(name) + struct.pack(">b", _SET) + encode_string(value)
            + struct.pack(">b", 0))  # not validate_only
    answer = send_request(host, int(port), _INCREMENTAL_ALTER_CONFIGS, _VERSION, body)
    _, count, error = struct.unpack_from(">iih", answer)  # after the throttle time; the first error
    if (count, error) != (1, 0):
        raise ServerError(f"the broker rejected {name}: error {error}, {answer[10:]!r}")
