#!/usr/bin/python3
"""Runs the tests that a change can have broken, in about two minutes.

A change is what differs from a commit: by default the merge base with origin/main, or the parent of HEAD where that is
HEAD itself. A source affects the unit tests of its layer and of the layers above it. The lints always run. Time that is
left goes to the simulator, the conformance cases and the Python modules that belong to the changed files, shortest
first. What was not run is listed at the end: scripts/test runs everything.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from walrelay_dev.layers import LAYERS, layer_of

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/dev"
BUDGET = 120
# Sources that the simulator and the conformance cases execute.
SIMULATED = {"base", "pgoutput", "stream", "slot", "encode", "route", "metrics", "status", "relay"}
CONVERTED = {"encode", "route", "config", "debezium", "relay"}


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def changed_files(since: str) -> set[str]:
    base = since or git("merge-base", "HEAD", "origin/main")
    if not since and (not base or base == git("rev-parse", "HEAD")):
        base = "HEAD" if git("status", "--porcelain") else "HEAD~1"
    listed = git("diff", "--name-only", base) + "\n" + git("ls-files", "--others", "--exclude-standard")
    return set(filter(None, listed.split("\n")))


def layers() -> dict[str, set[str]]:
    """For each layer, from the bottom up, all layers that it depends on."""
    needs: dict[str, set[str]] = {}
    for layer in LAYERS:
        text = (ROOT / "src" / layer / "CMakeLists.txt").read_text()
        direct = re.search(r"DEPENDS\s+([\w\s/]+?)\s*(?:PUBLIC|PRIVATE|\))", text)
        names = [name for name in (direct[1].split() if direct else []) if name in needs]
        needs[layer] = set(names).union(*(needs[name] for name in names))
    return needs


def affected_layers(files: set[str]) -> set[str]:
    needs = layers()
    touched = {layer for file in files if file.startswith("src/") and (layer := layer_of(file[4:]))}
    if any(re.match(r"include/|proto/|tests/fakes/|cmake/|CMake|src/CMake", file) for file in files):
        touched = set(needs)
    tested = {layer for file in files if file.startswith("tests/unit/") and (layer := layer_of(file[11:]))}
    return {layer for layer in needs if layer in touched | tested or needs[layer] & touched}


def modules_of(files: set[str]) -> set[str]:
    """The names in ctest of Python modules that are changed, or that cover a changed source."""
    rows = (ROOT / "tests/unit/covered_elsewhere.txt").read_text()
    covering = {test for source, test in re.findall(r"^(src/\S+): (\S+)$", rows, re.MULTILINE) if source in files}
    pattern = r"tests/(?:lib/tests|integration|browser)/test_(\w+)\.py"
    return {match[1] for file in files | covering if (match := re.fullmatch(pattern, file))}


def seconds_of_last_run() -> dict[str, float]:
    """What ctest remembers of each test's duration."""
    path = BUILD / "Testing/Temporary/CTestCostData.txt"
    text = path.read_text() if path.exists() else ""
    return {name: float(cost) for name, cost in re.findall(r"^(\S+) \d+ ([\d.]+)$", text, re.MULTILINE)}


class Run:
    def __init__(self) -> None:
        self.started = time.monotonic()
        self.failed: list[str] = []
        self.skipped: list[str] = []

    def left(self) -> float:
        return BUDGET - (time.monotonic() - self.started)

    def step(self, name: str, *command: object) -> None:
        began = time.monotonic()
        done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False)
        passed = done.returncode == 0
        print(f"{'passed' if passed else 'FAILED'}  {name}  {time.monotonic() - began:.1f} s"
              f"  ({max(0, self.left()):.0f} s left)", flush=True)
        if not passed:
            self.failed.append(name)
            print((done.stdout + done.stderr)[-6000:])

    def ctest(self, name: str, expected: float) -> None:
        if expected > self.left():
            self.skipped.append(name)
        else:
            self.step(name, "ctest", "--test-dir", BUILD, "-R", f"^{re.escape(name)}$", "--output-on-failure")


def test_binary(layer: str) -> str:
    return f"walrelay_unit_{layer.replace('/', '_')}_tests"


def build(layers_to_test: list[str], targets: set[str]) -> bool:
    names = [test_binary(layer) for layer in layers_to_test] + sorted(targets)
    if not names:
        return True
    print(f"building {' '.join(names)}", flush=True)
    return subprocess.run(["cmake", "--build", BUILD, "--target", *names, "--", "--quiet"], check=False).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", default="", metavar="COMMIT", help="compare with this commit")
    files = changed_files(parser.parse_args().since)
    affected = [layer for layer in layers() if layer in affected_layers(files)]
    modules = modules_of(files)
    simulated = bool(SIMULATED & set(affected)) or any(file.startswith("tests/sim/") for file in files)
    converted = bool(CONVERTED & set(affected)) or any(file.startswith("tests/conformance/") for file in files)
    targets = {name for name, needed in (("simulate", simulated), ("conformance", converted),
                                         ("walrelay", bool(modules))) if needed}
    print(f"{len(files)} changed files; layers: {' '.join(affected) or 'none'}")
    if not build(affected, targets):
        return 1
    run = Run()
    for layer in affected:
        run.step(f"unit.{layer}", BUILD / "tests/unit" / layer / test_binary(layer), "--gtest_brief=1")
    os.environ["WALRELAY_BUILD_DIR"] = str(BUILD)
    for lint in sorted((ROOT / "tests/lint").glob("*_test.py")):
        run.step(f"lint.{lint.stem.removesuffix('_test')}", "/usr/bin/python3", lint)
    if converted:
        run.ctest("conformance", 0)
    if simulated:
        run.step("sim, 3,000 histories", BUILD / "tests/sim/simulate", "--histories", 3000)
    known = seconds_of_last_run()
    for name in sorted((f"integration.{module}" for module in modules), key=lambda name: known.get(name, 60)):
        run.ctest(name, known.get(name, 60))
    if run.skipped:
        print(f"not run, for lack of time: {' '.join(run.skipped)}")
    print(f"{'FAILED: ' + ', '.join(run.failed) if run.failed else 'all passed'}; scripts/test runs all tests")
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
