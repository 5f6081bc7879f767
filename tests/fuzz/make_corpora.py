#!/usr/bin/python3
"""Creates seed corpora for the fuzz targets, from streams recorded from real servers and from the documentation.

make_corpora.py FOLDER creates FOLDER/<target>/… and FOLDER/made; it deletes no existing file.
"""

import hashlib
import json
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "unit" / "golden"

STREAM_ABORT = b"A" + struct.pack(">II", 755, 756)  # Postgres 18 sends it unsolicited
_INSERT_HEAD = 6  # type, OID, marker
_LONGEST = 4096


def recorded_streams() -> Iterator[list[bytes]]:
    """The messages of each recorded stream."""
    for path in sorted(GOLDEN.glob("postgres-*.txt")):
        lines = [line.split() for line in path.read_text().splitlines() if line and line[0] != "#"]
        yield [bytes.fromhex(words[2]) for words in lines if len(words) == 3]


def xlog_data(message: bytes) -> bytes:
    return b"w" + bytes(24) + message


def keepalive(position: int, reply: bool) -> bytes:
    return b"k" + struct.pack(">QQB", position, 0, reply)


def frames(messages: list[bytes]) -> bytes:
    """The input format of stream_fuzz: each frame is preceded by a two-byte length."""
    data = [xlog_data(message) for message in messages] + [keepalive(1 << 32, True)]
    return b"".join(struct.pack(">H", len(each)) + each for each in data if len(each) < 1 << 16)


def transactions(messages: list[bytes]) -> Iterator[list[bytes]]:
    """The messages of each transaction, from Begin to Commit."""
    under_way: list[bytes] = []
    for message in messages:
        if message[:1] == b"B":
            under_way = []
        under_way.append(message)
        if message[:1] == b"C":
            yield under_way


def values(tuple_bytes: bytes) -> Iterator[tuple[int, bytes]]:
    """The values of a row: the kind as numbered by router_fuzz, and the bytes."""
    at = 2
    for _ in range(struct.unpack_from(">H", tuple_bytes)[0]):
        kind = "tbnu".index(chr(tuple_bytes[at]))
        at += 1
        size = 0
        if kind < 2:
            (size,) = struct.unpack_from(">I", tuple_bytes, at)
            at += 4
        yield kind, tuple_bytes[at:at + size]
        at += size


def configurations() -> Iterator[bytes]:
    """Every example of the reference, every key with its default, and Debezium connectors."""
    text = (ROOT / "docs" / "configuration.md").read_text()
    for example in re.findall(r"```toml\n(.*?)```", text, re.DOTALL):
        yield example.encode()
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        rows = re.findall(r"^\| `(\w+)` \| [^|]* \| `([^`|]*)` \|", section, re.MULTILINE)
        head = section.splitlines()[0].strip("` ")
        yield "\n".join([head, *(f"{key} = {default}" for key, default in rows)]).encode()
    connectors = (ROOT / "tests" / "unit" / "debezium" / "debezium_import_test.cc").read_text()
    for connector in re.findall(r'^constexpr std::string_view k\w+ = R"\((.*?)\)";', connectors, re.DOTALL | re.MULTILINE):
        yield connector.encode()


def logical_messages() -> Iterator[bytes]:
    """Contents of logical messages, each in some of the formats."""
    members = {"id": 1, "aggregate_type": "order", "aggregate_id": "k", "payload": {"a": [1.5, None], "b": {}}}
    odd = {"h": 2**40, "e": "\u00e9\U0001d11e", "p": 1, "payload": "{\"a\": 1}"}
    for content in (members, members | odd, members | {"aggregate_id": None}, members | {"payload": [[], {}]}):
        for formats in (0, 12, 62, 112, 118, 168):
            yield bytes([formats]) + json.dumps(content).encode()


def corpora() -> Iterator[tuple[str, bytes]]:
    """Every target with each of its seeds."""
    for configuration in configurations():
        yield "config", configuration
    for message in logical_messages():
        yield "message", message
    yield "copy_data", keepalive(0x16B3748, False)
    yield "copy_data", keepalive(0x16B3748, True)
    for number in range(64):  # session inputs are random bytes, not recordings
        yield "session", hashlib.shake_128(bytes([number])).digest(64 + 16 * number)
    yield "pgoutput", STREAM_ABORT
    yield "copy_data", xlog_data(STREAM_ABORT)
    for messages in recorded_streams():
        yield "stream", frames([STREAM_ABORT, *messages, STREAM_ABORT])
        yield "stream", frames(messages)
        for each in transactions(messages):
            yield "stream", frames(each)
        for message in messages:
            yield "pgoutput", message
            yield "copy_data", xlog_data(message)
            if message[:1] == b"I":
                row = message[_INSERT_HEAD:]
                yield "tuple", row
                yield "tuple", row + b"N" + row
                yield "router", b"\x00" + b"".join(struct.pack(">BH", kind, len(value)) + value
                                                   for kind, value in values(row) if len(value) < 1 << 16)


def main() -> None:
    folder = Path(sys.argv[1])
    for target, seed in corpora():
        if len(seed) <= _LONGEST or target == "stream":
            path = folder / target / hashlib.sha1(seed).hexdigest()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(seed)
    (folder / "made").touch()


if __name__ == "__main__":
    main()
