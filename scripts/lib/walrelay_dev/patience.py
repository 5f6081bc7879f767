"""Deadlines that a slow machine does not fool.

A deadline is written for a machine with nothing else to do. On a machine that is slower or busy it is longer, by as much as a
known piece of work takes longer: measured once when a process first waits, and again before a deadline may pass, so
that a machine that has become slow meanwhile does not fail a test.
"""

import hashlib
import time

_BLOCK = bytes(1 << 20)
_BLOCKS = 96
_QUIET_SECONDS = 0.13  # for the work on an idle core of two
_AGAIN_SECONDS = 1.0
_SLOWEST = 20.0  # a hang must end


class _Machine:
    """How slow the machine is: 1 if it is quiet, 2 if work takes twice as long."""

    def __init__(self) -> None:
        self._slowness = 0.0
        self._measured = 0.0

    def at_start(self) -> float:
        """As measured when it was first asked, or as the slowest since."""
        return self._slowness or self.now()

    def now(self) -> float:
        """The slowest so far, with another measurement unless the last is recent."""
        if not self._slowness or time.monotonic() - self._measured > _AGAIN_SECONDS:
            began = time.monotonic()
            digest = hashlib.blake2b()
            for _ in range(_BLOCKS):
                digest.update(_BLOCK)
            self._measured = time.monotonic()
            factor = (self._measured - began) / _QUIET_SECONDS
            self._slowness = max(self._slowness, min(max(factor, 1.0), _SLOWEST))
        return self._slowness


_machine = _Machine()


def patient(seconds: float) -> float:
    """The deadline of `seconds`, longer on a slow machine: for a call that has its own timeout."""
    return seconds * _machine.at_start()


class Deadline:
    """A deadline of `seconds` from now on a quiet machine."""

    def __init__(self, seconds: float) -> None:
        self._began = time.monotonic()
        self._seconds = seconds

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    def passed(self) -> bool:
        """Measures the machine again only when it would have passed on a machine as slow as it was known to be."""
        return self.elapsed > patient(self._seconds) and self.elapsed > self._seconds * _machine.now()
