"""Raw requests to a Kafka broker, for requests that no client library in Debian 12 supports."""

import socket
import struct

from walrelay_dev.errors import ServerError

_CLIENT = b"walrelay-tests"
_SECONDS = 30.0


def send_request(host: str, port: int, key: int, version: int, body: bytes, *, flexible: bool = False) -> bytes:
    """Sends a request and returns the response without its header."""
    header = struct.pack(">hhih", key, version, 1, len(_CLIENT)) + _CLIENT + (b"\0" if flexible else b"")
    with socket.create_connection((host, port), timeout=_SECONDS) as broker:
        broker.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
        (length,) = struct.unpack(">i", _receive(broker, 4))
        answer = _receive(broker, length)
    return answer[5 if flexible else 4:]  # correlation id, and tags where flexible


def encode_string(value: str) -> bytes:
    """Encodes a string for requests without compact fields."""
    return struct.pack(">h", len(value.encode())) + value.encode()


def encode_varint(number: int) -> bytes:
    """An unsigned variable-length integer, as in protobuf."""
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def _receive(broker: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = broker.recv(size - len(data))
        if not piece:
            raise ServerError("the broker closed the connection instead of answering")
        data += piece
    return data
