"""The workloads, at full size and at a small size that only checks that everything works."""

from .backlogs import Drain, Gigabyte, KillDrain, Recover, ShardedDrain, Start, Topics, Transaction
from .live import Idle, Kills, Outage, Slots, Steady
from .load import Rate
from .workload import Workload

_RATES = (100, 1000, 5000)
_PAYLOADS = {"": 300, "-2kB": 2000}
_TRANSACTIONS = {"": 1, "-x10": 10}

# The steady workloads that run by default. The rest of the twelve run only if they are named.
_STEADY = ("steady-100", "steady-1000", "steady-5000", "steady-1000-2kB", "steady-1000-x10", "steady-5000-x10",
           "steady-5000-2kB-x10")
# Of the other kinds, these run only if they are named.
_RARE = ("drain-2kB", "drain-64kB", "drain-hot", "drain-zipf", "shards-2", "shards-4", "slots-8", "slots-32",
         "topics-1000")


def workloads(quick: bool) -> dict[str, Workload]:
    """All workloads by name, in the order in which they run."""
    found: list[Workload] = [
        Start("start", 1000),
        *(Steady(f"steady-{rate}{size}{rows}",
                 Rate(rate, seconds=2 if quick else 20, warmup=1 if quick else 8, payload=payload,
                      per_transaction=count))
          for size, payload in _PAYLOADS.items() for rows, count in _TRANSACTIONS.items() for rate in _RATES),
        # Long enough that a system that deletes published rows deletes as many as are written.
        *(Steady(f"steady-{rate}-long", Rate(rate, seconds=2 if quick else 40, warmup=1 if quick else 25))
          for rate in (1000, 5000)),
        Drain("drain", 10_000 if quick else 1_000_000),
        Drain("drain-2kB", 10_000 if quick else 300_000, payload=2000),
        Drain("drain-64kB", 100 if quick else 10_000, payload=64_000),
        Drain("drain-hot", 10_000 if quick else 1_000_000, keys="hot"),
        Drain("drain-zipf", 10_000 if quick else 1_000_000, keys="zipf"),
        *(ShardedDrain(f"shards-{count}", 10_000 if quick else 1_000_000, count) for count in (2, 4)),
        *(Slots(f"slots-{count}", count, Rate((20 if quick else 200) * count, seconds=2 if quick else 20,
                                             warmup=1 if quick else 8))
          for count in (8, 32)),
        Topics("topics-1000", *((1000, 40) if quick else (100_000, 1000))),
        Topics("topics", *((1000, 20) if quick else (50_000, 500))),
        Transaction("transaction", 10_000 if quick else 2_000_000),
        Gigabyte("gigabyte", 16 if quick else 1024),
        Recover("recover", 10_000 if quick else 1_000_000, 0),
        Recover("recover-compared", *((10_000, 5_000) if quick else (1_000_000, 500_000))),
        Kills("kills", 1000, *((1, 3) if quick else (6, 10))),
        KillDrain("kill-drain", 10_000 if quick else 200_000),
        Idle("idle", 2 if quick else 120),
        Outage("outage", 1000, *((2, 1) if quick else (120, 10))),
    ]
    return {workload.name: workload for workload in found}


def chosen(names: str | None, quick: bool) -> list[Workload]:
    """Parses `names` from the command line. None selects the workloads of a full run, or of a quick run."""
    there = workloads(quick)
    if names is None:
        steady = _STEADY if not quick else ("steady-1000",)
        return [each for each in there.values()
                if each.name in steady or (not isinstance(each, Steady) and each.name not in _RARE)]
    wanted = names.split(",")
    if unknown := [name for name in wanted if name not in there and name != "steady"]:
        raise SystemExit(f"unknown workload {unknown[0]}; expected one of {', '.join(there)}, "
                         "or steady for the default steady workloads")
    return [each for each in there.values()
            if each.name in wanted or ("steady" in wanted and each.name in _STEADY)]
