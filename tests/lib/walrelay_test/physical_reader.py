"""A client that reads a physical slot as a standby does: it receives the WAL, and confirms all of it."""

import contextlib
import select
import threading
from collections.abc import Iterator

import psycopg2
import psycopg2.extras
from walrelay_dev.postgres import Postgres


@contextlib.contextmanager
def physical_reader(postgres: Postgres, slot: str) -> Iterator[None]:
    """Reads `slot` during the `with` block."""
    connection = psycopg2.connect(postgres.dsn(), connection_factory=psycopg2.extras.PhysicalReplicationConnection)
    cursor = connection.cursor()
    start = postgres.psql(f"SELECT restart_lsn FROM pg_replication_slots WHERE slot_name = '{slot}'").strip()
    cursor.start_replication(slot_name=slot, start_lsn=start, status_interval=1)
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            message = cursor.read_message()
            if message is None:
                select.select([cursor], [], [], 0.05)
            else:
                cursor.send_feedback(flush_lsn=message.data_start + len(message.payload))
    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        connection.close()
