"""Where the time of each event goes, as tools/stages.cc has recorded it."""

import os
import struct
from pathlib import Path
from typing import Any

from .environment import program

# The stages between the six times of an event, in their order. The first one begins when the server writes the commit
# into the WAL; a preceding wait for the writer's own locks is not part of it.
STAGES = ("commit → sent by Postgres", "sent → read", "read → produced", "produced → requested", "requested → answered")
# Which events a column is about: the quantile of the whole time, and the range of quantiles that is averaged.
QUANTILES = {"p50": (0.45, 0.55), "p99": (0.985, 0.995), "p99.9": (0.9985, 0.9995)}
_RECORD = struct.Struct("=6q")


def environment(file: Path) -> dict[str, str]:
    """The environment of a relay whose stages are recorded in `file`."""
    return {**os.environ, "LD_PRELOAD": str(program("bench/libwalrelay_stages.so")), "WALRELAY_STAGES": str(file)}


def read(file: Path, since: float) -> list[tuple[float, ...]]:
    """The stages of each event that was committed after `since` (time.time()), in ms."""
    data = file.read_bytes()
    usable = len(data) - len(data) % _RECORD.size
    return [tuple((after - before) / 1000 for before, after in zip(times, times[1:]))
            for times in _RECORD.iter_unpack(data[:usable]) if times[0] >= since * 1e6]


def attribute(events: list[tuple[float, ...]]) -> dict[str, Any]:
    """For each quantile of the whole time: the mean of each stage of the events there. So the parts add up, and the
    column of the p99 says what is slow in slow events, not how slow each stage can be."""
    ordered = sorted(events, key=sum)
    found: dict[str, Any] = {"events": len(ordered)}
    for name, (low, high) in QUANTILES.items():
        slice_ = ordered[int(low * len(ordered)):max(int(low * len(ordered)) + 1, int(high * len(ordered)))]
        if slice_:
            found[name] = [sum(each[stage] for each in slice_) / len(slice_) for stage in range(len(STAGES))]
    return found
