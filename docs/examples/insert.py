#!/usr/bin/env python3
"""Places an order: DATABASE_URL=postgresql://… python3 insert.py CUSTOMER TOTAL"""

import os
import sys

import psycopg
from psycopg.types.json import Jsonb


def place_order(connection: psycopg.Connection, customer: str, total: int) -> int:
    """Inserts an order and its event in one transaction, and returns the number of the order."""
    with connection.transaction():
        order = connection.execute(
            "INSERT INTO orders (customer, total) VALUES (%s, %s) RETURNING id", [customer, total]).fetchone()[0]
        connection.execute(
            "INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload) VALUES (%s, %s, %s, %s)",
            ["order", customer, "OrderPlaced", Jsonb({"order": order, "customer": customer, "total": total})])
    return order


if __name__ == "__main__":
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as database:
        print(place_order(database, sys.argv[1], int(sys.argv[2])))
