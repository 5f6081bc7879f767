"""A TCP proxy on loopback that injects network faults.

It is placed between the relay and one server. Its own tests use it with an echo server.
"""

import asyncio
import contextlib
import random
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Literal, Protocol

Toward = Literal["server", "client", "both"]

_CHUNK = 64 * 1024
_QUEUED_CHUNKS = 16  # chunks in flight; more than that blocks the sender
_PIECES_PER_SECOND = 20  # of a throttled stream
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_SECONDS = 30.0


class Tap(Protocol):
    """Receives the bytes of one connection, and returns the bytes to pass on."""

    def to_server(self, data: bytes) -> bytes: ...

    def to_client(self, data: bytes) -> bytes: ...


class TcpProxy:
    """Forwards connections from `port` to `target`, both on 127.0.0.1; a context manager.

    A fault applies to all open and future connections until `heal`. The proxy has its own thread; its methods
    may be called from any thread. `tap` creates a tap for each connection.
    """

    def __init__(self, target: int, *, port: int = 0, tap: Callable[[], Tap] | None = None,
                 seed: int = 0) -> None:
        self.port = port
        self.accepted = 0  # connections forwarded so far
        self._target = target
        self._tap = tap
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._listener: asyncio.Server | None = None
        self._connections: set[_Connection] = set()
        self._directions = {"server": _Direction(random.Random(f"{seed}/server")),
                            "client": _Direction(random.Random(f"{seed}/client"))}

    def __enter__(self) -> "TcpProxy":
        self._thread.start()
        self.accept()
        return self

    def __exit__(self, *_: object) -> None:
        self.refuse()
        self.cut()
        self._do(self._end_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def connections(self) -> int:
        """Number of open connections."""
        return len(self._connections)

    # --- faults ---

    def cut(self, *, reset: bool = False) -> None:
        """Closes all connections on both sides: with FIN, or with RST, which also loses bytes in flight."""
        self._do(self._cut(reset))

    def cut_after(self, size: int) -> None:
        """Resets all connections once `size` more bytes have reached clients, also within a message."""
        self._do(self._set("client", left=size))

    def hold(self, toward: Toward = "both") -> None:
        """Half-open: forwards nothing, not even an end, and closes nothing."""
        self._do(self._set(toward, held=True))

    def delay(self, seconds: float, jitter: float = 0.0, toward: Toward = "both") -> None:
        """Delays bytes by `seconds`, plus or minus `jitter`; keeps their order."""
        self._do(self._set(toward, delay=seconds, jitter=jitter))

    def throttle(self, bytes_per_second: int, toward: Toward = "both") -> None:
        self._do(self._set(toward, rate=bytes_per_second))

    def slice(self, longest: int = 1, toward: Toward = "both") -> None:
        """Writes pieces of at most `longest` bytes, each with a separate write."""
        self._do(self._set(toward, longest=longest))

    def refuse(self) -> None:
        """Closes the port: new connections are refused. Open connections continue."""
        self._do(self._refuse())

    def redirect_to(self, target: int) -> None:
        """Forwards new connections to another port; open connections keep their target."""
        self._target = target

    def accept(self) -> None:
        """Opens the port, if it is closed."""
        self._do(self._accept())

    def heal(self) -> None:
        """Ends all faults. Forwards held bytes."""
        self._do(self._set("both", held=False, delay=0.0, jitter=0.0, rate=None, longest=None,
                           left=None))
        self.accept()

    # --- in the thread ---

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_SECONDS)

    async def _set(self, toward: Toward, **conditions: Any) -> None:
        for name, direction in self._directions.items():
            if toward in (name, "both"):
                direction.set(**conditions)

    async def _accept(self) -> None:
        if self._listener is None:
            self._listener = await asyncio.start_server(self._serve, "127.0.0.1", self.port,
                                                        reuse_address=True, limit=_CHUNK)
            self.port = self._listener.sockets[0].getsockname()[1]

    async def _refuse(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    async def _cut(self, reset: bool) -> None:
        for connection in list(self._connections):
            connection.end(reset)

    async def _end_tasks(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far = await asyncio.open_connection("127.0.0.1", self._target, limit=_CHUNK)
        except OSError:
            _end(writer, reset=True)
            return
        connection = _Connection((reader, writer), far, self._directions, self._tap() if self._tap else None)
        self._connections.add(connection)
        self.accepted += 1  # only now: a connection that is counted can be cut
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)
        if self._directions["client"].spent():
            await self._cut(reset=True)


class _Direction:
    """The faults in one direction, shared by all connections."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._open = asyncio.Event()
        self._open.set()
        self._delay = self._jitter = 0.0
        self._rate: int | None = None
        self._longest: int | None = None
        self._left: int | None = None

    def set(self, *, held: bool | None = None, **conditions: Any) -> None:
        if held is not None:
            (self._open.clear if held else self._open.set)()
        for name, value in conditions.items():
            setattr(self, f"_{name}", value)

    def due(self) -> float:
        """When bytes that are read now must arrive."""
        jitter = self._chance.uniform(-self._jitter, self._jitter)
        return asyncio.get_running_loop().time() + max(0.0, self._delay + jitter)

    async def passable(self) -> None:
        await self._open.wait()

    def piece(self, size: int) -> int:
        """How many of `size` bytes to pass to one write."""
        if self._longest is not None:
            size = min(size, self._chance.randint(1, self._longest))
        if self._rate is not None:
            size = min(size, max(1, self._rate // _PIECES_PER_SECOND))
        return size if self._left is None else min(size, self._left)

    async def passed(self, size: int) -> None:
        if self._left is not None:
            self._left -= size
        if self._rate is not None:
            await asyncio.sleep(size / self._rate)
        elif self._longest is not None:
            await asyncio.sleep(0)  # let other tasks run

    def spent(self) -> bool:
        """Whether the bytes that `cut_after` allowed have been sent; returns True once."""
        if self._left is None or self._left > 0:
            return False
        self._left = None
        return True


class _Connection:
    """A client's connection, and the proxy's connection to the server."""

    def __init__(self, near: tuple[asyncio.StreamReader, asyncio.StreamWriter],
                 far: tuple[asyncio.StreamReader, asyncio.StreamWriter],
                 directions: dict[str, _Direction], tap: Tap | None) -> None:
        self._writers = (near[1], far[1])
        self._task: asyncio.Task | None = None
        self._pipes = (_Pipe(near[0], far[1], directions["server"], tap.to_server if tap else None),
                       _Pipe(far[0], near[1], directions["client"], tap.to_client if tap else None))

    async def run(self) -> None:
        """Runs until both sides have ended, or one of them has failed."""
        self._task = asyncio.current_task()
        running = [asyncio.create_task(pipe.run()) for pipe in self._pipes]
        reset = True
        try:
            await asyncio.gather(*running)
            reset = False
        except (OSError, _Spent):
            pass
        except asyncio.CancelledError:
            if self._task is not None and not self._writers[0].is_closing():
                raise
        finally:
            for pipe in running:
                pipe.cancel()
            self.end(reset)

    def end(self, reset: bool) -> None:
        for writer in self._writers:
            if not writer.is_closing():
                _end(writer, reset)
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()


class _Spent(Exception):
    """The bytes that `cut_after` allowed have been sent."""


class _Pipe:
    """One direction of a connection. Reading continues while earlier bytes are in flight."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: _Direction,
                 tap: Callable[[bytes], bytes] | None) -> None:
        self._reader = reader
        self._writer = writer
        self._direction = direction
        self._tap = tap
        self._queue: asyncio.Queue[tuple[float, bytes | None]] = asyncio.Queue(_QUEUED_CHUNKS)

    async def run(self) -> None:
        reading = asyncio.create_task(self._read())
        try:
            await self._write()
        finally:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await reading

    async def _read(self) -> None:
        with contextlib.suppress(OSError):
            while data := await self._reader.read(_CHUNK):
                passed_on = self._tap(data) if self._tap else data
                if passed_on:
                    await self._queue.put((self._direction.due(), passed_on))
        await self._queue.put((self._direction.due(), None))

    async def _write(self) -> None:
        while True:
            due, data = await self._queue.get()
            await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))
            if data is None:
                break
            await self._pass_on(memoryview(data))
        await self._direction.passable()
        if self._writer.can_write_eof() and not self._writer.is_closing():
            self._writer.write_eof()

    async def _pass_on(self, data: memoryview) -> None:
        while data:
            await self._direction.passable()
            size = self._direction.piece(len(data))
            if size == 0:
                raise _Spent
            self._writer.write(data[:size])
            await self._writer.drain()
            await self._direction.passed(size)
            data = data[size:]


def _end(writer: asyncio.StreamWriter, reset: bool) -> None:
    if reset:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    writer.transport.abort()
