#!/usr/bin/python3
"""walrelay.service and walrelay@.service: systemd accepts them, and they confine the process."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = Path(os.environ["WALRELAY_BUILD_DIR"]) / "packaging"  # the units as cmake --install installs them
MOST_EXPOSED = 2.0  # of 10, as rated by systemd-analyze


class ServiceUnitTest(unittest.TestCase):
    unit = INSTALLED / "walrelay.service"

    def setUp(self) -> None:
        self.text = self.unit.read_text()

    def analyze(self, *arguments: str) -> str:
        """Runs systemd-analyze on the unit with a program that exists."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / self.unit.name
            copy.write_text(re.sub(r"/\S*bin/walrelay", "/bin/true", self.text))
            return subprocess.run(["systemd-analyze", *arguments, str(copy)], text=True, timeout=60,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout

    def test_systemd_accepts_every_line(self) -> None:
        said = [line for line in self.analyze("verify", "--man=no").splitlines() if self.unit.stem in line]
        self.assertEqual(said, [])

    def test_exposure_is_low(self) -> None:
        level = re.search(r"exposure level for walrelay\S*: ([\d.]+)", self.analyze("security", "--offline=yes"))
        self.assertLessEqual(float(level[1]), MOST_EXPOSED)

    def test_no_restart_after_errors_that_a_restart_cannot_fix(self) -> None:
        codes = set(re.search(r"RestartPreventExitStatus=(.*)", self.text)[1].split())
        self.assertEqual(codes, {"4", "64", "78"})

    def test_stopping_may_take_as_long_as_draining(self) -> None:
        drain = re.search(r"drain_timeout` \| duration \| `\"?(\d+)s", (ROOT / "docs/configuration.md").read_text())
        self.assertGreater(int(re.search(r"TimeoutStopSec=(\d+)", self.text)[1]), int(drain[1]))

    def test_watchdog_is_longer_than_a_connection_attempt(self) -> None:
        connect = re.search(r"connect_timeout` \| duration \| `\"?(\d+)s", (ROOT / "docs/configuration.md").read_text())
        self.assertGreater(int(re.search(r"WatchdogSec=(\d+)", self.text)[1]), 2 * int(connect[1]))

    def test_the_unit_runs_the_installed_program(self) -> None:
        self.assertRegex(self.text, r"(?m)^ExecStart=/\S+/bin/walrelay run --config /etc/walrelay/walrelay\.toml$")


class TemplateUnitTest(ServiceUnitTest):
    unit = INSTALLED / "walrelay@.service"

    def test_the_unit_runs_the_installed_program(self) -> None:
        self.assertRegex(self.text, r"(?m)^ExecStart=/\S+/bin/walrelay run --config /etc/walrelay/%i\.toml$")

    def test_only_names_differ_from_the_other_unit(self) -> None:
        pairs = list(zip(self.text.splitlines(), ServiceUnitTest.unit.read_text().splitlines(), strict=True))
        differing = {line.lstrip("#").split("=")[0] for line, other in pairs if line != other}
        self.assertEqual(differing, {"Description", "ExecStart", "ExecReload"})


if __name__ == "__main__":
    unittest.main()
