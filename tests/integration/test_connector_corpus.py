#!/usr/bin/python3
"""Connectors as people write them: how `walrelay import debezium` converts each file of connectors/.

A connector FILE has its result in FILE.golden: the exit code, the report, and the TOML. NAME.worker is the
configuration of the Connect worker of NAME.*. WALRELAY_UPDATE_GOLDEN=1 writes the results: review them as a diff.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from walrelay_dev.certificates import self_signed
from walrelay_dev.patience import patient
from walrelay_test.testcase import relay_program

FOLDER = Path(__file__).resolve().parent / "connectors"
CASES = sorted(path for path in FOLDER.iterdir() if path.suffix not in {".golden", ".worker"})
UPDATE = os.environ.get("WALRELAY_UPDATE_GOLDEN") == "1"
# Paths of the corpus that must exist to be checked.
FILE = re.compile(r'/etc/(?:kafka/secrets|postgres)/[\w.-]+')


def golden_of(case: Path) -> Path:
    return case.with_name(case.name + ".golden")


def is_complete(case: Path) -> bool:
    return golden_of(case).read_text().startswith("exit code 0\n")


class ConnectorCorpusTest(unittest.TestCase):
    maxDiff = None

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([relay_program(), *arguments], cwd=self.folder, text=True, timeout=patient(60),
                              capture_output=True)

    def convert(self, case: Path, *more: str) -> subprocess.CompletedProcess[str]:
        worker = case.with_suffix(".worker")
        arguments = ["--worker", str(worker)] if worker.exists() else []
        return self.call("import", "debezium", str(case), *arguments, *more)

    def result(self, case: Path) -> str:
        run = self.convert(case)
        report = run.stderr.replace(f"{FOLDER}/", "")
        return f"exit code {run.returncode}\n\n{report}" + (f"\n{run.stdout}" if run.stdout else "")

    def with_real_files(self, toml: str) -> str:
        """The configuration with paths of this machine."""
        certificate, key = self_signed()
        for path in set(FILE.findall(toml)):
            copy = self.folder / Path(path).name
            copy.write_text(key + certificate)
            copy.chmod(0o600)
            toml = toml.replace(path, str(copy))
        return toml

    def test_every_connector_has_the_recorded_result(self) -> None:
        self.assertGreaterEqual(len(CASES), 40)
        for case in CASES:
            with self.subTest(case.name):
                result = self.result(case)
                if UPDATE:
                    golden_of(case).write_text(result)
                self.assertEqual(result, golden_of(case).read_text())

    def test_every_golden_file_has_a_connector(self) -> None:
        self.assertEqual(sorted(FOLDER.glob("*.golden")), [golden_of(case) for case in CASES])

    def test_most_connectors_are_converted_completely(self) -> None:
        self.assertGreaterEqual(sum(is_complete(case) for case in CASES), 30)

    def test_no_secret_is_shown(self) -> None:
        for case in CASES:
            self.assertNotRegex(golden_of(case).read_text(), r"\w+-secret|= \"postgres\"$", case.name)

    def test_every_written_file_is_valid(self) -> None:
        for case in CASES:
            with self.subTest(case.name):
                output = self.folder / f"{case.name}.toml"
                run = self.convert(case, "-o", str(output))
                self.assertEqual(output.exists(), run.returncode == 0)
                if output.exists():
                    output.write_text(self.with_real_files(output.read_text()))
                    self.expect_valid(output)

    def expect_valid(self, config: Path) -> None:
        # Addresses that no file of the connector has are given as flags.
        missing = [] if "bootstrap_servers = \"" in uncommented(config) else ["--kafka", "kafka:9092",
                                                                            "--set", "kafka.allow_insecure=true"]
        # A secret of a config provider is the operator's to give.
        if "sasl_mechanism = \"PLAIN\"" in uncommented(config) and "sasl_password" not in uncommented(config):
            password = self.folder / "password"
            password.write_text("secret\n")
            password.chmod(0o600)
            missing += ["--set", f"kafka.sasl_password_file={password}"]
        check = self.call("check", "--offline", "-c", str(config), *missing)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)

    def test_lossy_import_writes_a_valid_file_or_says_what_is_missing(self) -> None:
        for case in CASES:
            if is_complete(case):
                continue
            with self.subTest(case.name):
                output = self.folder / f"{case.name}.toml"
                run = self.convert(case, "--allow-lossy", "-o", str(output))
                if run.returncode == 0:
                    output.write_text(self.with_real_files(output.read_text()))
                    self.expect_valid(output)
                else:
                    self.assertFalse(output.exists())
                    self.assertRegex(run.stderr, r"what to do: +\S|line \d+, column \d+: not JSON: expected")

    def test_connector_of_a_command_is_read_with_its_worker(self) -> None:
        """Every command that reads a connector accepts --worker."""
        connector, worker = FOLDER / "worker-defaults.json", FOLDER / "worker-defaults.worker"
        shutil.copy(connector, self.folder)
        lines = self.with_real_files(worker.read_text())
        (self.folder / "connect.properties").write_text(lines)
        arguments = ["-c", "worker-defaults.json", "--worker", "connect.properties"]
        self.assertEqual(self.call("check", "--offline", *arguments).returncode, 0)
        self.assertIn("kafka-1.internal:9093", self.call("config", "show", *arguments).stdout)
        self.assertIn("CREATE PUBLICATION", self.call("setup", *arguments).stdout)
        for command in ("run", "check", "doctor", "status", "resume", "print", "verify", "setup"):
            self.assertIn("--worker", self.call(command, "--help").stdout, command)

    def test_worker_without_a_connector_is_a_usage_error(self) -> None:
        (self.folder / "walrelay.toml").write_text('[source]\ndsn = "host=/run/postgresql"\n')
        run = self.call("check", "--offline", "--worker", str(FOLDER / "worker-defaults.worker"))
        self.assertEqual(run.returncode, 64)
        self.assertIn("the configuration file is not a connector's", run.stderr)


def uncommented(config: Path) -> str:
    return "\n".join(line for line in config.read_text().splitlines() if not line.startswith("#"))


if __name__ == "__main__":
    unittest.main()
