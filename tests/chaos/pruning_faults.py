"""Faults of pruning: between two of its statements, and in the middle of one."""

import time

import psycopg2
from fault import LONGEST_SECONDS, Context
from walrelay_dev.patience import patient
from walrelay_dev.process import wait_until

# The connection of a pass is recognized by its last statement.
_PASS = "FROM pg_stat_activity WHERE query LIKE 'WITH server AS MATERIALIZED%'"
_TERMINATIONS = 10


def suspend_pruning(on: Context) -> None:
    """Suspends the relay between two statements of a pass, often until the server has ended its stream."""
    database = on.system.connect()

    def suspended() -> bool:
        if not database.execute(f"SELECT 1 {_PASS}"):
            return False
        on.supervisor.pause()
        if database.execute(f"SELECT 1 {_PASS} AND state = 'idle'"):
            return True
        on.supervisor.resume()
        return False
    try:
        wait_until(suspended, LONGEST_SECONDS, "a pass of pruning")
        on.last()
    finally:
        on.supervisor.resume()


def terminate_pruning(on: Context) -> None:
    """Ends the connection of a pass, several times."""
    database = on.system.connect()
    until = time.monotonic() + patient(LONGEST_SECONDS)
    ended = 0
    while ended < _TERMINATIONS and time.monotonic() < until:
        try:
            ended += len(database.execute(f"SELECT pg_terminate_backend(pid) {_PASS}"))
        except psycopg2.OperationalError:
            continue
        time.sleep(on.chance.uniform(0, 0.05))
    on.note(f"ended {ended} connections of passes")
