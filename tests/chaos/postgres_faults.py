"""Faults of Postgres, and changes of the outbox table."""

import time

import psycopg2
from fault import LONGEST_SECONDS, Context
from walrelay_dev.process import wait_until
from walrelay_test.database import Database

_LARGE_ROWS = 200_000


def restart_fast(on: Context) -> None:
    started = time.monotonic()
    on.system.postgres.stop("fast")
    on.stops.append(time.monotonic() - started)
    on.note(f"the fast stop took {on.stops[-1]:.2f} s")
    time.sleep(min(on.seconds, 3))
    on.system.postgres.start()


def restart_immediate(on: Context) -> None:
    on.system.postgres.restart("immediate")


def kill_postmaster(on: Context) -> None:
    on.system.postgres.kill()
    on.system.postgres.start()


def terminate_walsender(on: Context) -> None:
    for _ in range(on.chance.randint(1, 5)):
        on.system.connect().execute("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots "
                                    "WHERE slot_name = %s AND active", on.system.slot)
        time.sleep(on.chance.uniform(0, 1))


def checkpoints(on: Context) -> None:
    database = on.system.connect()
    for _ in range(on.chance.randint(3, 8)):
        database.execute("SELECT pg_switch_wal()")
        database.execute("CHECKPOINT")


def change_table(on: Context) -> None:
    """Adds a column, renames it, and drops it."""
    database = on.system.connect()
    name = f"extra{on.chance.randrange(1_000_000)}"
    for sql in (f"ADD {name} text DEFAULT 'x'", f"RENAME {name} TO {name}_too", f"DROP {name}_too"):
        wait_until(lambda sql=sql: _alter(database, sql), LONGEST_SECONDS, f"ALTER TABLE outbox {sql}")
        time.sleep(min(on.seconds, 2) / 2)


def _alter(database: Database, sql: str) -> bool:
    """Returns whether the change succeeded; the lock timeout keeps it from blocking writers for long."""
    try:
        database.execute(f"SET lock_timeout = '300ms'; ALTER TABLE outbox {sql}")
    except psycopg2.OperationalError:  # a lock timeout, or a deadlock with a writer
        return False
    return True


def large_transaction(on: Context) -> None:
    on.workload.write_large_transaction(_LARGE_ROWS)
