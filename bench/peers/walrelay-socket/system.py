"""walrelay through Postgres' Unix socket."""

from walrelay_bench.system import load


class Peer(load("walrelay")):  # type: ignore[misc]
    title = "walrelay, Unix socket"
    workloads = ("drain", "steady-1000")

    @property
    def dsn(self) -> str:
        return self.environment.postgres.dsn()
