"""Random statements for an outbox table: hostile rows, clean-up, changes of columns."""

import json
import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from configuration import Column, Configuration, quoted
from values import INT4, INT8, MEMBERS, NEWER, STRUCTS, TEXT, TEXTS, UUID, ColumnType, choose

_TYPES = ("Order", "order", "order-line", "Order.Item", "x" * 60, "UPPER", "a..b", "1")
# Most of these cannot be routed to a valid topic name.
_POISON_TYPES = ("", "with space", "ümlaut", "new\nline", "a/b", "x" * 250, "${routedByValue}")


@dataclass(frozen=True)
class Statement:
    sql: str
    values: Sequence[object] = ()


class Rows:
    """The statements of one configuration. Every row has a new id, which is in its record's headers."""

    def __init__(self, configuration: Configuration, seed: int) -> None:
        self._configuration = configuration
        self._chance = random.Random(f"rows/{seed}/{configuration.tag}")
        self._made = 0
        self._labelled = True
        self._timed: set[bytes] = set()
        self._table = ".".join(map(quoted, configuration.table.split(".")))

    @property
    def table(self) -> str:
        """The quoted name of the table."""
        return self._table

    @property
    def made(self) -> int:
        """The number of rows so far."""
        return self._made

    @property
    def timed(self) -> frozenset[bytes]:
        """The ids of rows whose records must have the row's own timestamp."""
        return frozenset(self._timed)

    def create(self) -> Iterator[str]:
        """Creates the table, with columns in random order and possibly without a primary key."""
        columns = list(self._configuration.columns)
        self._chance.shuffle(columns)
        yield f"CREATE TABLE {self._table} ({', '.join(column.ddl for column in columns)})"
        if self._chance.random() < 0.7:
            yield f"ALTER TABLE {self._table} ADD PRIMARY KEY ({quoted(self._configuration.id.name)})"
        else:
            yield f"ALTER TABLE {self._table} REPLICA IDENTITY FULL"

    def some(self, count: int) -> Iterator[list[Statement]]:
        """Transactions with `count` new rows in total, and UPDATEs and DELETEs among them."""
        while count > 0:
            size = min(count, self._chance.choice((1, 1, 1, 2, 5)))
            count -= size
            statements = [self._insert_or_message() for _ in range(size)]
            if self._chance.random() < 0.2 and self._configuration.deletes:
                statements.append(self._clean_up())
            if self._chance.random() < 0.1:
                statements.insert(0, self._update())
            yield statements

    def last(self) -> tuple[str, Statement]:
        """The id and statement of a plain row, which ends a series."""
        plain = {column.name: None if column.nullable else column.type.values[0]
                 for column in self._configuration.columns}
        payload = self._configuration.payload
        plain[payload.name] = "{}" if "{}" in payload.type.values else next(iter(payload.type.values), None)
        plain[self._configuration.type.name] = f"{self._configuration.tag}.Order"
        plain[self._configuration.id.name] = self._new_id()
        return plain[self._configuration.id.name], self._insert_of(plain)

    def poison(self) -> tuple[str, Statement]:
        """The id and statement of a row that probably cannot be published."""
        row = self._row()
        type = self._configuration.type
        fitting = [each for each in _POISON_TYPES if type.type is TEXT or len(each) <= 40]
        row[type.name] = self._chance.choice(fitting)
        time = self._configuration.timestamp
        if time is not None and self._chance.random() < 0.5:
            row[type.name] = f"{self._configuration.tag}.Order"
            row[time.name] = "1969-12-31 23:59:59"
        return row[self._configuration.id.name], self._insert_of(row)

    def change_columns(self) -> str:
        """A change of the table that may move the published columns but does not change their content.

        Enums get a label. The next row has it, because both systems read the labels again at that row, and one of them
        at the table's description, too. Debezium 3.6 does not read them again.
        """
        self._labelled = self._configuration.debezium != NEWER
        return ("" if self._labelled else self._add_labels()) + self._change_table()

    def _add_labels(self) -> str:
        types = {column.type.sql: column.type.late_value for column in self._configuration.columns
                 if column.type.late_value}
        return "".join(f"ALTER TYPE {type} ADD VALUE IF NOT EXISTS '{label}'; " for type, label in types.items())

    def _change_table(self) -> str:
        number = self._chance.randrange(10**9)
        return self._chance.choice((
            f"ALTER TABLE {self._table} ADD added_{number} text",
            f"ALTER TABLE {self._table} ADD added_{number} integer DEFAULT 5",
            f"ALTER TABLE {self._table} ADD gone_{number} text, ADD kept_{number} jsonb; "
            f"ALTER TABLE {self._table} DROP gone_{number}",
            f"ALTER TABLE {self._table} REPLICA IDENTITY FULL",
            f"ALTER TABLE {self._table} ADD big_{number} bytea DEFAULT '\\x00'"))

    def _new_id(self) -> str:
        self._made += 1
        type: ColumnType = self._configuration.id.type
        if type is UUID:
            return str(uuid.UUID(int=self._chance.getrandbits(128)))
        odd = self._chance.choice(("", " ", "ü", "\U0001d11e", '"')) if type is TEXT else ""
        big = 2**62 if type is INT8 else 0
        return f"{odd}{self._made + big}" if type in (TEXT, INT4, INT8) else str(self._made)

    def _row(self) -> dict[str, str | None]:
        made, chance = self._configuration, self._chance
        row = {column.name: self._value(column) for column in made.columns}
        row[made.id.name] = self._new_id()
        row[made.type.name] = f"{made.tag}.{chance.choice(_TYPES)}"[:40]
        if made.partition is not None:
            row[made.partition.name] = chance.choice((None, "0", "1", "2"))
        if made.timestamp is not None:
            row[made.timestamp.name] = chance.choice((None, "1970-01-01 00:00:00.001", "2001-09-09 01:46:40.123",
                                                      "2024-02-29 23:59:59.999999", "2262-04-11 23:47:16.854"))
        if made.version is not None:
            row[made.version.name] = chance.choice((None, "1", "2"))
        return row

    def _value(self, column: Column) -> str | None:
        if not self._labelled and column.type.late_value:
            return column.type.late_value
        return choose(self._chance, column.type, nullable=column.nullable)

    def _insert_or_message(self) -> Statement:
        if self._configuration.messages is None or not self._labelled or self._chance.random() < 0.5:
            return self._insert()
        return self._message() if self._chance.random() < 0.9 else self._other_message()

    def _message(self) -> Statement:
        """A row that is in no table: its columns are the members of a JSON object."""
        made, chance = self._configuration, self._chance
        row: dict[str, object] = {column.name: self._member(column) for column in made.columns}
        row[made.id.name] = self._new_id()
        row[made.type.name] = f"{made.tag}.{chance.choice(_TYPES)}"
        row[made.payload.name] = chance.choice(STRUCTS if made.structs and chance.random() < 0.6 else TEXTS)
        if made.partition is not None:
            row[made.partition.name] = chance.randrange(3)
        members = list(row.items())
        chance.shuffle(members)
        content = json.dumps(dict(members), ensure_ascii=chance.random() < 0.5, indent=chance.choice((None, 2)))
        return Statement("SELECT pg_logical_emit_message(true, %s, %s)", [made.messages, content])

    def _other_message(self) -> Statement:
        """A message that is not an event."""
        return Statement("SELECT pg_logical_emit_message(%s, %s, %s)",
                         [self._chance.random() < 0.5, self._chance.choice(("audit", "outbox2", "")), "not JSON"])

    def _member(self, column: Column) -> object:
        if self._configuration.placed_in_envelope(column):
            return self._chance.choice(MEMBERS[column.type])
        if column.nullable and self._configuration.null_members and self._chance.random() < 0.15:
            return None
        return self._chance.choice(MEMBERS[self._chance.choice(tuple(MEMBERS))])

    def _insert(self) -> Statement:
        row = self._row()
        for column in self._configuration.columns:
            if self._labelled and column.default is not None and self._chance.random() < 0.2:
                del row[column.name]  # Postgres inserts the default
        self._labelled = True
        return self._insert_of(row)

    def _insert_of(self, row: dict[str, str | None]) -> Statement:
        time = self._configuration.timestamp
        if time is not None and row[time.name] is not None:
            self._timed.add(row[self._configuration.id.name].encode())
        names = ", ".join(map(quoted, row)).replace("%", "%%")
        places = ", ".join(["%s"] * len(row))
        return Statement(f"INSERT INTO {self._table} ({names}) VALUES ({places})", list(row.values()))

    def _clean_up(self) -> Statement:
        return Statement(f"DELETE FROM {self._table} WHERE random() < 0.3")

    def _update(self) -> Statement:
        column = quoted(self._configuration.type.name)
        return Statement(f"UPDATE {self._table} SET {column} = {column} || 'x' WHERE length({column}) < 30")
