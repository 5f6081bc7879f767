#!/usr/bin/python3
"""Runs fuzz targets for a given time, one per core in parallel, and counts the executions.

New inputs are added to the corpus in the build folder; an input that makes a target fail is written to
<build>/tests/fuzz/broken. Exits with 0 only if no target failed.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_MEMORY_MB = 2048  # includes AddressSanitizer's overhead and the corpus
_LONGEST_INPUT_SECONDS = 10


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/dev fuzz", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all")
    parser.add_argument("--seconds", type=int, default=60, help="duration per target (default: %(default)s)")
    parser.add_argument("--build", type=Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def run(folder: Path, target: str, seconds: int) -> tuple[int, bool]:
    """Returns the number of executions, and whether all of them succeeded."""
    broken = folder / "broken"
    broken.mkdir(exist_ok=True)
    done = subprocess.run(
        [folder / f"{target}_fuzz", f"-max_total_time={seconds}", f"-timeout={_LONGEST_INPUT_SECONDS}",
         f"-rss_limit_mb={_MEMORY_MB}", "-print_final_stats=1", f"-artifact_prefix={broken}/{target}-",
         folder / "corpus" / target], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        errors="replace")
    executions = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    if done.returncode != 0:
        print(done.stderr[-4000:])
    return int(executions[1]) if executions else 0, done.returncode == 0


def main() -> int:
    arguments = parse_arguments()
    folder = arguments.build / "tests" / "fuzz"
    known = sorted(path.name.removesuffix("_fuzz") for path in folder.glob("*_fuzz"))
    targets = arguments.targets or known
    if unknown := set(targets) - set(known):
        sys.exit(f"unknown target {', '.join(sorted(unknown))}; expected one of {', '.join(known)}")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(targets, pool.map(
            lambda target: run(folder, target, arguments.seconds), targets), strict=True))
    for target, (executions, good) in results.items():
        print(f"{target:<12} {executions:>14,} executions{'' if good else ', FAILED'}")
    print(f"{'total':<12} {sum(executions for executions, _ in results.values()):>14,}")
    return 0 if all(good for _, good in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
