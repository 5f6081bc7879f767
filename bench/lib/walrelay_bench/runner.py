"""Runs the chosen workloads, in rounds in which every system has its turn, and says how far it is."""

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path

from walrelay_dev.errors import ServerError

from . import machine, system
from .results import Results
from .stage import Stage
from .system import System
from .workload import Workload

# What a line of progress shows of a run: those of these that it has.
_SHOWN = ("events_per_s", "consumer_p50", "consumer_p99", "cpu_s_per_million", "first_event_ms", "lost", "duplicated",
          "disordered", "recovery_s", "wal_retained_mib", "cpu_percent", "peak_rss_mib", "foreign_cpu_percent")


class Runner:
    """One call of bench/run. What is measured is saved after each run."""

    def __init__(self, workloads: Sequence[Workload], systems: Sequence[str], rounds: int, path: Path, *,
                 quick: bool) -> None:
        self._workloads = workloads
        self._rounds = rounds
        self._path = path
        self._types = {name: system.load(name) for name in system.names() if name in systems}
        self._seen: dict[tuple[str, str], float] = {}  # seconds that a run took
        self._done = 0
        self._results = Results({
            "schema": 1, "commit": machine.commit(), "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "quick": quick, "rounds": rounds, "machine": machine.machine(), "versions": self._versions(),
            "systems": {name: kind.title for name, kind in self._types.items()},
            "titles": {workload.name: workload.title for workload in workloads}, "runs": []})

    def run(self) -> Results:
        self._total = len(self._plan())
        print(f"{self._total} runs, about {self._left()}", flush=True)
        with Stage() as stage, contextlib.ExitStack() as closing:
            peers = {name: kind(name, stage) for name, kind in self._types.items()}
            for peer in peers.values():
                closing.callback(peer.close)
            for workload in self._workloads:
                if takers := [peer for name, peer in peers.items() if workload.takes(self._types[name])]:
                    self._rounds_of(workload, stage, takers)
        return self._results

    def _rounds_of(self, workload: Workload, stage: Stage, peers: list[System]) -> None:
        workload.setup(stage)
        if workload.warms_up and not self._results.data["quick"]:
            print(f"{workload.name}: once for the broker's compilers, not counted", flush=True)
            workload.run(stage, peers[0])
        for number in range(1, self._rounds_for(workload) + 1):
            turn = (number - 1) % len(peers)  # nobody is always the first, or behind the same one
            for peer in peers[turn:] + peers[:turn]:
                self._run_one(workload, stage, peer, number)
        workload.teardown(stage)

    def _run_one(self, workload: Workload, stage: Stage, peer: System, number: int) -> None:
        started = time.monotonic()
        run = {"workload": workload.name, "system": peer.name, "round": number,
               "time": time.strftime("%H:%M:%SZ", time.gmtime())}
        try:
            outcome = workload.run(stage, peer)
            run |= {"figures": outcome.figures, "series": outcome.series, "curves": outcome.curves}
            shown = "  ".join(f"{name}={outcome.figures[name]:.3g}" for name in _SHOWN if name in outcome.figures)
        except ServerError as error:
            run["error"] = shown = str(error)
        self._results.runs.append(run)
        self._results.save(self._path)
        self._done += 1
        seconds = time.monotonic() - started
        self._seen[workload.name, peer.name] = seconds
        print(f"[{self._done}/{self._total}] {workload.name} {peer.name} #{number}: {shown}  "
              f"({seconds:.0f} s; {self._left()} left)", flush=True)

    def _rounds_for(self, workload: Workload) -> int:
        if self._results.data["quick"]:
            return 1
        return max(min(self._rounds, workload.most_rounds or self._rounds), workload.fewest_rounds)

    def _plan(self) -> list[tuple[Workload, str]]:
        return [(workload, name) for workload in self._workloads for _ in range(self._rounds_for(workload))
                for name, kind in self._types.items() if workload.takes(kind)]

    def _left(self) -> str:
        seconds = sum(self._seen.get((workload.name, name), workload.seconds)
                      for workload, name in self._plan()[self._done:])
        return f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"

    def _versions(self) -> dict[str, str]:
        found = machine.versions()
        for kind in self._types.values():
            found |= kind.versions()
        return found
