"""An outbox table, and inserts into it."""

from collections.abc import Mapping
from io import StringIO
from typing import Any

from .database import Database, quoted_rows

CANONICAL = ("id", "aggregate_type", "aggregate_id", "event_type", "payload")
DEBEZIUM = ("id", "aggregatetype", "aggregateid", "type", "payload")


class Outbox:
    """An outbox table with numeric ids. `type` is the default aggregate type of its rows.

    `columns` are the names of the five columns; all are nullable, so that tests can insert invalid rows.
    """

    def __init__(self, database: Database, type: str, *, table: str = "outbox",
                 columns: tuple[str, ...] = CANONICAL, payload: str = "jsonb",
                 more_columns: str = "") -> None:
        self.database = database
        self.table = table
        self._columns = columns
        self._type = type
        id, aggregate_type, aggregate_id, event_type, value = columns
        database.execute(f"""CREATE TABLE {table} ({id} bigint, {aggregate_type} text,
            {aggregate_id} text, {event_type} text, {value} {payload} {more_columns})""")

    def insert(self, *ids: int, cursor: Any = None, key: str | None = "k", payload: Any = "{}",
               more: Mapping[str, Any] | None = None, **parts: Any) -> None:
        """Inserts rows with these ids in one statement; by default in a separate transaction.

        `parts` are `type` and `event`; `more` names further columns.
        """
        rows = [(*self._row(id, key, payload, **parts), *(more or {}).values()) for id in ids]
        names = ", ".join([*self._columns, *(more or {})])
        places = "(" + ", ".join(["%s"] * len(rows[0])) + ")"
        sql = f"INSERT INTO {self.table} ({names}) VALUES {', '.join([places] * len(rows))}"
        values = [value for row in rows for value in row]
        if cursor is None:
            self.database.execute(sql, *values)
        else:
            cursor.execute(sql, values)

    def copy(self, *ids: int, key: str = "k") -> None:
        """Inserts rows by COPY, in a separate transaction."""
        text = quoted_rows([self._row(id, key, "{}") for id in ids])
        with self.database.cursor() as cursor:
            cursor.copy_expert(f"COPY {self.table} ({', '.join(self._columns)}) FROM STDIN",
                               StringIO(text))

    def _row(self, id: int, key: str | None, payload: Any, *, type: str | None = "",
             event: str | None = "made") -> tuple:
        return (id, self._type if type == "" else type, key, event, payload)
