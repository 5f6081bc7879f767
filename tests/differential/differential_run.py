"""Publishes the same rows with Debezium and walrelay, from two slots to two Kafka clusters."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from comparison import Difference, differences
from configuration import Configuration
from rows import Rows, Statement
from systems import DebeziumSide, Side, WalrelaySide
from values import NEWER, TYPES, TYPES_OF_NEWER
from walrelay_dev.connect import ConnectWorker
from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.postgres import Postgres
from walrelay_test.database import Database

_PHASES = 3
_SECONDS = 120.0


@dataclass
class Result:
    """The result of one configuration. `stops` has the reason why each side stopped, or None."""

    configuration: Configuration
    rows: int = 0
    records: int = 0
    stops: tuple[str | None, str | None] = (None, None)
    early: bool = False  # stopped before the last row, which is intended to stop both
    differences: list[Difference] = field(default_factory=list)
    seconds: float = 0.0


class DifferentialRun:
    """Both systems, for any number of consecutive configurations."""

    def __init__(self, postgres: Postgres, theirs: KafkaCluster, ours: KafkaCluster, worker: ConnectWorker,
                 folder: Path) -> None:
        self._postgres = postgres
        self._kafkas = theirs, ours
        self._worker = worker
        self._folder = folder

    def run(self, configuration: Configuration, seed: int, count: int) -> Result:
        """Publishes about `count` rows with one configuration; the database is dropped afterwards."""
        began = time.monotonic()
        result = Result(configuration)
        database = Database.create(self._postgres, configuration.tag)
        rows = Rows(configuration, seed)
        try:
            self._prepare(database, rows, configuration)
            sides = (DebeziumSide(self._worker, self._kafkas[0], database, configuration),
                     WalrelaySide(self._folder, self._kafkas[1], database, configuration))
            try:
                self._write(database, rows, sides, result, count)
            finally:
                for side in sides:
                    side.end()
            self._compare(sides, rows, result)
        finally:
            database.drop()
        result.seconds = time.monotonic() - began
        return result

    def _prepare(self, database: Database, rows: Rows, configuration: Configuration) -> None:
        database.execute(f"CREATE SCHEMA shop; {TYPES}")
        if configuration.debezium == NEWER:
            database.execute(TYPES_OF_NEWER)
        for statement in rows.create():
            database.execute(statement)
        database.execute(f"CREATE PUBLICATION p FOR TABLE {rows.table}")

    def _write(self, database: Database, rows: Rows, sides: tuple[Side, Side], result: Result, count: int) -> None:
        """Writes phases of rows with a change of columns between them, then a row that may stop both sides."""
        for side in sides:
            side.start()
        for phase in range(_PHASES):
            for transaction in rows.some(count // _PHASES):
                self._commit(database, transaction)
            if not self._reach(database, *rows.last(), sides):
                result.early = True
                break
            database.execute(rows.change_columns())
        else:
            self._reach(database, *rows.poison(), sides)
        result.rows = rows.made
        result.stops = sides[0].stopped(), sides[1].stopped()

    def _reach(self, database: Database, id: str, statement: Statement, sides: tuple[Side, Side]) -> bool:
        """Commits a row and waits until each side has published it or stopped; returns whether both published it."""
        self._commit(database, [statement])
        return all([side.reach(id, _SECONDS) for side in sides])

    def _commit(self, database: Database, statements: list[Statement]) -> None:
        with database.transaction() as cursor:
            for statement in statements:
                cursor.execute(statement.sql, statement.values or None)

    def _compare(self, sides: tuple[Side, Side], rows: Rows, result: Result) -> None:
        theirs, ours = (side.records() for side in sides)
        result.records = len(theirs)
        result.differences = differences(theirs, ours, timed=rows.timed,
                                         cut=result.early and None not in result.stops)
        if (result.stops[0] is None) != (result.stops[1] is None):
            result.differences.append(Difference("the last row", "stop", *result.stops))
        for side in sides:
            side.forget()
