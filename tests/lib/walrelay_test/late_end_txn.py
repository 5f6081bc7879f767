"""Delivers a request to end a transaction late, when the next transaction of the producer is open (KAFKA-17754).

A tap of the proxies between a producer and its brokers. It takes an EndTxn out of the stream, so that the client sends
it again; when the next transaction has a record, it stops everything that the client sends, and delivers the request
that it has taken. A network does that to a packet whose connection was given up, because the broker does not care from
which connection a request comes.
"""

import socket
import struct
import threading

from walrelay_dev.process import wait_until

from .kafka_frames import take_frame

_PRODUCE, _INIT_PRODUCER_ID, _ADD_PARTITIONS, _END_TXN = 0, 22, 24, 26
_STOPPED = {_PRODUCE, _INIT_PRODUCER_ID, _ADD_PARTITIONS, _END_TXN}
_SECONDS = 60.0

# What happens next: nothing; an EndTxn is taken; it is answered when it was sent again; a record of the next
# transaction is acknowledged; nothing is passed on.
_IDLE, _TAKE, _REPEAT, _RECORD, _STOP = range(5)


class LateEndTxn:
    """`tap` creates the tap of one connection. Produce requests of the next transaction that name `last_topic` are not
    passed on: it is the topic of the last record of a transaction, so the transaction has records and is not complete.
    """

    def __init__(self) -> None:
        self.last_topic = ""
        self._lock = threading.Lock()
        self._state = _IDLE
        self._late = b""

    def arm(self) -> None:
        """Takes the next EndTxn."""
        with self._lock:
            self._state, self._late = _TAKE, b""

    def wait_until_taken(self, seconds: float = _SECONDS) -> None:
        wait_until(lambda: self._state != _TAKE, seconds, "a request to end a transaction")

    def wait_until_next_is_open(self, seconds: float = _SECONDS) -> None:
        """Waits until a record of the next transaction is acknowledged. Nothing more reaches the brokers."""
        wait_until(lambda: self._state == _STOP, seconds, "a record of the next transaction")

    def deliver(self, port: int) -> int:
        """Sends the request to the coordinator at this port; returns the error of its response."""
        with socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as broker:
            broker.sendall(self._late)
            answer = bytearray()
            while (frame := take_frame(answer)) is None:
                answer += broker.recv(4096)
        (error,) = struct.unpack_from(">h", frame, 12)  # after length, correlation id, throttle time
        return int(error)

    def resume(self) -> None:
        """Passes everything on. What was stopped is lost."""
        with self._lock:
            self._state = _IDLE

    def tap(self) -> "_Tap":
        return _Tap(self)

    # --- called by the taps ---

    def passes(self, key: int, frame: bytes) -> bool:
        with self._lock:
            if self._state == _TAKE and key == _END_TXN:
                self._late = frame
                self._state = _REPEAT
                return False
            if self._state == _STOP:
                return key not in _STOPPED
            if self._state == _RECORD:
                # Not the next commit: the transaction must be open when the late request arrives.
                return key != _END_TXN and not (key == _PRODUCE and self._is_last(frame))
            return True

    def _is_last(self, frame: bytes) -> bool:
        return self.last_topic != "" and self.last_topic.encode() in frame

    def answered(self, key: int) -> None:
        with self._lock:
            if (self._state, key) == (_REPEAT, _END_TXN):
                self._state = _RECORD
            elif (self._state, key) == (_RECORD, _PRODUCE):
                self._state = _STOP


class _Tap:
    """One connection."""

    def __init__(self, late: LateEndTxn) -> None:
        self._late = late
        self._client = bytearray()
        self._server = bytearray()
        self._waiting: dict[int, int] = {}  # keys by correlation id

    def to_server(self, data: bytes) -> bytes:
        self._client += data
        passed = b""
        while (frame := take_frame(self._client)) is not None:
            key, _, correlation = struct.unpack_from(">hhi", frame, 4)
            if self._late.passes(key, frame):
                if key in (_PRODUCE, _END_TXN):
                    self._waiting[correlation] = key
                passed += frame
        return passed

    def to_client(self, data: bytes) -> bytes:
        self._server += data
        passed = b""
        while (frame := take_frame(self._server)) is not None:
            (correlation,) = struct.unpack_from(">i", frame, 4)
            if (key := self._waiting.pop(correlation, None)) is not None:
                self._late.answered(key)
            passed += frame
        return passed
