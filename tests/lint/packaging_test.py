#!/usr/bin/python3
"""The files of packaging/ agree with the build and with each other. `scripts/dev package` builds and installs them."""

import json
import os
import re
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

import jsonschema

from walrelay_package import debian, dockerfile

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["WALRELAY_BUILD_DIR"])
INSTALLED = """bin/walrelay
lib/systemd/system/walrelay.service
lib/systemd/system/walrelay@.service
share/bash-completion/completions/walrelay
share/fish/vendor_completions.d/walrelay.fish
share/man/man1/walrelay.1
share/man/man1/walrelay-config-show.1
share/man/man5/walrelay.toml.5
share/walrelay/grafana/walrelay.json
share/walrelay/proto/walrelay/events/v1/dead_letter.proto
share/walrelay/walrelay.rules.yml
share/walrelay/walrelay.schema.json
share/doc/walrelay/examples/walrelay.toml
share/doc/walrelay/runbooks/README.md""".split()


class PackagingTest(unittest.TestCase):
    def test_package_is_built_with_the_packages_of_the_scripts(self) -> None:
        scripts = (ROOT / "scripts/lib/common.sh").read_text()
        listed = set(re.search(r"BUILD_PACKAGES=\(([^)]*)\)", scripts)[1].split())
        self.assertEqual(set(debian.build_dependencies()) - {"debhelper"}, listed - {"g++"})  # build-essential has g++

    def test_version_of_a_snapshot_precedes_the_release(self) -> None:
        for release, number in (("bookworm", 12), ("trixie", 13)):
            version = debian.version_of(release)
            self.assertRegex(version, rf"^\d+\.\d+\.\d+(~git\d{{8}}\.[0-9a-z.]+)?\+deb{number}$")
        subprocess.run(["dpkg", "--compare-versions", "0.1.0~git20261122.0e1d2c3+deb12", "lt", "0.1.0+deb12"], check=True)

    def test_example_is_a_configuration(self) -> None:
        text = (ROOT / "packaging/walrelay.toml").read_text()
        schema = json.loads(subprocess.run([BUILD / "src/cli/walrelay", "config", "schema"], check=True,
                                           capture_output=True, text=True).stdout)
        jsonschema.validate(tomllib.loads(text), schema)
        # What is commented out is valid as well.
        uncommented = re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE)
        jsonschema.validate(tomllib.loads(uncommented), schema)
        self.assertIn("sasl_password_file", tomllib.loads(uncommented)["kafka"])

    def test_cmake_installs_the_files_of_the_package(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["cmake", "--install", BUILD, "--prefix", folder], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            missing = [name for name in INSTALLED if not (Path(folder) / name).is_file()]
        self.assertEqual(missing, [])

    def test_every_step_of_the_image_is_executed_by_its_test(self) -> None:
        stages = dockerfile.parse((ROOT / "packaging/docker/Dockerfile").read_text())
        self.assertEqual([stage.name for stage in stages], ["build", ""])
        self.assertLessEqual({stage.image for stage in stages}, dockerfile.IMAGES.keys())
        self.assertIn("cmake --install", stages[0].last("RUN").argument)
        self.assertEqual(stages[1].last("ENTRYPOINT").words(), ["/usr/bin/walrelay"])

    def test_parser_joins_lines_and_drops_comments(self) -> None:
        (stage,) = dockerfile.parse("# a\nFROM debian:13-slim AS x\nRUN a \\\n    b\n# c\nCMD [\"d\", \"e f\"]\n")
        self.assertEqual(stage.steps[0].argument.split(), ["a", "b"])
        self.assertEqual(stage.last("CMD").words(), ["d", "e f"])


if __name__ == "__main__":
    unittest.main()
