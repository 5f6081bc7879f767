"""A broker's setting, changed while it runs.

AlterConfigs, all that Debian 12's python3-confluent-kafka has, would replace the whole set.
Source: Kafka's protocol guide, IncrementalAlterConfigs 0.
"""

import struct

from kafka_request import ask, text
from walrelay_dev.errors import ServerError

_INCREMENTAL_ALTER_CONFIGS, _VERSION = 44, 0
_BROKER = 4
_SET = 0


def alter_broker(bootstrap: str, broker: int, name: str, value: str) -> None:
    """Asks the first of the bootstrap servers, whose clients must be super users."""
    host, port = bootstrap.split(",")[0].rsplit(":", 1)
    body = (struct.pack(">ib", 1, _BROKER) + text(str(broker))
            + struct.pack(">i", 1) + text(name) + struct.pack(">b", _SET) + text(value)
            + struct.pack(">b", 0))  # not validate_only
    answer = ask(host, int(port), _INCREMENTAL_ALTER_CONFIGS, _VERSION, body)
    _, count, error = struct.unpack_from(">iih", answer)  # behind the throttle time; the first error
    if (count, error) != (1, 0):
        raise ServerError(f"the broker takes no {name}: error {error}, {answer[10:]!r}")
