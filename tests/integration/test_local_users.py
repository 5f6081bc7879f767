#!/usr/bin/python3
"""What other users of the host must not be able to do to an operator who runs a command, often as root."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from walrelay_test.relay_config import relay_environment, relay_program
from walrelay_test.testcase import main

_OTHER = 65534

# Commands that run source.password_command, or would connect to a server that the file names.
_COMMANDS = (["doctor"], ["check"], ["recover"], ["status"], ["progress", "show"], ["setup", "--apply"], ["run"],
             ["prune", "--apply"], ["resume", "--accept-gap"], ["republish", "--all"], ["print"], ["config", "show"])


class FoundConfigurationTest(unittest.TestCase):
    """A walrelay.toml in the current folder names a command."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="walrelay-folder-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o755)
        self.trace = self.folder / "ran"
        self.file = self.folder / "walrelay.toml"
        self.file.write_text(f"""
[source]
dsn = "host=127.0.0.1 port=1 user=u dbname=d"
password_command = ["/bin/sh", "-c", "id > {self.trace}; echo x"]
[kafka]
bootstrap_servers = "127.0.0.1:1"
[pipeline]
progress = "off"
[http]
listen = "127.0.0.1:1"
""")

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([relay_program(), *arguments], cwd=self.folder, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=relay_environment())

    def give_away(self, path: Path) -> None:
        """To another user; if this process cannot, every user may write to it, which amounts to the same."""
        if os.geteuid() == 0:
            os.chown(path, _OTHER, _OTHER, follow_symlinks=False)
        else:
            path.chmod(0o777)

    def expect_refused(self, *commands: list[str]) -> None:
        for command in commands:
            done = self.call(*command)
            self.assertEqual(done.returncode, 78, (command, done.stdout))
            self.assertIn("WR-1010", done.stdout)
            self.assertFalse(self.trace.exists(), command)

    def test_file_of_another_user_runs_no_command(self) -> None:
        self.give_away(self.file)
        self.expect_refused(*_COMMANDS)

    def test_file_in_a_folder_of_another_user_runs_no_command(self) -> None:
        self.give_away(self.folder)
        self.expect_refused(["doctor"])

    def test_link_of_another_user_runs_no_command(self) -> None:
        place = self.folder / "shared"
        place.mkdir()
        self.file.rename(place / "real.toml")
        self.file.symlink_to("shared/real.toml")
        self.give_away(place)
        self.expect_refused(["doctor"])

    def test_own_file_is_used_and_named_by_a_command_that_changes_something(self) -> None:
        self.assertIn("WR-2001", self.call("doctor").stdout)
        self.assertTrue(self.trace.exists())
        first = f"walrelay: configuration {self.file} (in the current folder)\n"
        for command in (["setup", "--apply"], ["prune", "--apply"], ["resume", "--accept-gap"], ["reload"],
                        ["republish", "--all"], ["progress", "init"], ["recover", "--apply", "0"],
                        ["dead-letters", "retry", "--all", "--set", "on_error.dead_letter_topic=dead"]):
            with self.subTest(command):
                printed = self.call(*command).stdout
                self.assertTrue(printed.startswith(first), printed)

    def test_named_file_of_another_user_is_the_operators_decision(self) -> None:
        self.give_away(self.file)
        self.assertIn("WR-2001", self.call("doctor", "--config", "walrelay.toml").stdout)


if __name__ == "__main__":
    main()
