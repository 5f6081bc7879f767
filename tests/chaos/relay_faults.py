"""Faults of the relay's process, and competition for its slot."""

import time

from fault import LONGEST_SECONDS, Context
from walrelay_dev.errors import ServerError
from walrelay_dev.patience import patient
from walrelay_dev.process import wait_until
from walrelay_test.kafka_transactions import wait_until_ended

_DRAIN_SECONDS = 60.0


def kill_burst(on: Context) -> None:
    """Sends SIGKILL at random moments, including a few milliseconds after the start."""
    for _ in range(on.chance.randint(1, 20)):
        on.supervisor.kill()
        on.supervisor.wait_running()
        time.sleep(on.chance.choice([on.chance.uniform(0, 0.1), on.chance.uniform(0, 1.5)]))


def terminate(on: Context) -> None:
    on.supervisor.terminate(_DRAIN_SECONDS)


def suspend(on: Context) -> None:
    """Sends SIGSTOP, for up to far longer than wal_sender_timeout."""
    on.supervisor.pause()
    on.last()
    on.supervisor.resume()


def suspend_transaction(on: Context) -> None:
    """Suspends the relay while a transaction is open, until the brokers have aborted it, or longer."""
    until = time.monotonic() + patient(LONGEST_SECONDS)
    on.supervisor.pause()
    while _transaction(on) != "Ongoing" and time.monotonic() < until:
        on.supervisor.resume()
        time.sleep(on.chance.uniform(0, 0.1))
        on.supervisor.pause()
    on.last()
    on.note(f"its transaction: {_transaction(on)}")
    on.supervisor.resume()


def _transaction(on: Context) -> str:
    try:
        return wait_until_ended(on.system.kafka, on.system.pipeline)
    except (ServerError, OSError) as error:
        return f"unknown: {error}"


def second_relay(on: Context) -> None:
    """Starts a standby; kills, stops or suspends the first relay; later the first one takes over again.

    The second relay stops only once the first one has seen it or holds the slot: a slot that moved while the
    first relay saw no holder is a gap, as intended.
    """
    first, second = on.supervisor.relay, on.system.new_relay().start()
    try:
        second.wait_for_state("standby", "streaming", "catching_up", seconds=LONGEST_SECONDS)
        how = on.chance.choice(["kill", "terminate", "suspend", "nothing"])
        on.note(f"the first: {how}")
        if how == "kill":
            on.supervisor.kill()
        elif how == "terminate":
            on.supervisor.terminate(_DRAIN_SECONDS)
        elif how == "suspend":
            on.supervisor.pause()
            wait_until(lambda: second.state() != "standby", LONGEST_SECONDS,
                       "the second relay to take over")
        on.last()
        on.supervisor.resume()
        on.supervisor.wait_running()
        wait_until(lambda: "standby" in (first.state(), second.state()), LONGEST_SECONDS,
                   f"one of two relays to stand by: {first.log_text[-2000:]}")
        second.terminate() if on.chance.random() < 0.5 else second.kill()
        second.wait_exit(_DRAIN_SECONDS)
        wait_until(lambda: first.state() != "standby", LONGEST_SECONDS,
                   "the first relay to take over again")
    finally:
        on.supervisor.resume()
        second.kill()
