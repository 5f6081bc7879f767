"""Another build of walrelay, to measure what a change costs: WALRELAY_BENCH_OTHER names its executable."""

import os
from pathlib import Path

from walrelay_bench.system import load

_OTHER = os.environ.get("WALRELAY_BENCH_OTHER", "")


class Peer(load("walrelay")):  # type: ignore[misc]
    title = "walrelay, another build"
    workloads = ("drain", "transaction", "steady", "topics", "start") if _OTHER else ()

    def executable(self) -> str:
        return str(Path(_OTHER).resolve())
