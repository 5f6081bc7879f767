"""Faults of the links between the relay and the servers, injected by their proxies."""

import time
from collections.abc import Callable

from fault import Context
from walrelay_test.tcp_proxy import TcpProxy


def disturb_postgres_link(on: Context) -> None:
    _disturb(on, [on.system.postgres_link])


def disturb_broker_links(on: Context) -> None:
    """Disturbs all of them, or one."""
    links = on.system.broker_links.all
    _disturb(on, links if on.chance.random() < 0.5 else [on.chance.choice(links)])


def _disturb(on: Context, links: list[TcpProxy]) -> None:
    name, harm = on.chance.choice(list(_HARMS.items()))
    on.note(name)
    harm(on, links)
    for link in links:
        link.heal()


def _cut_again_and_again(on: Context, links: list[TcpProxy]) -> None:
    """A flapping link; half of the cuts are in the middle of a transfer."""
    end = time.monotonic() + on.seconds
    while time.monotonic() < end:
        for link in links:
            if on.chance.random() < 0.5:
                link.cut_after(on.chance.randint(1, 20_000))
            else:
                link.cut(reset=on.chance.random() < 0.5)
        time.sleep(on.chance.uniform(0.05, 3))


def _hold(on: Context, links: list[TcpProxy]) -> None:
    toward = on.chance.choice(["both", "server", "client"])
    on.note(f"toward {toward}")
    for link in links:
        link.hold(toward)
    on.last()
    if on.chance.random() < 0.5:
        for link in links:
            link.cut(reset=True)


def _delay(on: Context, links: list[TcpProxy]) -> None:
    for link in links:
        link.delay(0.5, 0.4)
    on.last()


def _throttle(on: Context, links: list[TcpProxy]) -> None:
    for link in links:
        link.throttle(64_000)
    on.last()


def _slice(on: Context, links: list[TcpProxy]) -> None:
    for link in links:
        link.slice()
    on.last()


def _refuse(on: Context, links: list[TcpProxy]) -> None:
    for link in links:
        link.refuse()
        link.cut(reset=True)
    on.last()


_HARMS: dict[str, Callable[[Context, list[TcpProxy]], None]] = {
    "repeated cuts": _cut_again_and_again, "half-open": _hold, "500 ms delay, 400 ms jitter": _delay,
    "64 kB/s": _throttle, "one byte at a time": _slice, "refused": _refuse}
