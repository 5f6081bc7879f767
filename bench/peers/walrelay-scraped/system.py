"""walrelay, scraped every second."""

import threading
import urllib.request

from walrelay_bench.system import Work, load
from walrelay_dev.ports import free_ports

_INTERVAL = 1.0


class Peer(load("walrelay")):  # type: ignore[misc]
    title = "walrelay, scraped every second"
    workloads = ("steady-1000", "idle")

    def start(self, work: Work) -> None:
        (self._port,) = free_ports(1)
        self._ended = threading.Event()
        super().start(work)
        self._scraper = threading.Thread(target=self._scrape, daemon=True)
        self._scraper.start()

    def stop(self) -> None:
        self._ended.set()
        self._scraper.join()
        super().stop()

    def listen(self) -> str:
        return f"127.0.0.1:{self._port}"

    def _scrape(self) -> None:
        while not self._ended.wait(_INTERVAL):
            with urllib.request.urlopen(f"http://{self.listen()}/metrics", timeout=10) as page:
                page.read()
