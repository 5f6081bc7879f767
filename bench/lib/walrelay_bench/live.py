"""Workloads in which events are written while the system runs."""

import time
from collections.abc import Callable

from walrelay_dev.errors import ServerError

from .environment import SHARDED, Environment
from .load import Load, Rate
from .meter import Meter
from .stages import attribute, read
from .system import System, Work
from .workload import Outcome, Workload, latencies, running, verdict

_LIVE = Work(events=0)


class Steady(Workload):
    """Events at a fixed rate: latency of each event, and resource usage."""

    kind = "steady"
    warms_up = True
    work = _LIVE

    def __init__(self, name: str, rate: Rate) -> None:
        self.name = name
        self.rate = rate
        self.title = (f"{rate.per_second:,} events/s of {rate.payload} bytes, {rate.per_transaction} a transaction, "
                      f"for {rate.seconds:g} s")

    @property
    def seconds(self) -> float:
        return 6 + self.rate.warmup + self.rate.seconds

    def run(self, environment: Environment, system: System) -> Outcome:
        table = self.work.table or system.table
        with running(environment, system, self.work):
            load = Load(environment, table, self.rate)
            try:
                time.sleep(self.rate.warmup)
                since = time.time()
                with Meter(environment, system.pids) as meter:
                    seen = load.result()
            finally:
                load.close()
            stages = attribute(read(system.stages, since)) if system.stages is not None else {}
            left = int(environment.sql(f"SELECT count(*) FROM {table}"))
        events = round(self.rate.per_second * self.rate.seconds)
        return Outcome(latencies(seen) | verdict(seen) | {"rows_left": left} | meter.costs(events), meter.series(),
                       {name: seen[name]["curve"] for name in ("append", "consumer") if seen[name]}, stages)


class Slots(Steady):
    """Events for several slots: those of a table that is partitioned by hash of the key, with one slot per partition."""

    kind = "slots"

    def __init__(self, name: str, slots: int, rate: Rate) -> None:
        super().__init__(name, rate)
        self.work = Work(events=0, shards=slots)
        self.title += f", in {slots} partitions by hash of the key"

    def setup(self, environment: Environment) -> None:
        environment.shard(self.work.shards)

    def run(self, environment: Environment, system: System) -> Outcome:
        outcome = super().run(environment, system)
        environment.sql(f"TRUNCATE {SHARDED}")
        return outcome

    def teardown(self, environment: Environment) -> None:
        environment.unshard(self.work.shards)


class Idle(Workload):
    """No event, while another table is written: WAL retained by the slot, and resource usage of an idle system."""

    kind = "idle"
    most_rounds = 1

    def __init__(self, name: str, duration: float) -> None:
        self.name = name
        self.duration = duration
        self.title = f"idle for {duration:g} s beside a table that is written to"

    @property
    def seconds(self) -> float:
        return 6 + self.duration

    def run(self, environment: Environment, system: System) -> Outcome:
        with running(environment, system, _LIVE):
            before = environment.wal_end()
            with Meter(environment, system.pids) as meter:
                environment.sql(f"SET synchronous_commit = off; CALL be_busy({self.duration})")
            written = int(environment.sql(f"SELECT pg_current_wal_lsn() - '{before}'::pg_lsn"))
            environment.sql("TRUNCATE ledger")
        figures = meter.costs(0)
        return Outcome({"wal_written_mib": written / (1 << 20),
                        "wal_retained_end_mib": meter.samples[-1].retained / (1 << 20),
                        **{name: figures[name] for name in ("wal_retained_mib", "cpu_percent", "steady_rss_mib",
                                                            "peak_rss_mib", "foreign_cpu_percent")}}, meter.series())


class Kills(Workload):
    """SIGKILL every few seconds of work under load; a supervisor restarts the system at once."""

    kind = "kills"

    def __init__(self, name: str, rate: int, kills: int, interval: float) -> None:
        self.name = name
        self.kills = kills
        self.interval = interval
        self.rate = Rate(rate, seconds=(kills + 1) * interval, timeout=60, settle=1)
        self.title = f"SIGKILL after every {interval:g} s of work, {kills} at most, at {rate:,} events/s"

    @property
    def seconds(self) -> float:
        return 10 + self.rate.seconds

    def run(self, environment: Environment, system: System) -> Outcome:
        killed: list[float] = []
        with running(environment, system, _LIVE), Meter(environment, system.pids) as meter:
            load = Load(environment, system.table, self.rate)
            try:
                over = time.time() + self.rate.seconds - 1
                while len(killed) < self.kills and self._has_progressed(environment, system, over):
                    killed.append(time.time())
                    _start_again(system)
                _supervise(system, lambda: not load.running())
                seen = load.result()
            finally:
                load.close()
        if not killed:
            raise ServerError(f"{system.name} never worked for {self.interval:g} s")
        recovered = [_recovery(seen["silences"], at, within=1) for at in killed]
        return Outcome({"kills": len(killed), "recovery_s": sorted(recovered)[len(recovered) // 2],
                        "recovery_max_s": max(recovered)} | verdict(seen) | meter.costs(self.rate.events),
                       meter.series())


    def _has_progressed(self, environment: Environment, system: System, over: float) -> bool:
        """Waits for `interval` seconds of work; false if `over` comes first.

        A system that has not recovered is not killed again.
        """
        before, since = environment.records(), time.time()

        def done() -> bool:
            return time.time() >= since + self.interval and environment.records() > before
        _supervise(system, lambda: done() or time.time() >= over)
        return time.time() < over


class Outage(Workload):
    """The broker is stopped under load and started again."""

    kind = "outage"
    most_rounds = 1

    def __init__(self, name: str, rate: int, outage: float, around: float) -> None:
        self.name = name
        self.outage = outage
        self.around = around
        self.rate = Rate(rate, seconds=outage + 2 * around, timeout=60, settle=1)
        self.title = f"the broker stopped for {outage:g} s, at {rate:,} events/s"

    @property
    def seconds(self) -> float:
        return 20 + self.rate.seconds

    def run(self, environment: Environment, system: System) -> Outcome:
        with running(environment, system, _LIVE), Meter(environment, system.pids) as meter:
            load = Load(environment, system.table, self.rate)
            try:
                began = time.time()
                _supervise(system, lambda: time.time() >= began + self.around)
                stopped = time.time()
                environment.kafka.stop_node(1)
                _supervise(system, lambda: time.time() >= stopped + self.outage)
                environment.kafka.start_node(1)
                back = time.time()
                _supervise(system, lambda: not load.running())
                seen = load.result()
            finally:
                load.close()
                environment.kafka.start()
        silence = stopped + _recovery(seen["silences"], stopped, within=self.outage)
        return Outcome({"recovery_s": max(0.0, silence - back)} | verdict(seen) | meter.costs(self.rate.events),
                       meter.series())


def _supervise(system: System, done: Callable[[], bool]) -> None:
    """Restarts the system whenever it exits by itself, as a supervisor does."""
    while not done():
        if system.failure() is not None:
            _start_again(system)
        time.sleep(0.05)


def _start_again(system: System) -> None:
    system.kill()
    system.start(_LIVE)


def _recovery(silences: list[list[float]], at: float, within: float) -> float:
    """Seconds from `at` to the end of the longest silence that includes `at` or begins up to `within` seconds later.

    Records in flight may still arrive after `at`. Silences under 20 ms are not reported.
    """
    after = [(seconds, start + seconds) for start, seconds in silences
             if start + seconds > at and start < at + within]
    return max(after)[1] - at if after else 0.02
