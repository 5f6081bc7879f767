"""pg_recvlogical through Postgres' Unix socket."""

from walrelay_bench.system import load


class Peer(load("pg_recvlogical")):  # type: ignore[misc]
    title = "pg_recvlogical, Unix socket"
    workloads = ("drain",)

    @property
    def dsn(self) -> str:
        return self.environment.postgres.dsn()
