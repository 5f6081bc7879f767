#!/usr/bin/python3
"""Tests of the commands scripts/pg and scripts/kafka, with real servers."""

import subprocess
import tempfile
import unittest
from pathlib import Path

from walrelay_dev.paths import REPOSITORY

SCRIPTS = REPOSITORY / "scripts"


class ToolTest(unittest.TestCase):
    """Gives each case the path of a folder that does not exist yet, accessible to the servers' users."""

    def setUp(self) -> None:
        parent = Path(self.enterContext(tempfile.TemporaryDirectory(dir="/tmp")))
        parent.chmod(0o755)
        self.folder = parent / "server"

    def call(self, tool: str, command: str, *arguments: str, code: int = 0) -> str:
        """Runs a command from another folder and returns its output."""
        run = subprocess.run([SCRIPTS / tool, command, "--dir", self.folder, *arguments], cwd="/",
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(run.returncode, code, run.stdout)
        return run.stdout


class PgTest(ToolTest):
    def test_start_stop_and_removal_of_a_cluster(self) -> None:
        self.call("pg", "status", code=3)
        self.assertIn("started in", self.call("pg", "start", "--set", "work_mem=2MB"))
        self.addCleanup(self.call, "pg", "status", code=3)
        self.assertIn("is already running", self.call("pg", "start"))
        self.assertIn("is running in", self.call("pg", "status"))
        self.assertEqual(self.call("pg", "psql", "-XAtc", "SHOW work_mem"), "2MB\n")
        dsn = self.call("pg", "dsn", "--dbname", "template1").strip()
        found = subprocess.run(["psql", "-XAtc", "SELECT current_database()", "-d", dsn],
                               capture_output=True, text=True)
        self.assertEqual(found.stdout, "template1\n")
        self.call("pg", "stop", "--mode", "immediate")
        self.assertIn("is stopped", self.call("pg", "status", code=3))
        self.assertIn("restarted in", self.call("pg", "start"))
        self.assertEqual(self.call("pg", "psql", "-XAtc", "SHOW work_mem"), "2MB\n")
        self.call("pg", "stop", "--remove")
        self.assertFalse(self.folder.exists())

    def test_error_is_one_line_with_a_remedy(self) -> None:
        for arguments, words in ((("stop",), "start one first"),
                                 (("start", "--set", "nonsense"), "expected name=value"),
                                 (("start", "--set", "nonsense=1"), "unrecognized")):
            printed = self.call("pg", *arguments, code=1)
            self.assertIn(words, printed)
            self.assertEqual(printed.count("\n"), 1, printed)


class KafkaTest(ToolTest):
    def test_start_stop_and_removal_of_a_broker(self) -> None:
        self.call("kafka", "status", code=3)
        self.assertIn("started in", self.call("kafka", "start", "--set", "num.partitions=2"))
        self.addCleanup(self.call, "kafka", "status", code=3)
        self.assertIn("is already running", self.call("kafka", "start"))
        bootstrap = self.call("kafka", "bootstrap").strip()
        self.assertRegex(bootstrap, r"^127\.0\.0\.1:\d+$")
        self.assertIn(f"{bootstrap}  running", self.call("kafka", "status"))
        self.assertIn("killed", self.call("kafka", "kill", "1"))
        self.assertIn(f"{bootstrap}  stopped", self.call("kafka", "status", code=3))
        self.assertIn("restarted in", self.call("kafka", "start"))
        self.assertEqual(self.call("kafka", "bootstrap").strip(), bootstrap)
        self.call("kafka", "stop")
        self.call("kafka", "stop", "--remove")
        self.assertFalse(self.folder.exists())


if __name__ == "__main__":
    unittest.main()
