#!/usr/bin/python3
"""Tests of deadlines on slow machines. The time and the work are simulated."""

import unittest
from unittest import mock

from walrelay_dev import patience
from walrelay_dev.patience import Deadline, patient


class Machine:
    """A clock, and work that takes `slowness` times as long as on a quiet machine."""

    def __init__(self, slowness: float) -> None:
        self.now = 1000.0
        self.slowness = slowness

    def blake2b(self) -> "Machine":
        return self

    def update(self, _: bytes) -> None:
        self.now += self.slowness * patience._QUIET_SECONDS / patience._BLOCKS

    def monotonic(self) -> float:
        return self.now


class PatienceTest(unittest.TestCase):
    def machine(self, slowness: float) -> Machine:
        machine = Machine(slowness)
        self.enterContext(mock.patch.object(patience, "hashlib", machine))
        self.enterContext(mock.patch.object(patience, "time", machine))
        self.enterContext(mock.patch.object(patience, "_machine", patience._Machine()))
        return machine

    def test_on_a_quiet_machine_a_deadline_is_what_it_says(self) -> None:
        machine = self.machine(1)
        deadline = Deadline(30)
        machine.now += 29
        self.assertFalse(deadline.passed())
        machine.now += 2
        self.assertTrue(deadline.passed())

    def test_on_a_fast_machine_it_is_not_shorter(self) -> None:
        self.machine(0.1)
        self.assertEqual(patient(30), 30)

    def test_on_a_slow_machine_it_is_longer(self) -> None:
        machine = self.machine(4)
        self.assertAlmostEqual(patient(30), 120)
        deadline = Deadline(30)
        machine.now += 115
        self.assertFalse(deadline.passed())
        machine.now += 10
        self.assertTrue(deadline.passed())

    def test_a_machine_that_becomes_slow_is_measured_before_the_deadline_passes(self) -> None:
        machine = self.machine(1)
        deadline = Deadline(30)
        self.assertAlmostEqual(patient(30), 30)
        machine.slowness = 3
        machine.now += 60
        self.assertFalse(deadline.passed())
        machine.now += 31
        self.assertTrue(deadline.passed())

    def test_a_hang_ends_on_any_machine(self) -> None:
        machine = self.machine(1000)
        deadline = Deadline(30)
        machine.now += 30 * patience._SLOWEST + 1000
        self.assertTrue(deadline.passed())


if __name__ == "__main__":
    unittest.main()
