"""A database for one test, in a cluster that may be shared."""

import select
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg2
from walrelay_dev.postgres import Postgres
from walrelay_dev.process import wait_until

from .pgoutput import parse_lsn


class Database:
    """Runs SQL in one database. Connects when needed, and reconnects after the connection broke."""

    def __init__(self, postgres: Postgres, name: str) -> None:
        self.postgres = postgres
        self.name = name
        self._connection: Any = None

    @classmethod
    def create(cls, postgres: Postgres, name: str) -> "Database":
        server = cls(postgres, "postgres")
        try:
            server.execute(f"CREATE DATABASE {name}")
        finally:
            server.close()
        return cls(postgres, name)

    @property
    def dsn(self) -> str:
        return self.postgres.dsn(self.name)

    def connect(self) -> Any:
        """Opens another connection, in autocommit mode."""
        connection = psycopg2.connect(self.dsn, password=self.postgres.password)
        connection.autocommit = True
        return connection

    def execute(self, sql: str, *values: Any) -> list[tuple]:
        """Runs one or several statements in one transaction, and returns the rows of the last one."""
        with self.cursor() as cursor:
            cursor.execute(sql, values or None)
            return cursor.fetchall() if cursor.description else []

    def value(self, sql: str, *values: Any) -> Any:
        """The first column of the first row."""
        return self.execute(sql, *values)[0][0]

    def cursor(self) -> Any:
        if self._connection is None or not _is_alive(self._connection):
            self._connection = self.connect()
        return self._connection.cursor()

    @contextmanager
    def transaction(self, end: str = "COMMIT") -> Iterator[Any]:
        """A cursor whose statements are one transaction, which ends with `end`."""
        with self.cursor() as cursor:
            cursor.execute("BEGIN")
            yield cursor
            cursor.execute(end)

    # --- the slot ---

    def create_slot(self, name: str, plugin: str = "pgoutput") -> None:
        self.execute("SELECT pg_create_logical_replication_slot(%s, %s)", name, plugin)

    def slot(self, name: str, column: str) -> Any:
        """One column of pg_replication_slots; None if the slot does not exist."""
        rows = self.execute(f"SELECT {column} FROM pg_replication_slots WHERE slot_name = %s", name)
        return rows[0][0] if rows else None

    def confirmed(self, slot: str) -> int:
        return parse_lsn(self.slot(slot, "confirmed_flush_lsn"))

    def log_end(self) -> int:
        """The end of the WAL: everything committed before this call is before this position."""
        return parse_lsn(self.value("SELECT pg_current_wal_flush_lsn()"))

    def walsender(self, slot: str) -> int:
        """The PID of the walsender of a slot; waits until there is one."""
        return wait_until(lambda: self.slot(slot, "active_pid"), 60, f"a reader of slot {slot}")

    def drop_slots(self) -> None:
        """Terminates the readers of the database's slots, and drops the slots."""
        server = Database(self.postgres, "postgres")
        slots = f"FROM pg_replication_slots WHERE database = '{self.name}'"

        def dropped() -> bool:
            server.execute(f"SELECT pg_drop_replication_slot(slot_name) {slots} AND NOT active")
            return server.value(f"SELECT count(*) {slots}") == 0
        try:
            server.execute(f"SELECT pg_terminate_backend(active_pid) {slots} AND active")
            wait_until(dropped, 60, f"the slots of {self.name} to become inactive")
        finally:
            server.close()

    def drop(self) -> None:
        """Drops the database and its slots, and terminates their users."""
        self.close()
        self.drop_slots()
        server = Database(self.postgres, "postgres")
        try:
            server.execute(f"DROP DATABASE {self.name} WITH (FORCE)")
        finally:
            server.close()

    def close(self) -> None:
        """Closes the connection; the next call opens another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _is_alive(connection: Any) -> bool:
    """Whether an idle connection is open: if it is readable, it has ended."""
    return not connection.closed and not select.select([connection], [], [], 0)[0]


def quoted_rows(rows: Sequence[Sequence[Any]]) -> str:
    """Rows in the text format of COPY."""
    return "".join("\t".join("\\N" if value is None else str(value).replace("\\", "\\\\")
                             for value in row) + "\n" for row in rows)
