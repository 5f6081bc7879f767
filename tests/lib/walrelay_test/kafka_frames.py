"""Drops whole requests and responses between the relay and a broker: a tap of the proxy.

A network loses bytes and then the connection. No network loses one request and delivers the next; the tests
do so to check how a broker handles a gap in the sequence numbers.
"""

import struct
import threading

_PRODUCE = 0
_INIT_PRODUCER_ID = 22


class KafkaFrames:
    """What to drop, on any connection; `tap` creates the tap of one connection."""

    def __init__(self) -> None:
        self.lost_requests = 0
        self.lost_answers = 0
        self.produced = 0  # Produce requests seen
        self._lock = threading.Lock()
        self._requests = 0
        self._answers = 0
        self._hangs = False

    def hang_producer(self) -> None:
        """Drops each Produce request until a new producer begins: no reconnection helps the present one."""
        with self._lock:
            self._hangs = True

    def lose_requests(self, count: int) -> None:
        """Drops the next `count` Produce requests before they reach a broker."""
        with self._lock:
            self._requests += count

    def lose_answers(self, count: int) -> None:
        """Drops the responses of the next `count` Produce requests, which brokers carry out."""
        with self._lock:
            self._answers += count

    def tap(self) -> "FrameTap":
        return FrameTap(self)

    # --- called by the taps ---

    def take_request(self) -> bool:
        with self._lock:
            self.produced += 1
            if self._requests == 0 and not self._hangs:
                return False
            self._requests -= 0 if self._hangs else 1
            self.lost_requests += 1
            return True

    def begin_producer(self) -> None:
        with self._lock:
            self._hangs = False

    def take_answer(self) -> bool:
        with self._lock:
            if self._answers == 0:
                return False
            self._answers -= 1
            self.lost_answers += 1
            return True


class FrameTap:
    """One connection."""

    def __init__(self, frames: KafkaFrames) -> None:
        self._frames = frames
        self._client = bytearray()
        self._server = bytearray()
        self._produces: set[int] = set()  # correlation ids that wait for a response

    def to_server(self, data: bytes) -> bytes:
        self._client += data
        passed = b""
        while (frame := take_frame(self._client)) is not None:
            key, _, correlation = struct.unpack_from(">hhi", frame, 4)
            if key == _INIT_PRODUCER_ID:
                self._frames.begin_producer()
            if key == _PRODUCE:
                if self._frames.take_request():
                    continue
                self._produces.add(correlation)
            passed += frame
        return passed

    def to_client(self, data: bytes) -> bytes:
        self._server += data
        passed = b""
        while (frame := take_frame(self._server)) is not None:
            (correlation,) = struct.unpack_from(">i", frame, 4)
            produce = correlation in self._produces
            self._produces.discard(correlation)
            if not produce or not self._frames.take_answer():
                passed += frame
        return passed


def take_frame(buffer: bytearray) -> bytes | None:
    """Removes a complete request or response from the front, with its length."""
    if len(buffer) < 4:
        return None
    (length,) = struct.unpack_from(">i", buffer)
    if len(buffer) < length + 4:
        return None
    frame = bytes(buffer[:length + 4])
    del buffer[:length + 4]
    return frame
