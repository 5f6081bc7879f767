#!/usr/bin/python3
"""Tests of the proxy, between a client and an echo server."""

import contextlib
import socket
import threading
import time
import unittest

from walrelay_dev.process import wait_until
from walrelay_test.tcp_proxy import TcpProxy

_SECONDS = 30


class Echo:
    """An echo server that records how each connection ended."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.ends: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            try:
                while data := connection.recv(65536):
                    self.received += data
                    connection.sendall(data)
                self.ends.append("FIN")
            except OSError:
                self.ends.append("RST")


class TcpProxyTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Echo()
        self.addCleanup(self.server.close)
        self.proxy = self.enterContext(TcpProxy(self.server.port))
        self.client = self.connect()

    def connect(self) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.proxy.port), timeout=_SECONDS)
        self.addCleanup(client.close)
        return client

    def exchange(self, data: bytes, client: socket.socket | None = None) -> None:
        """Sends `data`, and expects it back."""
        client = client or self.client
        sender = threading.Thread(target=client.sendall, args=(data,))
        sender.start()
        got = bytearray()
        while len(got) < len(data):
            piece = client.recv(65536)
            self.assertTrue(piece, "the connection is open")
            got += piece
        sender.join()
        self.assertEqual(bytes(got), data)

    def expect_silence(self) -> None:
        self.client.settimeout(0.3)
        with self.assertRaises(TimeoutError):
            self.client.recv(1)
        self.client.settimeout(_SECONDS)

    def expect_end_at_server(self, end: str) -> None:
        wait_until(lambda: self.server.ends, _SECONDS, "the end of the connection")
        self.assertEqual(self.server.ends, [end])

    def test_all_bytes_are_forwarded(self) -> None:
        self.exchange(bytes(range(256)) * 20_000)
        self.assertEqual((self.proxy.connections, self.proxy.accepted), (1, 1))

    def test_shutdown_of_the_client_is_forwarded(self) -> None:
        self.exchange(b"before")
        self.client.shutdown(socket.SHUT_WR)
        self.assertEqual(self.client.recv(1), b"")
        self.expect_end_at_server("FIN")
        wait_until(lambda: self.proxy.connections == 0, _SECONDS, "no connection")

    def test_cut_closes_both_sides(self) -> None:
        self.exchange(b"before")
        self.proxy.cut()
        self.assertEqual(self.client.recv(1), b"")
        self.expect_end_at_server("FIN")
        self.exchange(b"after", self.connect())

    def test_reset_is_an_error_on_both_sides(self) -> None:
        self.exchange(b"before")
        self.proxy.cut(reset=True)
        with self.assertRaises(ConnectionResetError):
            self.client.recv(1)
        self.expect_end_at_server("RST")

    def test_cut_after_resets_after_that_many_bytes(self) -> None:
        self.proxy.cut_after(1000)
        self.client.sendall(b"x" * 5000)
        got = 0
        with self.assertRaises(ConnectionResetError):
            while data := self.client.recv(65536):
                got += len(data)
        self.assertLessEqual(got, 1000)
        self.exchange(b"x" * 5000, self.connect())

    def test_held_bytes_are_forwarded_after_heal(self) -> None:
        self.exchange(b"before")
        self.proxy.hold()
        self.client.sendall(b"held")
        self.expect_silence()
        self.assertEqual(bytes(self.server.received), b"before")
        self.proxy.heal()
        self.assertEqual(self.client.recv(4), b"held")

    def test_hold_applies_to_one_direction(self) -> None:
        self.exchange(b"before ")
        self.proxy.hold("client")
        self.client.sendall(b"answered")
        wait_until(lambda: self.server.received == b"before answered", _SECONDS, "the bytes to reach the server")
        self.expect_silence()
        self.proxy.heal()
        self.assertEqual(self.client.recv(8), b"answered")

    def test_hold_delays_the_end_of_a_connection(self) -> None:
        self.exchange(b"before")
        self.proxy.hold()
        self.client.close()
        time.sleep(0.2)  # nothing must arrive
        self.assertEqual(self.server.ends, [])
        self.proxy.heal()
        self.expect_end_at_server("FIN")

    def test_held_connection_can_be_cut(self) -> None:
        self.exchange(b"before")
        self.proxy.hold()
        self.client.sendall(b"lost")
        self.proxy.cut(reset=True)
        with self.assertRaises(ConnectionResetError):
            self.client.recv(1)
        wait_until(lambda: self.proxy.connections == 0, _SECONDS, "no connection")

    def test_delay_applies_to_both_directions_and_keeps_the_order(self) -> None:
        self.proxy.delay(0.2, 0.1)
        started = time.monotonic()
        self.exchange(b"there and back")
        self.assertGreaterEqual(time.monotonic() - started, 0.2)
        self.proxy.delay(0.05, 0.05)
        self.exchange(bytes(range(256)) * 5000)

    def test_throttle_limits_the_rate(self) -> None:
        self.proxy.throttle(100_000, "server")
        started = time.monotonic()
        self.exchange(b"x" * 50_000)
        self.assertGreaterEqual(time.monotonic() - started, 0.4)

    def test_slices_keep_the_bytes_unchanged(self) -> None:
        self.proxy.slice()
        self.exchange(bytes(range(256)) * 20)
        self.proxy.slice(7)
        self.exchange(bytes(range(256)) * 200)

    def test_connections_are_refused_until_the_port_is_opened_again(self) -> None:
        self.exchange(b"before")
        self.proxy.refuse()
        with self.assertRaises(ConnectionRefusedError):
            self.connect()
        self.exchange(b"open connections continue")
        self.proxy.accept()
        self.exchange(b"after", self.connect())

    def test_unreachable_server_is_a_reset(self) -> None:
        self.server.close()
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))  # bound, but not listening
            # The reset may arrive so early that connect() already fails.
            with TcpProxy(unused.getsockname()[1]) as proxy, \
                    self.assertRaises(ConnectionResetError), \
                    socket.create_connection(("127.0.0.1", proxy.port), timeout=_SECONDS) as client:
                client.recv(1)

    def test_tap_receives_and_changes_the_forwarded_bytes(self) -> None:
        class Shout:
            def to_server(self, data: bytes) -> bytes:
                return data.upper()

            def to_client(self, data: bytes) -> bytes:
                return data.replace(b"A", b"")

        with TcpProxy(self.server.port, tap=Shout) as proxy, \
                socket.create_connection(("127.0.0.1", proxy.port), timeout=_SECONDS) as client:
            client.sendall(b"abc")
            self.assertEqual(client.recv(10), b"BC")


if __name__ == "__main__":
    unittest.main()
