#!/usr/bin/env python3
"""Applies each event of a topic exactly once: DATABASE_URL=postgresql://… KAFKA=host:9092 python3 consumer.py TOPIC"""

import json
import os
import sys

import psycopg2
from confluent_kafka import Consumer, KafkaException, Message

TABLES = """
CREATE TABLE IF NOT EXISTS inbox (id text PRIMARY KEY, received_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE IF NOT EXISTS customer_totals (customer text PRIMARY KEY, total bigint NOT NULL);
"""


def is_new(cursor, event: str) -> bool:
    """Whether this is the first time that the event is received. Waits for another consumer of the same event."""
    cursor.execute("INSERT INTO inbox (id) VALUES (%s) ON CONFLICT DO NOTHING", [event])
    return cursor.rowcount == 1


def apply(cursor, customer: str, payload: dict) -> None:
    """What an event does: repeated, it would do harm."""
    cursor.execute("INSERT INTO customer_totals VALUES (%s, %s) ON CONFLICT (customer) "
                   "DO UPDATE SET total = customer_totals.total + excluded.total", [customer, payload["total"]])


def handle(database, message: Message) -> None:
    """One transaction: the id of the event and its effect."""
    event = dict(message.headers())["id"].decode()
    with database, database.cursor() as cursor:  # commits at the end, rolls back after an exception
        if is_new(cursor, event):
            apply(cursor, message.key().decode(), json.loads(message.value()))


def run(consumer: Consumer, database) -> None:
    """Handles records until an error ends it. The next start repeats what was not committed to Kafka."""
    while True:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        handle(database, message)
        consumer.commit(message, asynchronous=False)


def new_consumer(topic: str) -> Consumer:
    consumer = Consumer({"bootstrap.servers": os.environ["KAFKA"], "group.id": "customer-totals",
                         "auto.offset.reset": "earliest", "enable.auto.commit": False,
                         "isolation.level": "read_committed",
                         "session.timeout.ms": 6000})  # until another instance replaces one that was killed
    consumer.subscribe([topic])
    return consumer


def new_database():
    database = psycopg2.connect(os.environ["DATABASE_URL"])
    with database, database.cursor() as cursor:
        cursor.execute(TABLES)
    return database


if __name__ == "__main__":
    subscribed = new_consumer(sys.argv[1])
    try:
        run(subscribed, new_database())
    finally:
        subscribed.close()
