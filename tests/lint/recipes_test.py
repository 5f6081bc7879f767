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

    def test_sinks(self) -> None:
        folders = [path.name for path in (ROOT / "src/sinks").iterdir() if path.is_dir()]
        registry = text("src/sinks/registry.cc") + text("src/sinks/CMakeLists.txt")
        self.expect_each([f"sinks/{name}" for name in folders], registry, "the registry of sinks")
        for header in ("sink.h", "sink_factory.h"):
            for word in re.findall(r"\brd_kafka\w*|librdkafka/", text(f"include/walrelay/{header}")):
                self.fail(f"{header} names {word}")
        others = [path for path in (ROOT / "src").rglob("*.[ch]*")
                  if path.suffix in {".cc", ".h"} and not path.is_relative_to(ROOT / "src/sinks")
                  and not path.is_relative_to(ROOT / "src/demo")]  # the demo starts brokers of its own
        found = [str(path) for path in others if re.search(r'#include "sinks/(?!registry\.h")', path.read_text())]
        self.assertEqual(found, [], "headers of a sink are included outside of src/sinks")

    def test_sources(self) -> None:
        makers = re.findall(r"\bMake\w+Runner\b", "\n".join(path.read_text() for path in (ROOT / "src/runner").glob("*.h")))
        self.expect_each(sorted(set(makers)), text("src/daemon/daemon.cc"), "src/daemon/daemon.cc")

    def test_options(self) -> None:
        defined = re.findall(r"^const Section (k\w+) =", sources("src/config"), re.MULTILINE)
        self.expect_each([f"&{name}" for name in defined], text("src/config/option.cc"), "src/config/option.cc")
        headers = [path.name for path in (ROOT / "include/walrelay/config").glob("*.h")]
        parts = [text(f"include/walrelay/config/{name}.h") for name in ("source", "outbox_table")]
        included = text("include/walrelay/config.h") + "".join(parts)
        self.expect_each([f"walrelay/config/{name}" for name in headers], included, "include/walrelay/config.h")
        ranges = re.findall(r"Within\(\s*\w+<[^(]*\(\s*\"([\w.]+)\",\s*\"(\w+)\"", sources("src/config"))
        self.assertGreater(len(ranges), 10)
        tests = "\n".join(path.read_text() for path in (ROOT / "tests/unit/config").glob("*_section_test.cc"))
        self.expect_each([f"{section}.{key}" for section, key in ranges], tests, "tests/unit/config")

    def test_formats(self) -> None:
        enum = re.search(r"enum class Format : uint8_t \{([^}]*)\}", text("include/walrelay/config/format.h"))
        assert enum is not None
        names = [name.strip() for name in enum.group(1).split(",")]
        converter = text("src/encode/converter.cc")
        self.expect_each([f"Format::{name}" for name in names], converter, "src/encode/converter.cc")


if __name__ == "__main__":
    sys.exit(unittest.main())
