"""Simulates the writers of an outbox from a seed, and records every event in the table `truth`.

Each transaction increments the counter of every key it writes, and so holds the key's row lock until it ends:
the commit order per key is the order of n. It writes the outbox row (event id, key, n) and the same to
`truth`, which is not published. If the connection breaks at COMMIT, the outcome is unknown to the client, but
`truth` has it.
"""

import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from io import StringIO
from typing import Any

import psycopg2

from .database import Database, quoted_rows

_KEYS = 24
_TYPES = 3  # number of topics
BURSTS = 2
_LARGEST_BURST = 200

_TABLES = """
CREATE TABLE outbox (id text PRIMARY KEY, aggregate_type text NOT NULL, aggregate_id text NOT NULL,
                     event_type text NOT NULL, payload json);
CREATE TABLE truth (event_id text PRIMARY KEY, topic text NOT NULL, key text NOT NULL,
                    n bigint NOT NULL, event_type text NOT NULL, payload text);
CREATE TABLE key_seq (k text PRIMARY KEY, n bigint NOT NULL);
CREATE TABLE elsewhere (id bigserial, filler text);
"""
_COUNTERS = f"INSERT INTO key_seq SELECT 'key-' || i, 0 FROM generate_series(1, {_KEYS}) i"

# Columns are named because a test may add columns during the run.
_OUTBOX = "outbox (id, aggregate_type, aggregate_id, event_type, payload)"
_TRUTH = "truth (event_id, topic, key, n, event_type, payload)"

_KEYS_OF_LARGE = 4
_LARGE = f"""
WITH counter AS (UPDATE key_seq SET n = n + %(count)s WHERE k = %(key)s RETURNING n),
     event AS (SELECT gen_random_uuid()::text AS id, i, '{{"n": ' || i || '}}' AS payload
               FROM counter, generate_series(counter.n - %(count)s + 1, counter.n) i),
     truth AS (INSERT INTO {_TRUTH}
              SELECT id, 'outbox.event.' || %(type)s, %(key)s, i, 'large', payload FROM event)
INSERT INTO {_OUTBOX} SELECT id, %(type)s, %(key)s, 'large', payload::json FROM event ORDER BY i
"""


class Workload:
    """`clients` threads that write until they are stopped; a context manager.

    `rate` is in transactions per second, for all clients together; None means no limit. `type` is the prefix of
    its aggregate types, by default the database's name. `bursts` is the weight of transactions of many rows: more of
    them make more events of the same number of transactions.
    """

    def __init__(self, database: Database, seed: int | str, *, clients: int = 3,
                 rate: float | None = None, type: str | None = None, bursts: int = BURSTS) -> None:
        self.database = database
        self.type = type or database.name
        self.outcomes: Counter[str] = Counter()  # committed, rolled back, unknown
        self._interval = clients / rate if rate else 0.0
        self._bursts = bursts
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(f"{seed}/{client}",), daemon=True)
                         for client in range(clients)]

    @staticmethod
    def create_tables(database: Database) -> None:
        database.execute(_TABLES)
        database.execute(_COUNTERS)

    @staticmethod
    def empty_tables(database: Database) -> None:
        """Empties the tables; every key starts again at 1."""
        database.execute("TRUNCATE outbox, truth, key_seq, elsewhere")
        database.execute(_COUNTERS)

    @staticmethod
    def topics(type: str) -> list[str]:
        return [f"outbox.event.{type}.{number}" for number in range(_TYPES)]

    def __enter__(self) -> "Workload":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Lets each client finish its transaction; raises the exception of a client that failed."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        if self._failure is not None:
            raise self._failure

    @property
    def committed(self) -> int:
        return self.outcomes["committed"]

    def write_large_transaction(self, rows: int) -> None:
        """Writes one transaction of `rows` events, spread over a few keys, concurrently with the others."""
        connection = self.database.connect()
        try:
            with connection.cursor() as cursor:
                cursor.execute("BEGIN")
                for number in range(1, _KEYS_OF_LARGE + 1):
                    cursor.execute(_LARGE, {"count": rows // _KEYS_OF_LARGE, "key": f"key-{number}",
                                            "type": f"{self.type}.{number % _TYPES}"})
                cursor.execute("COMMIT")
        finally:
            connection.close()

    def _run(self, seed: str) -> None:
        chance = random.Random(seed)
        try:
            while not self._stopping.is_set():
                self._write_until_lost(chance)
                self._stopping.wait(0.1)
        except Exception as error:  # raised again by stop()
            self._failure = error

    def _write_until_lost(self, chance: random.Random) -> None:
        try:
            connection = self.database.connect()
        except psycopg2.OperationalError:
            return  # the server is being restarted
        client = _Client(connection.cursor(), chance, self.type, self._bursts)
        due = time.monotonic()
        try:
            while not self._stopping.wait(max(0.0, due - time.monotonic())):
                self._count(client.transact())
                due = max(due + self._interval, time.monotonic() - 1)
        except psycopg2.Error as error:
            if error.pgcode is not None and not isinstance(error, psycopg2.OperationalError):
                raise  # an error of the statement, not of the connection
            self._count("unknown")
        finally:
            connection.close()

    def _count(self, outcome: str) -> None:
        with self._lock:
            self.outcomes[outcome] += 1


class _Client:
    """The transactions of one connection."""

    def __init__(self, cursor: Any, chance: random.Random, type: str, bursts: int) -> None:
        self._cursor = cursor
        self._chance = chance
        self._type = type
        self._kinds: dict[Callable[[], None], int] = {
            self._one: 50, self._several_keys: 15, self._savepoint: 10, self._copy: 6,
            self._delete_after_insert: 6, self._elsewhere: 8, self._burst: bursts}

    def transact(self) -> str:
        """Runs one transaction of a random kind; most are committed."""
        (kind,) = self._chance.choices(list(self._kinds), list(self._kinds.values()))
        end = "ROLLBACK" if self._chance.random() < 0.1 else "COMMIT"
        self._cursor.execute("BEGIN")
        kind()
        self._cursor.execute(end)
        return "committed" if end == "COMMIT" else "rolled back"

    def _one(self) -> None:
        self._insert(self._keys(1), 1)

    def _several_keys(self) -> None:
        self._insert(self._keys(self._chance.randint(2, 5)), self._chance.randint(1, 3))

    def _savepoint(self) -> None:
        kept, dropped = self._keys(2)
        self._insert([kept], 1)
        self._cursor.execute("SAVEPOINT s")
        self._insert([dropped], 2)
        self._cursor.execute("ROLLBACK TO SAVEPOINT s")
        self._insert([dropped], 1)

    def _copy(self) -> None:
        self._insert(self._keys(2), 10, copy=True)

    def _delete_after_insert(self) -> None:
        rows = self._insert(self._keys(1), 2)
        self._cursor.execute("DELETE FROM outbox WHERE id = ANY(%s)", ([row[0] for row in rows],))

    def _elsewhere(self) -> None:
        self._cursor.execute("INSERT INTO elsewhere (filler) SELECT repeat('x', 500) "
                             "FROM generate_series(1, 20)")

    def _burst(self) -> None:
        self._insert(self._keys(1), self._chance.randint(50, _LARGEST_BURST), copy=True)

    def _keys(self, count: int) -> list[int]:
        """Random keys in ascending order, so that writers never deadlock."""
        return sorted(self._chance.sample(range(1, _KEYS + 1), count))

    def _insert(self, keys: list[int], per_key: int, *, copy: bool = False) -> list[tuple]:
        """Inserts events of each key into the outbox and into `truth`."""
        rows, truth = [], []
        for number in keys:
            key, type = f"key-{number}", f"{self._type}.{number % _TYPES}"
            self._cursor.execute("UPDATE key_seq SET n = n + %s WHERE k = %s RETURNING n",
                                 (per_key, key))
            ((last,),) = self._cursor.fetchall()
            for n in range(last - per_key + 1, last + 1):
                event_id, event_type = str(uuid.UUID(int=self._chance.getrandbits(128))), f"type-{n % 7}"
                payload = self._payload(n)
                rows.append((event_id, type, key, event_type, payload))
                truth.append((event_id, f"outbox.event.{type}", key, n, event_type, payload))
        self._write(_OUTBOX, rows, copy)
        self._write(_TRUTH, truth, copy)
        return rows

    def _payload(self, n: int) -> str | None:
        """Unnormalized JSON of any size; sometimes NULL."""
        size = int(self._chance.paretovariate(0.8) * 20)
        return None if n % 50 == 0 else f'{{ "n":{n}.0, "n":{n},  "é\\u00e9": "{"x" * min(size, 3000)}"}}'

    def _write(self, table: str, rows: list[tuple], copy: bool) -> None:
        if copy:
            self._cursor.copy_expert(f"COPY {table} FROM STDIN", StringIO(quoted_rows(rows)))
        else:
            places = "(" + ", ".join(["%s"] * len(rows[0])) + ")"
            self._cursor.execute(f"INSERT INTO {table} VALUES {', '.join([places] * len(rows))}",
                                 [value for row in rows for value in row])
