#!/usr/bin/python3
"""Configurations and command lines that are wrong, and the whole answer to each (configuration_errors.txt)."""

import unittest

from walrelay_test.configuration_errors import read_cases


class ConfigurationErrorTest(unittest.TestCase):
    maxDiff = None

    def test_answers_are_as_recorded(self) -> None:
        _, cases = read_cases()
        self.assertGreater(len(cases), 60)
        for case in cases:
            with self.subTest(case.title):
                self.assertEqual(case.run(), case.answer)


if __name__ == "__main__":
    unittest.main()
