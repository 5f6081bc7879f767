#!/usr/bin/python3
"""Every command block of docs/runbooks is typed by a drill, or has a row in tests/drill/not_drilled.txt that says why not."""

import re
import unittest
from collections import Counter

from walrelay_dev.paths import REPOSITORY
from walrelay_test.runbook import NOT_DRILLED, blocks_of, name_of, not_drilled, pages


HEADING = "What to type"  # of the section, unless a drill names another


def drilled() -> set[tuple[str, str]]:
    """The sections whose blocks a drill types: pages and headings."""
    text = "".join(path.read_text() for path in sorted((REPOSITORY / "tests/drill").glob("test_*.py")))
    calls = re.findall(r"self\.blocks\(\"([\w-]+)\"(?:,\s*\"([^\"]+)\")?\)", text)
    return {(page, heading or HEADING) for page, heading in calls}


class RunbooksTest(unittest.TestCase):
    def test_every_block_is_drilled_or_listed(self) -> None:
        sections = drilled()
        self.assertGreaterEqual(len(sections), 3)
        blocks = [block for page in pages() for block in blocks_of(page)]
        self.assertLessEqual(sections, {(block.page, block.heading) for block in blocks}, "sections without a block")
        rows = not_drilled()
        self.assertEqual([row for row, count in Counter(rows).items() if count > 1], [])
        self.assertLessEqual(set(rows), {name_of(block) for block in blocks}, "rows without a block")
        left = {name_of(block) for block in blocks if (block.page, block.heading) not in sections}
        self.assertEqual(sorted(left - set(rows)), [], "blocks that no drill types")

    def test_every_row_has_a_reason(self) -> None:
        for line in NOT_DRILLED.read_text().splitlines():
            if line and not line.startswith("#"):
                self.assertRegex(line, r"^[\w-]+: .+ \| \w.{10,}$")


if __name__ == "__main__":
    unittest.main()
