#!/usr/bin/python3
"""Torments the real relay between real servers, and checks that it kept every promise.

Postgres, Kafka (three nodes) and the relay run here, the relay under supervision and behind a TCP
proxy on both of its links. Writers write; faults come every 3 to 12 seconds, at most two at once, which
and when decided by the seed. Every few minutes all is healed, and everything written since is checked:
loss, phantoms, order, content, confirmations (each one, read off the wire), repetitions, memory,
progress, shutdowns, secrets. Ends with a report, and with 0 only if every invariant held.

Left out, as it needs root or what a kernel may not have: packet loss (netem), clock jumps (libfaketime),
limits of memory and CPU (cgroups), full disks (mounts of their own). Left out, as it needs a relay that was
built for it: the order within one producer session (I4). Not here, but in the integration tests: requests
and answers lost one by one (test_sequence_errors), passwords that change (test_secrets).
"""

import argparse
import os
import shutil
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts" / "lib"), str(ROOT / "tests" / "support")]

from journal import Journal  # noqa: E402
from period import Period  # noqa: E402
from report import Report, to_text, write_json  # noqa: E402
from servers import require_servers  # noqa: E402
from system import System  # noqa: E402
from witness import Witness  # noqa: E402

_PERIOD_SECONDS = 150.0
_KILLS_IN_A_PERIOD = 200


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/dev chaos", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300, help="for so long (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="decides writers and faults (default: 1)")
    parser.add_argument("--kills", type=int, help="instead of faults: so many SIGKILLs under load")
    parser.add_argument("--rate", type=float, default=150, help="transactions a second (default: 150)")
    parser.add_argument("--nodes", type=int, choices=(1, 3), help="of Kafka (default: 3; with --kills 1)")
    parser.add_argument("--major", type=int, default=15, help="of Postgres (default: 15)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the report as JSON")
    parser.add_argument("--commit", help="what the report calls the relay's commit (default: ask git)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where logs go when something was wrong")
    return parser.parse_args()


def run_periods(system: System, arguments: argparse.Namespace, report: Report) -> None:
    """Until the time is up or the kills are done; the first period with a problem is the last."""
    witness = Witness(system.database)
    left = arguments.kills
    number = 0
    while not report.problems:
        seconds = min(_PERIOD_SECONDS, arguments.seconds - system.journal.seconds)
        if left == 0 or (left is None and number > 0 and seconds < _PERIOD_SECONDS / 5):
            return
        number += 1
        system.journal.note(f"period {number}")
        period = Period(system, witness, seed=arguments.seed, number=number, rate=arguments.rate)
        if left is None:
            report.add(period.run_faults(seconds))
        else:
            kills = min(left, _KILLS_IN_A_PERIOD)
            report.add(period.run_kills(kills))
            left -= kills


def keep_logs(system: System, folder: Path) -> None:
    """What is needed to look into a failure; the servers' folders do not outlive the run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "journal.txt").write_text("\n".join(system.journal.lines) + "\n")
    for log in system.logs():
        shutil.copy(log, folder / f"{log.parent.name}-{log.name}")
    for source in system.relay_folders():
        shutil.copytree(source, folder / source.name, dirs_exist_ok=True)
    print(f"logs are in {folder}")


def main() -> int:
    arguments = parse_arguments()
    try:
        require_servers(arguments.major)
    except unittest.SkipTest as reason:
        print(f"skipped: {reason}")
        return 0
    what = f"{arguments.kills} SIGKILLs" if arguments.kills else f"faults for {arguments.seconds:g} s"
    nodes = arguments.nodes or (1 if arguments.kills else 3)
    report = Report(seed=arguments.seed, commit=arguments.commit, what=(
        f"{what}, Postgres {arguments.major}, {nodes} Kafka nodes, {arguments.rate:g} transactions/s"))
    build = Path(os.environ.get("WALRELAY_BUILD_DIR", ROOT / "build" / "dev"))
    journal = Journal()
    with System(journal, nodes=nodes, major=arguments.major) as system:
        try:
            run_periods(system, arguments, report)
        except Exception as error:  # whatever it is, there is a report
            report.problems.append(("the run itself", f"{type(error).__name__}: {error}"))
        if report.problems:
            keep_logs(system, arguments.keep or build / "chaos" / f"seed-{arguments.seed}")
        summary = report.summary(system.supervisor, journal.seconds)
    print(to_text(summary))
    if arguments.json:
        write_json(summary, arguments.json)
    return 0 if summary["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
