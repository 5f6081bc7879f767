#!/usr/bin/python3
"""The relay as a service: notifications to systemd, and the signals of an operator."""

import signal
import socket

from walrelay_test.servers import test_folder
from walrelay_test.tcp_proxy import TcpProxy
from walrelay_test.testcase import NO_BROKER, IntegrationTest, RelayProcess, main


class ServiceCase(IntegrationTest):
    def setUp(self) -> None:
        super().setUp()
        path = test_folder() / f"{self.name}-notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.socket.bind(str(path))
        self.socket.settimeout(0.1)
        self.heard = ""
        self.environment = {"NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "2000000"}

    def listen(self) -> str:
        """All notifications so far."""
        try:
            while True:
                self.heard += self.socket.recv(4096).decode()
        except TimeoutError:
            return self.heard

    def wait_for(self, relay: RelayProcess, text: str, *, ended: bool = False) -> None:
        relay.wait_until(lambda: text in self.listen(), 60, f"notification {text}", ended=ended)


class ServiceTest(ServiceCase):
    def test_systemd_is_notified_of_start_state_and_stop(self) -> None:
        relay = self.start_relay(environment=self.environment)
        self.wait_for(relay, "READY=1\n")
        self.wait_for(relay, "STATUS=streaming")
        self.outbox.insert(1)
        self.wait_for(relay, "STATUS=streaming: 1 events acknowledged")
        relay.terminate()
        relay.wait_exit()
        self.assertIn("STOPPING=1\n", self.listen())

    def test_slow_stop_extends_the_timeout(self) -> None:
        relay = self.start_relay(NO_BROKER | {"pipeline.drain_timeout": "5s"},
                                 environment=self.environment)
        self.outbox.insert(1)
        # The event waits for its topic. Notifications are read meanwhile: Linux queues ten (net.unix.max_dgram_qlen) and
        # the relay drops what does not fit.
        self.wait_for(relay, "STATUS=degraded: WR-4001")
        relay.terminate()
        self.wait_for(relay, "STOPPING=1\nEXTEND_TIMEOUT_USEC=15000000\n", ended=True)

    def test_hung_relay_sends_no_watchdog_ping(self) -> None:
        relay = self.start_relay(environment=self.environment)
        self.wait_for(relay, "WATCHDOG=1\n")
        relay.pause()
        self.listen()
        self.heard = ""
        self.assertEqual(self.listen(), "")
        relay.resume()
        self.wait_for(relay, "WATCHDOG=1\n")

    def test_watchdog_pings_continue_while_kafka_is_unreachable(self) -> None:
        relay = self.start_relay(NO_BROKER, environment=self.environment)
        self.outbox.insert(1)
        self.wait_for(relay, "STATUS=degraded: WR-4001")
        self.listen()
        self.heard = ""
        self.wait_for(relay, "WATCHDOG=1\n")

    def test_unreachable_database_does_not_delay_boot(self) -> None:
        relay = self.start_relay({"source.dsn": "host=127.0.0.1 port=1 user=u dbname=d"},
                                 environment=self.environment)
        self.wait_for(relay, "READY=1\n")
        self.wait_for(relay, "STATUS=degraded: WR-2001")

    def test_signals_log_the_status_and_toggle_the_log_level(self) -> None:
        relay = self.start_relay()
        relay.wait_ready()
        self.outbox.insert(1)
        self.settle()
        relay.wait_until(lambda: relay.signal(signal.SIGUSR1) or
                         relay.logs("status", state="streaming", acknowledged=1), 60, "the status")
        relay.signal(signal.SIGUSR2)
        self.assertEqual(relay.wait_for_log("log_level")["now"], "debug")
        relay.signal(signal.SIGUSR2)
        self.assertEqual(relay.wait_for_log("log_level", count=2)["now"], "info")
        self.assertEqual(relay.stop(), 0)


class SlowPostgresTest(ServiceCase):
    def test_watchdog_pings_continue_during_a_slow_connection(self) -> None:
        with TcpProxy(self.postgres.port) as link:
            link.delay(0.5)
            relay = self.start_relay({"source.dsn": f"host=127.0.0.1 port={link.port} user=postgres dbname={self.name}"},
                                     environment=self.environment)
            relay.wait_until(lambda: self.listen().count("WATCHDOG=1\n") >= 4, 60, "watchdog pings")
            self.assertEqual(relay.logs("streaming") + relay.logs("disconnected"), [],
                             "the first connection attempt is in progress")
            link.heal()
            relay.wait_ready()


if __name__ == "__main__":
    main()
