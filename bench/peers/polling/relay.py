"""relay.py DSN BOOTSTRAP TABLE PREFIX: a typical transactional outbox relay that polls.

It locks a batch (FOR UPDATE SKIP LOCKED), sends it, waits for the acknowledgements, and deletes it in the same
transaction. After a full batch it reads the next one at once; otherwise it polls again after the interval.
"""

import signal
import sys
import time

import psycopg2
from confluent_kafka import Producer

BATCH = 1000
INTERVAL = 0.5  # seconds


class Stop(Exception):
    pass


def stop(*_: object) -> None:
    raise Stop


def relay_batch(connection, producer: Producer, table: str, prefix: str) -> int:
    failed = []
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT seq, id, aggregate_type, aggregate_id, event_type, payload::text, trace_id "
                       f"FROM {table} ORDER BY seq LIMIT {BATCH} FOR UPDATE SKIP LOCKED")
        rows = cursor.fetchall()
        for _, event_id, kind, key, event_type, payload, trace_id in rows:
            producer.produce(f"{prefix}.{kind}", value=payload, key=key,
                             headers={"id": event_id, "event_type": event_type, "trace_id": trace_id},
                             on_delivery=lambda error, _: failed.append(error) if error else None)
        producer.flush()
        if failed:
            raise RuntimeError(f"{len(failed)} records were not delivered: {failed[0]}")
        if rows:
            cursor.execute(f"DELETE FROM {table} WHERE seq = ANY(%s)", ([row[0] for row in rows],))
    return len(rows)


def main(dsn: str, bootstrap: str, table: str, prefix: str) -> None:
    signal.signal(signal.SIGTERM, stop)
    connection = psycopg2.connect(dsn)
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True,
                         "partitioner": "murmur2_random", "linger.ms": 5})
    try:
        while True:
            if relay_batch(connection, producer, table, prefix) < BATCH:
                time.sleep(INTERVAL)
    except Stop:
        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
