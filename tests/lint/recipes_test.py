#!/usr/bin/python3
"""The recipes of docs/hacking.md ("How to add") are true: their files exist, and each row of their tables is used."""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECTION = (ROOT / "docs/hacking.md").read_text().split("## How to add\n")[1].split("\n## ")[0]


def text(path: str) -> str:
    return (ROOT / path).read_text()


def sources(folder: str) -> str:
    files = sorted((ROOT / folder).rglob("*.[ch]*"))
    return "\n".join(path.read_text() for path in files if path.suffix in {".cc", ".h"})


class RecipesTest(unittest.TestCase):
    def expect_each(self, names: list[str], found: str, where: str) -> None:
        self.assertTrue(names)
        missing = [name for name in names if not re.search(rf"{re.escape(name)}\b", found)]
        self.assertEqual(missing, [], f"not in {where}")

    def test_every_file_exists(self) -> None:
        paths = re.findall(r"`((?:src|include|tests|docs|scripts)/[\w./-]+|CHANGELOG\.md)`", SECTION)
        self.assertGreater(len(paths), 15)
        self.assertEqual([path for path in paths if not (ROOT / path).exists()], [])

    def test_errors(self) -> None:
        table = text("include/walrelay/error_codes.def")
        rows = re.findall(r"^WALRELAY_(?:ROW_)?ERROR\((\d+), (\w+),", table, re.MULTILINE)
        self.expect_each([f"WR-{number}" for number, _ in rows], text("docs/errors.md"), "docs/errors.md")
        self.expect_each([f"ErrorCode::k{name}" for _, name in rows], sources("src"), "src/")
        policies = re.findall(r"^WALRELAY_ROW_ERROR\(\d+, \w+, \w+, \w+, (\w+),", table, re.MULTILINE)
        section = text("docs/configuration.md").split("## `[on_error]`\n")[1].split("\n## ")[0]
        keys = re.findall(r"^\| `(\w+)` \| stop, dead_letter, skip \|", section, re.MULTILINE)
        self.assertEqual(sorted(policies), sorted(keys))

    def test_metrics(self) -> None:
        rows = re.findall(r'^WALRELAY_(?:COUNTER|GAUGE|HISTOGRAM)\((\w+),\s*"(\w+)"', text("src/metrics/catalogue.def"),
                          re.MULTILINE)
        self.expect_each([name for _, name in rows], text("docs/reference/metrics.md"), "docs/reference/metrics.md")
        used = set(re.findall(r"\bmetrics_?(?:\.|->)(\w+)", sources("src")))
        self.assertEqual([member for member, _ in rows if member not in used], [])

    def test_checks(self) -> None:
        rows = re.findall(r'^WALRELAY_CHECK\("([\w.]+)"', text("src/findings/checks.def"), re.MULTILINE)
        self.expect_each(rows, text("docs/reference/doctor.md"), "docs/reference/doctor.md")
        self.expect_each([f'"{name}' for name in rows], sources("src"), "src/")

    def test_waits(self) -> None:
        rows = re.findall(r"^WALRELAY_WAIT\((\w+),", text("include/walrelay/waits.def"), re.MULTILINE)
        may_handle = text("src/relay/session.cc").split("bool Session::MayHandle")[1].split("\n}\n")[0]
        self.expect_each([f"Wait::k{name}" for name in rows], may_handle, "Session::MayHandle()")

    def test_commands(self) -> None:
        rows = re.findall(r"^WALRELAY_COMMAND\((\w+)\)", text("src/cli/commands.def"), re.MULTILINE)
        defined = re.findall(r"^Command (\w+)\(\) \{", sources("src/cli"), re.MULTILINE)
        self.assertEqual(sorted(rows), sorted(defined))


if __name__ == "__main__":
    sys.exit(unittest.main())
