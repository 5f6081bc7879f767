"""A polling relay, the kind most teams start with. It uses a separate queue table with a sequence."""

import sys

from walrelay_bench.environment import TOPIC
from walrelay_bench.program import Program
from walrelay_bench.system import Programs, Work

_TABLE = """
DROP TABLE IF EXISTS outbox_queue;
CREATE TABLE outbox_queue (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, LIKE outbox INCLUDING DEFAULTS);
"""


class Peer(Programs):
    title = "polling relay"
    workloads = ("steady", "drain", "transaction", "idle", "kills", "kill-drain", "outage", "start")
    plugin = None
    table = "outbox_queue"

    def prepare(self, work: Work) -> None:
        columns = "id, aggregate_type, aggregate_id, event_type, payload, created_at, trace_id"
        copy = f"INSERT INTO outbox_queue ({columns}) SELECT {columns} FROM outbox ORDER BY created_at;"
        self.environment.sql(_TABLE + (copy if work.events else ""))
        self.environment.settle(self.table)

    def launch(self, work: Work) -> list[Program]:
        return [Program([sys.executable, self.folder / "relay.py", self.dsn, self.environment.kafka.bootstrap,
                         self.table, TOPIC.rpartition(".")[0]], self.log)]

    @classmethod
    def versions(cls) -> dict[str, str]:
        import confluent_kafka
        import psycopg2
        return {"python": sys.version.split()[0], "psycopg2": psycopg2.__version__.split()[0],
                "confluent-kafka": confluent_kafka.version()[0]}
