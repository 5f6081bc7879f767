#!/usr/bin/python3
"""`walrelay config schema`: accepts the files that walrelay accepts, and rejects errors of form, each at its place."""

import json
import os
import re
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

import jsonschema

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ["WALRELAY_BUILD_DIR"]) / "src/cli/walrelay"
ADDRESSES = {"source.dsn": "host=127.0.0.1 dbname=d", "kafka.bootstrap_servers": "127.0.0.1:9092"}

GOOD = [
    "",
    "config_version = 1",
    '[source]\nslot = "s"\nmax_retained_wal = 1048576\nconnect_timeout = "5s"\nmessage_prefixes = ["a", "b*"]',
    '[source]\nmax_retained_wal = "0"\nwait_visible = true\n[source.columns]\nid = ""\nversion = "v"',
    '[[source.placement]]\ncolumn = "tenant"\n[[source.placement]]\ncolumn = "p"\nto = "partition"\nas = "q"',
    '[[source.tables]]\nname = "a.b"\ncolumns = { id = "x" }\nplacement = [{ column = "c", to = "header" }]',
    '[kafka]\ncompression = "zstd"\nmax_batch_bytes = "1MiB"\n[kafka.librdkafka]\n"linger.ms" = 5\ndebug = "broker"',
    '[pipeline]\nmax_in_flight_records = 10\n[log]\nlevel = "debug"',
]
# The file, and the place of the error in it.
BAD = [
    ('slot = "s"', []),
    ("config_version = 2", ["config_version"]),
    ('[sourc]\nslot = "s"', []),
    ('[source]\nslott = "s"', ["source"]),
    ("[source]\nslot = 5", ["source", "slot"]),
    ('[source]\nwait_visible = "true"', ["source", "wait_visible"]),
    ('[source]\nconnect_timeout = "5 sec"', ["source", "connect_timeout"]),
    ("[source]\nconnect_timeout = 5", ["source", "connect_timeout"]),
    ('[source]\nmax_retained_wal = "64MB"', ["source", "max_retained_wal"]),
    ("[source]\nmax_retained_wal = -1", ["source", "max_retained_wal"]),
    ('[source]\non_gap = "wait"', ["source", "on_gap"]),
    ("[source]\nmessage_prefixes = [1]", ["source", "message_prefixes", 0]),
    ('[source]\nmessage_prefixes = "a"', ["source", "message_prefixes"]),
    ('[[source.placement]]\nto = "header"', ["source", "placement", 0]),
    ('[[source.placement]]\ncolumn = "a"\nto = "key"', ["source", "placement", 0, "to"]),
    ('[[source.placement]]\ncolumn = "a"\nat = "key"', ["source", "placement", 0]),
    ('[[source.tables]]\ncolumns = { id = "x" }', ["source", "tables", 0]),
    ('[[source.tables]]\nname = "a.b"\ncolumns = { idd = "x" }', ["source", "tables", 0, "columns"]),
    ("[source]\ntables = []", ["source", "tables"]),
    ("[pipeline]\nmax_in_flight_records = 0", ["pipeline", "max_in_flight_records"]),
    ("[kafka.librdkafka]\nlinger.ms = 5", ["kafka", "librdkafka", "linger"]),
    ('[kafka]\ncompression = "lz5"', ["kafka", "compression"]),
]


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=60,
                          env={"PATH": os.environ["PATH"]})


def accepted_by_walrelay(file: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "walrelay.toml"
        path.write_text(file)
        settings = [part for name, value in ADDRESSES.items() for part in ("--set", f"{name}={value}")]
        return run("check", "--offline", "--config", str(path), *settings).returncode == 0


class ConfigSchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.schema = json.loads(run("config", "schema").stdout)
        jsonschema.Draft7Validator.check_schema(cls.schema)
        cls.validator = jsonschema.Draft7Validator(cls.schema)

    def places(self, file: str) -> list[list[str | int]]:
        return [list(error.absolute_path) for error in self.validator.iter_errors(tomllib.loads(file))]

    def test_good_files_are_accepted(self) -> None:
        for file in GOOD:
            with self.subTest(file):
                self.assertEqual(self.places(file), [])
                self.assertTrue(accepted_by_walrelay(file))

    def test_bad_files_are_rejected_at_the_place_of_the_error(self) -> None:
        for file, place in BAD:
            with self.subTest(file):
                self.assertEqual(self.places(file), [place])
                self.assertFalse(accepted_by_walrelay(file))

    def test_the_values_in_effect_are_accepted(self) -> None:
        shown = run("config", "show", *[part for name, value in ADDRESSES.items() for part in ("--set", f"{name}={value}")])
        self.assertEqual(self.places(shown.stdout), [])

    def test_every_example_of_the_documentation_is_accepted(self) -> None:
        blocks = re.findall(r"^```toml\n(.*?)^```", (ROOT / "docs/configuration.md").read_text(), re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 3)
        for block in blocks:
            with self.subTest(block):
                self.assertEqual(self.places(block), [])


if __name__ == "__main__":
    unittest.main()
