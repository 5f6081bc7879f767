"""One period of a run: load and faults, then quiet, then a check of everything that was written."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg2
from check import KILL, Check
from fault import Context
from mode import Mode
from outcome import Injected, Outcome
from schedule import Planned, plan
from system import System
from walrelay_dev.errors import ServerError
from walrelay_dev.process import wait_until
from walrelay_test.ground_truth import ConfirmSampler, GroundTruth
from walrelay_test.workload import Workload

_MOST_AT_ONCE = 2
_SETTLE_SECONDS = 120.0
_PRUNED_SECONDS = 120.0  # the proof comes after ten to twenty seconds
_MOST_RETAINED = 32 << 20  # two WAL segments


class Period:
    """The `number`-th period of a run. It has its own topics and starts with empty tables."""

    def __init__(self, system: System, ground_truth: GroundTruth, judge: Mode, *, seed: int, number: int,
                 rate: float, bursts: int) -> None:
        self.outcome = Outcome()
        self._system = system
        self._ground_truth = ground_truth
        self._judge = judge
        self._seed = f"{seed}/{number}"
        self._workload = Workload(system.database, self._seed, rate=rate, type=f"chaos{number}",
                                  bursts=bursts)
        self._failures: list[str] = []
        self._running: list[tuple[Planned, threading.Thread]] = []

    def run_faults(self, seconds: float) -> Outcome:
        """Runs load and the faults that the seed determines for `seconds`."""
        with self._watched():
            started = time.monotonic()
            for planned in plan(self._seed, seconds, nodes=len(self._system.kafka.node_ids),
                                transactions=self._system.mode.once,
                                pruning=self._system.relay_prunes):
                self._sleep_until(started + planned.at)
                self._wait_for_capacity(planned)
                if self._has_failed() or time.monotonic() > started + seconds:
                    break  # earlier faults took longer to heal than planned
                self._begin(planned)
            self._sleep_until(started + seconds)
            for _, thread in self._running:
                thread.join()
        return self.outcome

    def run_kills(self, kills: int) -> Outcome:
        """Runs load and `kills` SIGKILLs at random moments; every fifth one while a broker hangs."""
        chance = random.Random(self._seed)
        supervisor, kafka = self._system.supervisor, self._system.kafka
        with self._watched():
            for number in range(kills):
                hangs = number % 5 == 0
                if hangs:
                    kafka.pause_node(1)
                time.sleep(chance.choice([chance.uniform(0, 0.1), chance.uniform(0, 0.8)]))
                name = "kill_while_broker_hangs" if hangs else KILL
                began = time.time_ns() / 1e6
                supervisor.kill()
                self.outcome.faults[name] += 1
                if hangs:
                    kafka.resume_node(1)
                supervisor.wait_running()
                self._note_ended(name, began)
                if number % 50 == 49:
                    self._system.fault_log.note(f"  {number + 1} SIGKILLs in this period")
                if self._has_failed():
                    break
        return self.outcome

    # --- faults ---

    def _sleep_until(self, moment: float) -> None:
        while (left := moment - time.monotonic()) > 0 and not self._has_failed():
            time.sleep(min(left, 0.2))

    def _has_failed(self) -> bool:
        return bool(self._failures or self._system.supervisor.failures)

    def _wait_for_capacity(self, planned: Planned) -> None:
        """Waits until fewer than two faults are active and none of them touches the same component."""
        def may_start() -> bool:
            self._running = [each for each in self._running if each[1].is_alive()]
            return len(self._running) < _MOST_AT_ONCE and not any(
                each.fault.touches & planned.fault.touches for each, _ in self._running)
        while not may_start() and not self._has_failed():
            time.sleep(0.05)

    def _begin(self, planned: Planned) -> None:
        context = Context(self._system, self._workload,
                          random.Random(f"{self._seed}/{planned.number}"), planned.seconds,
                          self.outcome.stops)
        thread = threading.Thread(target=self._inject, args=(planned, context), daemon=True)
        self._running.append((planned, thread))
        thread.start()

    def _inject(self, planned: Planned, context: Context) -> None:
        fault_log = self._system.fault_log
        fault_log.note(f"+ {planned}")
        self.outcome.faults[planned.fault.name] += 1
        began = time.time_ns() / 1e6
        try:
            planned.fault.inject(context)
        except Exception as error:  # any error ends the run
            self._failures.append(f"{planned}: {type(error).__name__}: {error}")
            fault_log.note(f"! {self._failures[-1]}")
            return
        fault_log.note(f"- {planned}")
        self._note_ended(planned.fault.name, began)

    def _note_ended(self, name: str, began_ms: float) -> None:
        self.outcome.injected.append(Injected(name, began_ms, time.time_ns() / 1e6))

    # --- setup and check ---

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Runs load during the block; afterwards waits for quiet and checks the period."""
        system = self._system
        system.create_topics(self._workload.type)
        with ConfirmSampler(system.connect().connect, system.slot) as sampler:
            with self._workload:
                yield
            self._expect("healed", system.heal)
            self._settle()
            if system.pruning is not None:
                self._expect("pruned", lambda: wait_until(system.pruning.is_done, _PRUNED_SECONDS,
                                                          "all rows to be pruned"))
        for failure in self._failures:
            self.outcome.problem("I10 progress", failure)
        Check(system, self._judge, self.outcome, self._workload.type).run(self._ground_truth, sampler.samples)
        self._clean_up()

    def _expect(self, what: str, work: Callable[[], object]) -> None:
        try:
            work()
        except (ServerError, psycopg2.Error) as error:
            self.outcome.problem("I10 progress", f"{what}: {error}")

    def _settle(self) -> None:
        database, slot = self._system.database, self._system.slot
        end = database.log_end()
        started = time.monotonic()
        self._expect("quiet", lambda: wait_until(
            lambda: database.confirmed(slot) >= end or self._system.supervisor.failures,
            _SETTLE_SECONDS, "the slot to be confirmed up to the end of the WAL"))
        self.outcome.settled_seconds = time.monotonic() - started
        self._expect("quiet", lambda: wait_until(self._retains_little, _SETTLE_SECONDS,
                                                 "the slot to release WAL"))

    def _retains_little(self) -> bool:
        """The slot's restart position advances with the snapshots that checkpoints write into the WAL."""
        database = self._system.database
        database.execute("CHECKPOINT")
        time.sleep(0.2)
        return database.value("SELECT pg_current_wal_lsn() - restart_lsn FROM pg_replication_slots "
                              "WHERE slot_name = %s", self._system.slot) < _MOST_RETAINED

    def _clean_up(self) -> None:
        """Empties the tables and deletes the topics of this period."""
        if self._has_failed():
            return
        self._workload.empty_tables(self._system.database)
        self._ground_truth.recreate_slot()
        self._system.delete_topics(self._workload.type)
        if not self.outcome.problems:
            self._system.remove_old_logs()
