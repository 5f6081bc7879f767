#!/usr/bin/python3
"""Injects faults into the real relay and real servers, and checks that every invariant holds.

Postgres, Kafka (three nodes) and the relay run on this host; the relay runs under supervision, with a TCP
proxy on both of its links. Writers run continuously. A fault starts every 3 to 12 seconds, at most two at
once; the seed decides which and when. Every few minutes all faults are healed, and everything written since
is checked: loss, phantoms, order, content, confirmations (each one, read off the wire), duplicates, memory,
progress, shutdowns, secrets. Prints a report and exits with 0 only if every invariant held.

--mode configures the relay for a mode of delivery; docs/reliability.md says what the judge requires of each. Several
runs may share a machine: servers listen on free ports, in folders of their own.

Not covered, because it needs root or optional kernel features: packet loss (netem), clock jumps (libfaketime),
limits of memory and CPU (cgroups), full disks (separate mounts). Not covered, because it needs a special build
of the relay: the order within one producer session (I4). Covered by the integration tests instead: single lost
requests and responses (test_sequence_errors), changed passwords (test_secrets).
"""

import argparse
import os
import shutil
import sys
import time
import unittest
from pathlib import Path

from fault_log import FaultLog
from mode import MODES, Mode
from period import Period
from report import Report, to_text, write_json
from system import System
from walrelay_dev.postgres_binaries import DEFAULT_MAJOR
from walrelay_test.ground_truth import GroundTruth
from walrelay_test.relay_config import build_folder
from walrelay_test.servers import require_servers
from walrelay_test.workload import BURSTS

_PERIOD_SECONDS = 150.0
_KILLS_IN_A_PERIOD = 200


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/dev chaos", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300, help="duration (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of writers and faults (default: 1)")
    parser.add_argument("--mode", choices=MODES, default="slot", help="mode of delivery (default: %(default)s)")
    parser.add_argument("--judge", choices=MODES,
                        help="judge as for another mode than the relay's, to see that the judge can fail")
    parser.add_argument("--kills", type=int, help="number of SIGKILLs under load, instead of faults")
    pruning = parser.add_mutually_exclusive_group()
    pruning.add_argument("--prune", type=float, nargs="?", const=0, metavar="SECONDS",
                        help="delete rows that are published and older than this, with [prune] (without a number: 0)")
    pruning.add_argument("--prune-by-age", type=float, metavar="SECONDS",
                        help="delete rows that are older than this, published or not, to see that the judge can fail")
    parser.add_argument("--rate", type=float, default=150, help="transactions per second (default: 150)")
    parser.add_argument("--bursts", type=int, default=BURSTS,
                        help="weight of transactions of 50 to 200 events: more make more events (default: %(default)s)")
    parser.add_argument("--nodes", type=int, choices=(1, 3), help="number of Kafka nodes (default: 3; with --kills: 1)")
    parser.add_argument("--major", type=int, default=DEFAULT_MAJOR,
                        help="major version of Postgres (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report to this file as JSON")
    parser.add_argument("--commit", help="commit of the relay for the report (default: from git)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="folder for logs after a failure")
    return parser.parse_args()


def run_periods(system: System, judge: Mode, arguments: argparse.Namespace, report: Report) -> None:
    """Runs periods until the time is up or all kills are done; stops after the first period with a problem."""
    ground_truth = GroundTruth(system.database)
    began = time.monotonic()  # the servers run, however long they took to start
    left = arguments.kills
    number = 0
    while not report.problems:
        seconds = min(_PERIOD_SECONDS, arguments.seconds - (time.monotonic() - began))
        if left == 0 or (left is None and number > 0 and seconds < _PERIOD_SECONDS / 5):
            return
        number += 1
        system.fault_log.note(f"period {number}")
        period = Period(system, ground_truth, judge, seed=arguments.seed, number=number, rate=arguments.rate,
                        bursts=arguments.bursts)
        if left is None:
            report.add(period.run_faults(seconds))
        else:
            kills = min(left, _KILLS_IN_A_PERIOD)
            report.add(period.run_kills(kills))
            left -= kills


def keep_logs(system: System, folder: Path) -> None:
    """Copies the logs that are needed to analyse a failure; the servers' folders are removed after the run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fault_log.txt").write_text("\n".join(system.fault_log.lines) + "\n")
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
    mode, judge = MODES[arguments.mode], MODES[arguments.judge or arguments.mode]
    keep = arguments.prune if arguments.prune is not None else arguments.prune_by_age
    by_age = arguments.prune is None
    if keep is not None:
        what += f", rows {'deleted by age' if by_age else 'pruned'} after {keep:g} s"
    report = Report(mode=mode, judge=judge, pruning=keep is not None, seed=arguments.seed, commit=arguments.commit,
                    what=f"{what}, Postgres {arguments.major}, {nodes} Kafka nodes, {arguments.rate:g} transactions/s")
    fault_log = FaultLog()
    with System(fault_log, mode, nodes=nodes, major=arguments.major, keep=keep, by_age=by_age) as system:
        try:
            run_periods(system, judge, arguments, report)
        except Exception as error:  # any error ends up in the report
            report.problems.append(("the run itself", f"{type(error).__name__}: {error}"))
        if report.problems:
            # Other runs may fail at the same time.
            name = f"{arguments.mode}-seed-{arguments.seed}-{os.getpid()}"
            keep_logs(system, arguments.keep or build_folder() / "chaos" / name)
        summary = report.summary(system.supervisor, fault_log.seconds)
    print(to_text(summary))
    if arguments.json:
        write_json(summary, arguments.json)
    return 0 if summary["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
