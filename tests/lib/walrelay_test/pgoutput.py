"""An independent decoder of pgoutput, protocol version 1, to check the relay's.

It supports the messages that a test's slot can contain (pg_logical_slot_peek_binary_changes) and raises an
error for any other. Source: Postgres documentation, "Logical Replication Message Formats".
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat

# Microseconds from 1970-01-01 to 2000-01-01, where Postgres' clock starts.
_EPOCH_US = 946_684_800_000_000

Row = dict[str, str | None]


@dataclass
class Transaction:
    """One committed transaction, with its inserted rows in order."""

    xid: int
    commit_time_us: int  # since 1970-01-01 UTC
    final_lsn: int
    end_lsn: int = 0
    rows: list[Row] = field(default_factory=list)
    positions: list[tuple[int, int]] = field(default_factory=list)  # of these: row LSN and index in the WAL record

    def add(self, row: Row, start: int) -> None:
        last_start, last_index = self.positions[-1] if self.positions else (0, 0)
        self.positions.append((start, last_index + 1 if start == last_start else 1))
        self.rows.append(row)


def parse_lsn(text: str) -> int:
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)


def format_lsn(lsn: int) -> str:
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def read_transactions(messages: Iterable[bytes], starts: Iterable[int] = repeat(0)) -> Iterator[Transaction]:
    """Decodes a slot's messages, and yields transactions in commit order. `starts`: the position of each message."""
    columns: dict[int, list[str]] = {}
    current: Transaction | None = None
    for data, start in zip(messages, starts, strict=False):
        message = _Message(data)
        kind = message.take("c").decode()
        if kind == "B":
            final_lsn, time, xid = message.take_all("QqI")
            current = Transaction(xid, time + _EPOCH_US, final_lsn)
        elif kind == "R":
            oid, names = message.relation()
            columns[oid] = names
        elif kind == "I" and current is not None:
            oid = message.take("I")
            assert message.take("c") == b"N", "an INSERT has a new tuple"
            current.add(dict(zip(columns[oid], message.tuple(), strict=True)), start)
        elif kind == "C" and current is not None:
            _, commit_lsn, current.end_lsn, _ = message.take_all("BQQq")
            assert commit_lsn == current.final_lsn, "BEGIN and COMMIT name the same record"
            yield current
            current = None
        else:
            raise ValueError(f"unexpected pgoutput message {data[:60]!r}")
    assert current is None, "the last transaction is complete"


class _Message:
    """One message, read from start to end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, code: str) -> int | bytes:
        return self.take_all(code)[0]

    def take_all(self, codes: str) -> tuple:
        """Reads values in network byte order, without padding; `codes` are those of `struct`."""
        values = struct.unpack_from(f">{codes}", self._data, self._at)
        self._at += struct.calcsize(f">{codes}")
        return values

    def text(self) -> str:
        end = self._data.index(0, self._at)
        value = self._data[self._at:end].decode()
        self._at = end + 1
        return value

    def relation(self) -> tuple[int, list[str]]:
        oid = self.take("I")
        self.text(), self.text(), self.take("c")  # schema, table, replica identity
        names = []
        for _ in range(self.take("H")):
            self.take("B")  # flags
            names.append(self.text())
            self.take_all("Ii")  # type, its modifier
        return oid, names

    def tuple(self) -> list[str | None]:
        return [self._value() for _ in range(self.take("H"))]

    def _value(self) -> str | None:
        kind = self.take("c")
        if kind == b"n":
            return None
        assert kind == b"t", "an INSERT has every value, as text"
        length = self.take("I")
        self._at += length
        return self._data[self._at - length:self._at].decode()
