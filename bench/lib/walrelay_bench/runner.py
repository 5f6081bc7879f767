"""Runs the chosen workloads in rounds, every system once per round, and reports progress."""

import collections
import contextlib
import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from walrelay_dev.errors import ServerError

from . import catalogue, machine, system
from .environment import Environment
from .results import Results
from .system import System
from .workload import Workload

# Figures in a progress line, if the run has them.
_SHOWN = ("events_per_s", "new_topics_s", "known_topics_s", "consumer_p50", "consumer_p99", "cpu_s_per_million",
          "first_event_ms", "lost", "duplicated", "disordered", "recovery_s", "wal_retained_mib", "cpu_percent",
          "peak_rss_mib", "foreign_cpu_percent")


class Turn(NamedTuple):
    workload: Workload
    round: int
    system: str


class Runner:
    """One call of bench/run. Saves the results after each run.

    A workload runs for `rounds` rounds, and then until `enough` returns true for the results and the workload's name,
    for `most_rounds` at most. With `resume` it continues from the file at `path` and does not repeat the runs in it.
    """

    def __init__(self, workloads: Sequence[Workload], systems: Sequence[str], rounds: int, path: Path, *,
                 quick: bool, resume: bool = False, record_stages: bool = False, enough: Callable[[Results, str], bool] = lambda *_: True,
                 most_rounds: int = 0) -> None:
        self._workloads = workloads
        self._rounds = rounds
        self._enough = enough
        self._record_stages = record_stages
        self._most_rounds = most_rounds
        self._path = path
        self._types = {name: system.load(name) for name in system.names() if name in systems}
        self._seen: dict[tuple[str, str], float] = {}  # seconds that a run took
        self._warm: set[str] = set()                   # the kinds of workloads that the broker has warmed up with
        self._results = Results({
            "schema": 2, "commit": machine.commit(), "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "quick": quick, "machine": machine.machine(), "versions": self._versions(),
            "systems": {name: kind.title for name, kind in self._types.items()},
            "titles": {workload.name: workload.title for workload in workloads}, "runs": []})
        if resume and path.exists():
            self._results.go_on_from(Results.load(path))
            self._results.arrange(system.names(), list(catalogue.workloads(quick)))

    def run(self) -> Results:
        self._todo = [turn for workload in self._workloads
                      for turn in self._turns(workload, self._rounds_for(workload))]
        self._total = len(self._todo)
        print(f"{self._total} runs, about {self._left()}", flush=True)
        if self._total == 0:
            return self._results
        with Environment(record_stages=self._record_stages) as environment, contextlib.ExitStack() as closing:
            peers = {name: kind(name, environment) for name, kind in self._types.items()}
            for peer in peers.values():
                closing.callback(peer.close)
            for workload, turns in itertools.groupby(list(self._todo), key=lambda turn: turn.workload):
                self._run_all(workload, environment, peers, list(turns))
        return self._results

    def _run_all(self, workload: Workload, environment: Environment, peers: dict[str, System],
                 turns: list[Turn]) -> None:
        workload.setup(environment)
        if workload.warms_up and workload.kind not in self._warm and not self._results.data["quick"]:
            self._warm.add(workload.kind)
            print(f"{workload.name}: one warm-up run for the broker's JIT compiler, not counted", flush=True)
            workload.run(environment, peers[turns[0].system])
        rounds = self._rounds_for(workload)
        while turns:
            for turn in turns:
                self._run_one(workload, environment, peers[turn.system], turn.round)
            rounds += 1
            turns = self._turns(workload, rounds) if self._needs_more(workload, rounds) else []
            self._todo[:0] = turns
            self._total += len(turns)
        workload.teardown(environment)

    def _needs_more(self, workload: Workload, rounds: int) -> bool:
        most = min(self._most_rounds, workload.most_rounds or self._most_rounds)
        return rounds <= most and not self._enough(self._results, workload.name)

    def _run_one(self, workload: Workload, environment: Environment, peer: System, number: int) -> None:
        started = time.monotonic()
        run = {"workload": workload.name, "system": peer.name, "round": number,
               "time": time.strftime("%H:%M:%SZ", time.gmtime())}
        try:
            outcome = workload.run(environment, peer)
            run |= {"figures": outcome.figures, "series": outcome.series, "curves": outcome.curves,
                    "stages": outcome.stages}
            shown = "  ".join(f"{name}={outcome.figures[name]:.3g}" for name in _SHOWN if name in outcome.figures)
        except ServerError as error:
            run["error"] = shown = str(error)
        self._results.runs.append(run)
        self._results.save(self._path)
        del self._todo[0]
        seconds = time.monotonic() - started
        self._seen[workload.name, peer.name] = seconds
        print(f"[{self._total - len(self._todo)}/{self._total}] {workload.name} {peer.name} #{number}: {shown}  "
              f"({seconds:.0f} s; {self._left()} left)", flush=True)

    def _rounds_for(self, workload: Workload) -> int:
        if self._results.data["quick"]:
            return 1
        return max(min(self._rounds, workload.most_rounds or self._rounds), workload.fewest_rounds)

    def _turns(self, workload: Workload, rounds: int) -> list[Turn]:
        """The remaining turns. The order rotates: no system is always the first, or always after the same one."""
        takers = collections.deque(name for name, kind in self._types.items() if workload.takes(kind))
        there = {(run["round"], run["system"]) for run in self._results.runs_of(workload.name)}
        turns = []
        for number in range(1, rounds + 1):
            turns += [Turn(workload, number, name) for name in takers if (number, name) not in there]
            takers.rotate(-1)
        return turns

    def _left(self) -> str:
        seconds = sum(self._seen.get((turn.workload.name, turn.system), turn.workload.seconds) for turn in self._todo)
        return f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"

    def _versions(self) -> dict[str, str]:
        found = machine.versions()
        for kind in self._types.values():
            found |= kind.versions()
        return found
