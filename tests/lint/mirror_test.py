#!/usr/bin/python3
"""Unit tests mirror src/: src/base/text.cc is tested by tests/unit/base/text_test.cc, or by several text_*_test.cc.

A source that is thin, or that needs a server, has a row in tests/unit/covered_elsewhere.txt instead: the test that
covers it.
"""

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests/unit/covered_elsewhere.txt"


def subject_of(test: Path) -> str | None:
    """The longest name of a source or header that the name of the test begins with."""
    layer = ROOT / "src" / test.parent.relative_to(ROOT / "tests/unit")
    names = {path.stem for folder in (layer, ROOT / "include/walrelay") for path in folder.glob("*.*")}
    words = test.name.removesuffix("_test.cc").split("_")
    names_of_test = ("_".join(words[:count]) for count in range(len(words), 0, -1))
    return next((name for name in names_of_test if name in names), None)


TESTS = sorted((ROOT / "tests/unit").rglob("*_test.cc"))
SOURCES = {str(path.relative_to(ROOT)): path for path in sorted((ROOT / "src").rglob("*.cc"))}
TESTED = {f"src/{test.parent.relative_to(ROOT / 'tests/unit')}/{subject_of(test)}.cc" for test in TESTS}
ROWS = [line.split(": ") for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]


class MirrorTest(unittest.TestCase):
    def test_every_source_has_a_test_or_a_row(self) -> None:
        covered = TESTED | {source for source, _ in ROWS}
        self.assertEqual([source for source in SOURCES if source not in covered], [])

    def test_every_test_is_named_after_its_subject(self) -> None:
        self.assertEqual([str(test) for test in TESTS if subject_of(test) is None], [])

    def test_rows_name_sources_without_a_test_and_existing_tests(self) -> None:
        self.assertEqual([source for source, _ in ROWS if source not in SOURCES or source in TESTED], [])
        self.assertEqual([test for _, test in ROWS if not (ROOT / test).is_file()], [])

    def test_rows_are_sorted_and_unique(self) -> None:
        self.assertEqual([source for source, _ in ROWS], sorted({source for source, _ in ROWS}))


if __name__ == "__main__":
    sys.exit(unittest.main())
