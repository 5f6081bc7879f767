#!/usr/bin/python3
"""The release binary is hardened. The tests read the binary, not the build files."""

import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = ROOT / "build/release/src/cli/walrelay"


class HardeningTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        if not BINARY.exists():
            reason = "the release preset is not built (scripts/dev build release)"
            if os.environ.get("CI") == "true":
                raise AssertionError(reason)
            raise unittest.SkipTest(reason)

    def readelf(self, *options: str) -> str:
        return subprocess.run(["readelf", "-W", *options, BINARY], capture_output=True, text=True, check=True).stdout

    def test_position_independent(self) -> None:
        self.assertIn("DYN (Position-Independent Executable file)", self.readelf("-h"))

    def test_relocations_are_read_only_from_the_start(self) -> None:
        self.assertIn("GNU_RELRO", self.readelf("-l"))
        self.assertRegex(self.readelf("-d"), r"FLAGS.*BIND_NOW|BIND_NOW")

    def test_stack_is_not_executable(self) -> None:
        self.assertRegex(self.readelf("-l"), r"GNU_STACK\s+\S+\s+\S+\s+\S+\s+\S+\s+\S+\s+RW\s")

    def test_stack_protector_and_fortified_functions(self) -> None:
        symbols = self.readelf("--dyn-syms")
        self.assertIn("__stack_chk_fail", symbols)
        self.assertTrue(re.search(r"__\w+_chk", symbols.replace("__stack_chk_fail", "")))

    def test_control_flow_protection_in_our_code(self) -> None:
        """Checks every function that may be an indirect target; the compiler knows all callers of the others."""
        symbols = self.readelf("--symbols")
        reachable = set(re.findall(r" FUNC +GLOBAL .* (_ZN8walrelay\S*)$", symbols, re.MULTILINE))
        disassembly = subprocess.run(["objdump", "-d", "--no-show-raw-insn", BINARY], capture_output=True, text=True,
                                     check=True).stdout
        first = dict(re.findall(r"<(_ZN8walrelay[^>]*)>:\n[^\n]*?\t(\w+)", disassembly))
        generated = ("_ZN8walrelay6events", "_ZN8walrelay8progress")
        ours = {name for name in reachable & first.keys() if not name.startswith(generated)}
        self.assertGreater(len(ours), 200)
        self.assertEqual([name for name in ours if first[name] != "endbr64"], [])

    def test_allocator_is_jemalloc_with_our_settings(self) -> None:
        """The linker drops a library without references, and jemalloc reads only an exported malloc_conf."""
        self.assertIn("libjemalloc.so.2", self.readelf("-d"))
        self.assertRegex(self.readelf("--dyn-syms"), r"OBJECT +GLOBAL +DEFAULT +\d+ malloc_conf")


if __name__ == "__main__":
    unittest.main()
