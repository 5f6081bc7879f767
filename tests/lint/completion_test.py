#!/usr/bin/python3
"""`walrelay completion`: bash completes command lines with the script; zsh and fish accept theirs, where installed.

Also the manual pages: man formats them without a warning.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BINARY = Path(os.environ["WALRELAY_BUILD_DIR"]) / "src/cli/walrelay"


def output_of(*command: str | Path, text: str | None = None) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}: {done.stderr}")
    return done.stdout + done.stderr


class CompletionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.scripts = {shell: output_of(BINARY, "completion", shell) for shell in ("bash", "zsh", "fish")}

    def completions(self, *words: str) -> list[str]:
        """What bash proposes for the last of the words, split as readline splits them."""
        line = " ".join(f"'{word}'" for word in ("walrelay", *words))
        return output_of("bash", "--norc", text=f"""{self.scripts["bash"]}
            compopt() {{ :; }}
            COMP_WORDS=({line}); COMP_CWORD={len(words)}
            _walrelay; printf '%s\\n' "${{COMPREPLY[@]}}" """).split()

    def test_commands(self) -> None:
        self.assertIn("run", self.completions(""))
        self.assertEqual(self.completions("che"), ["check"])
        self.assertEqual(self.completions("config", ""), ["show", "docs", "schema", "-h", "--help"])
        self.assertNotIn("man", self.completions(""))

    def test_flags(self) -> None:
        self.assertEqual(self.completions("run", "--ev"), ["--events"])
        self.assertEqual(self.completions("config", "show", "--conf"), ["--config"])
        self.assertEqual(self.completions("run", "--events", "json", "--ev"), ["--events"])

    def test_values(self) -> None:
        self.assertEqual(self.completions("run", "--events", ""), ["text", "json"])
        self.assertEqual(self.completions("run", "--events", "="), ["text", "json"])
        self.assertEqual(self.completions("run", "--events", "=", "j"), ["json"])
        self.assertEqual(self.completions("run", "--set", "source.slo"), ["source.slot="])
        self.assertEqual(self.completions("explain", "WR-2101"), ["WR-2101"])
        self.assertEqual(self.completions("completion", "z"), ["zsh"])
        self.assertEqual(self.completions("run", "--slot", ""), [])

    def test_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.toml").touch()
            self.assertEqual(self.completions("run", "--config", folder + "/"), [folder + "/a.toml"])

    def test_a_value_is_no_command(self) -> None:
        self.assertIn("--events", self.completions("run", "--slot", "check", "--"))

    def test_other_shells_accept_their_scripts(self) -> None:
        for shell in ("zsh", "fish"):
            with self.subTest(shell):
                if shutil.which(shell) is None:
                    self.skipTest(f"{shell} is not installed")
                with tempfile.NamedTemporaryFile("w", suffix=shell) as file:
                    file.write(self.scripts[shell])
                    file.flush()
                    self.assertEqual(output_of(shell, "-n", file.name), "")

    def test_fish_proposes_commands_and_values(self) -> None:
        if shutil.which("fish") is None:
            self.skipTest("fish is not installed")
        for line, expected in (("walrelay che", ["check"]), ("walrelay run --events ", ["json", "text"]),
                               ("walrelay config sh", ["show"])):
            said = output_of("fish", "--no-config", "-c",
                             self.scripts["fish"] + f"\ncomplete --do-complete '{line}'")
            self.assertEqual([one.split("\t")[0] for one in said.splitlines()], expected)

    def test_bash_script_has_no_problem(self) -> None:
        output_of("shellcheck", "--shell=bash", "-", text=self.scripts["bash"])


class ManPageTest(unittest.TestCase):
    def test_pages_are_formatted_without_a_warning(self) -> None:
        if shutil.which("man") is None:
            self.skipTest("man is not installed")
        with tempfile.TemporaryDirectory() as folder:
            output_of(BINARY, "man", "--directory", folder)
            pages = sorted(Path(folder).iterdir())
            self.assertIn("walrelay-config-show.1", [page.name for page in pages])
            for page in pages:
                with self.subTest(page.name):
                    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60,
                                          env=os.environ | {"MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
                    self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
