"""A minimal client of Postgres' replication protocol. It sends no reply unless a test calls for it.

Used to test the behaviour of the server. (psycopg2's client answers keepalives by itself and hides them.)
"""

import socket
import struct
import time
from dataclasses import dataclass

from walrelay_dev.errors import ServerError
from walrelay_dev.patience import patient
from walrelay_dev.postgres import Postgres

from .pgoutput import format_lsn

_PROTOCOL_3 = 196608
_SECONDS = 60.0
_REPORT_SECONDS = 0.3


class Ended(Exception):
    """The server has closed the connection."""


@dataclass(frozen=True)
class Keepalive:
    wal_end: int
    reply_requested: bool


@dataclass(frozen=True)
class Change:
    """A pgoutput message; `kind` is its first byte."""

    kind: str
    payload: bytes

    def lsn(self, offset: int) -> int:
        return struct.unpack_from(">Q", self.payload, offset)[0]


class ReplicationClient:
    """One connection to `database`, over the Unix socket, with trust authentication.

    It sends no status updates by itself unless `reporting` is set: then it sends them on each read, without
    confirming anything, so that the server does not time out however slowly the client reads.
    """

    def __init__(self, postgres: Postgres, database: str, *, options: str = "") -> None:
        self.reporting = False
        self._reported = 0.0
        self._buffer = b""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(_SECONDS)
        self._socket.connect(str(postgres.data.parent / f".s.PGSQL.{postgres.port}"))
        words = {"user": "postgres", "database": database, "replication": "database",
                 "options": options}
        body = b"".join(f"{name}\0{value}\0".encode() for name, value in words.items()) + b"\0"
        self._socket.sendall(struct.pack(">II", len(body) + 8, _PROTOCOL_3) + body)
        self._read_until(b"Z")

    def __enter__(self) -> "ReplicationClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def start(self, slot: str, position: int = 0) -> "ReplicationClient":
        """Sends START_REPLICATION; raises the server's error message if it fails."""
        self._send(b"Q", f"START_REPLICATION SLOT {slot} LOGICAL {format_lsn(position)} (proto_version "
                         "'1', publication_names 'walrelay')\0".encode())
        self._read_until(b"W")
        return self

    def confirm(self, flushed: int, written: int | None = None, *, reply: bool = False) -> None:
        """Sends a status update: received up to `written`, confirmed up to `flushed`."""
        written = flushed if written is None else written
        self._send(b"d", b"r" + struct.pack(">QQQqB", written, flushed, flushed, 0, reply))

    def receive(self, seconds: float = _SECONDS) -> Keepalive | Change | None:
        """The next message of the stream; None if none arrives in time. Raises Ended at the end of the stream."""
        deadline = time.monotonic() + seconds
        if self.reporting and time.monotonic() - self._reported > _REPORT_SECONDS:
            self._reported = time.monotonic()
            self.confirm(0)
        while (message := self._take()) is None:
            if not self._read(deadline - time.monotonic()):
                return None
        kind, body = message
        if kind != b"d":
            raise Ended(body.decode(errors="replace"))
        if body[:1] == b"k":
            wal_end, _, reply = struct.unpack_from(">QqB", body, 1)
            return Keepalive(wal_end, bool(reply))
        return Change(body[25:26].decode(), body[25:])

    def changes(self, rows: int, quiet: float = 1.0) -> list[Change]:
        """All changes until `rows` inserts have arrived and then no message arrives for `quiet` seconds."""
        found: list[Change] = []
        inserts = 0
        end = time.monotonic() + (patient(_SECONDS) if rows else quiet)
        while time.monotonic() < end:
            message = self.receive(max(0.0, end - time.monotonic()))
            if isinstance(message, Change):
                found.append(message)
                inserts += message.kind == "I"
                more = inserts < rows or message.kind != "C"
                end = time.monotonic() + (patient(_SECONDS) if more else quiet)
        return found

    def _send(self, kind: bytes, body: bytes) -> None:
        try:
            self._socket.sendall(kind + struct.pack(">I", len(body) + 4) + body)
        except OSError as error:
            raise Ended(str(error)) from None

    def _read_until(self, wanted: bytes) -> None:
        while True:
            while (message := self._take()) is None:
                if not self._read(patient(_SECONDS)):
                    raise ServerError("no response from Postgres")
            kind, body = message
            if kind == b"E":
                raise ServerError(body.replace(b"\0", b" ").decode(errors="replace"))
            if kind == wanted:
                return

    def _take(self) -> tuple[bytes, bytes] | None:
        if len(self._buffer) < 5:
            return None
        (length,) = struct.unpack_from(">I", self._buffer, 1)
        if len(self._buffer) < length + 1:
            return None
        kind, body = self._buffer[:1], self._buffer[5:length + 1]
        self._buffer = self._buffer[length + 1:]
        return kind, body

    def _read(self, seconds: float) -> bool:
        """Whether bytes arrived in time."""
        if seconds <= 0:
            return False
        self._socket.settimeout(seconds)
        try:
            data = self._socket.recv(1 << 16)
        except TimeoutError:
            return False
        except OSError as error:
            raise Ended(str(error)) from None
        finally:
            self._socket.settimeout(_SECONDS)
        if not data:
            raise Ended("end of file")
        self._buffer += data
        return True
