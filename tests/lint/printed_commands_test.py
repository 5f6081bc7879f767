#!/usr/bin/python3
"""Every command that walrelay prints is in the inventory, with the test that executes it."""

import re
import unittest

from walrelay_dev.paths import REPOSITORY
from walrelay_test.printed_commands import commands_of, inventory, printed_commands


class PrintedCommandsTest(unittest.TestCase):
    def test_inventory_is_complete(self) -> None:
        printed, rows = printed_commands(), inventory()
        new = {command: files for command, files in printed.items() if command not in rows}
        self.assertEqual(new, {}, "commands that are printed and not in tests/lint/printed_commands.txt")
        self.assertEqual(set(rows) - set(printed), set(), "commands that nothing prints any more")

    def test_named_tests_exist(self) -> None:
        for command, what in inventory().items():
            if what.startswith("not run: "):
                continue
            with self.subTest(command=command):
                module, name, test = what.split(".")
                text = (REPOSITORY / f"tests/integration/{module}.py").read_text()
                self.assertRegex(text, rf"(?m)^class {re.escape(name)}\b")
                self.assertRegex(text, rf"(?m)^    def {re.escape(test)}\b")

    def test_commands_are_found_in_sentences(self) -> None:
        self.assertEqual(commands_of("Stop it; ALTER PUBLICATION … SET (publish = 'insert'); start it again."),
                         {"ALTER PUBLICATION … SET (publish = 'insert')"})
        self.assertEqual(commands_of("walrelay recover --since TIME, for the rows since then. Or walrelay resume "
                                     "--accept-gap."), {"walrelay recover --since TIME", "walrelay resume --accept-gap"})
        self.assertEqual(commands_of("walrelay reads and ignores the rest"), set())


if __name__ == "__main__":
    unittest.main()
