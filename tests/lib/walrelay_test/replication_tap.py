"""Records the replication messages between the relay and Postgres with a tap of the proxy.

It records every status update with its time, and every position that the server sent, so that each
confirmation can be checked, not only samples.
"""

import struct
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from .pgoutput import format_lsn
from .verifier import Sample

_PROTOCOL_3 = 196608
_STATUS = struct.Struct(">QQQ")
_XLOG_HEADER = 25  # 'w', start, end, time
_SHOWN = 20


class ReplicationRecord:
    """The record of all connections through one proxy; `tap` creates the tap of one connection.

    Positions are remembered across connections: a record that was in flight when one broke is
    acknowledged, and confirmed, on the next.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given: set[int] = set()  # positions that may be confirmed
        self._highest = 0
        self._log = ReplicationLog()

    def tap(self) -> "ReplicationTap":
        return ReplicationTap(self)

    def take(self) -> "ReplicationLog":
        """Returns the messages recorded since the last call."""
        with self._lock:
            log, self._log = self._log, ReplicationLog()
            confirmed = max((sample.lsn for sample in log.samples), default=0)
            self._given = {lsn for lsn in self._given if lsn >= confirmed}
            return log

    # --- called by the taps ---

    def on_given(self, lsn: int) -> None:
        with self._lock:
            self._given.add(lsn)
            self._highest = max(self._highest, lsn)

    def on_begin(self, final_lsn: int) -> None:
        with self._lock:
            self._log.sent[final_lsn] += 1

    def on_status(self, written: int, flushed: int, applied: int, before: int) -> None:
        """Records a status update, on a connection that had confirmed up to `before`."""
        with self._lock:
            self._log.statuses += 1
            self._log.samples.append(Sample(time.time_ns() / 1e6, flushed))
            problem = self._problem_of(written, flushed, applied, before)
            if problem is not None and len(self._log.problems) < _SHOWN:
                self._log.problems.append(problem)

    def _problem_of(self, written: int, flushed: int, applied: int, before: int) -> str | None:
        if flushed < before:
            return f"{format_lsn(flushed)} was confirmed after {format_lsn(before)}"
        if flushed not in self._given:
            return f"{format_lsn(flushed)} was confirmed, but the server had not sent it"
        if not flushed <= written <= self._highest:
            return (f"{format_lsn(written)} was reported as received, with {format_lsn(flushed)} "
                    f"confirmed and {format_lsn(self._highest)} the highest position sent")
        if applied != flushed:
            return f"{format_lsn(applied)} was reported as applied, with {format_lsn(flushed)} confirmed"
        return None


@dataclass
class ReplicationLog:
    """`sent` counts how often each transaction was sent, by the position of its commit record."""

    samples: list[Sample] = field(default_factory=list)
    sent: Counter[int] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    statuses: int = 0


class ReplicationTap:
    """The tap of one connection. It does not change the data."""

    def __init__(self, record: ReplicationRecord) -> None:
        self._record = record
        self._client = bytearray()
        self._server = bytearray()
        self._started = False      # a client's first messages have no type byte
        self._answers = 0          # single-byte responses that the server owes for them
        self._flushed = 0

    def to_server(self, data: bytes) -> bytes:
        self._client += data
        while self._started or self._read_startup():
            message = _take_message(self._client)
            if message is None:
                break
            kind, body = message
            if kind == b"Q":
                self._on_query(body)
            elif kind == b"d" and body[:1] == b"r":
                self._on_status(*_STATUS.unpack_from(body, 1))
        return data

    def to_client(self, data: bytes) -> bytes:
        self._server += data
        while self._answers and self._server:
            del self._server[0]
            self._answers -= 1
        while (message := _take_message(self._server)) is not None:
            kind, body = message
            if kind == b"d":
                self._on_copy_data(body)
        return data

    def _read_startup(self) -> bool:
        """Reads the client's startup messages; returns whether the last one has arrived."""
        while len(self._client) >= 8:
            length, code = struct.unpack_from(">II", self._client)
            if len(self._client) < length:
                return False
            del self._client[:length]
            if code == _PROTOCOL_3:
                self._started = True
                return True
            self._answers += 1  # a request for encryption, which the server declines
        return False

    def _on_query(self, body: bytes) -> None:
        if body.startswith(b"START_REPLICATION"):
            words = body.split()
            high, low = words[words.index(b"LOGICAL") + 1].split(b"/")
            self._record.on_given(int(high, 16) << 32 | int(low, 16))

    def _on_copy_data(self, body: bytes) -> None:
        if body[:1] == b"k":
            self._record.on_given(struct.unpack_from(">Q", body, 1)[0])
        elif body[:1] == b"w":
            kind = body[_XLOG_HEADER:_XLOG_HEADER + 1]
            if kind == b"B":
                self._record.on_begin(struct.unpack_from(">Q", body, _XLOG_HEADER + 1)[0])
            elif kind == b"C":
                self._record.on_given(struct.unpack_from(">Q", body, _XLOG_HEADER + 10)[0])

    def _on_status(self, written: int, flushed: int, applied: int) -> None:
        self._record.on_status(written, flushed, applied, self._flushed)
        self._flushed = max(self._flushed, flushed)


def _take_message(buffer: bytearray) -> tuple[bytes, bytes] | None:
    """Removes a complete message from the front: returns its type and its body."""
    if len(buffer) < 5:
        return None
    (length,) = struct.unpack_from(">I", buffer, 1)
    if len(buffer) < length + 1:
        return None
    kind, body = bytes(buffer[:1]), bytes(buffer[5:length + 1])
    del buffer[:length + 1]
    return kind, body
