#!/usr/bin/python3
"""Runs Debezium and walrelay on the same rows: all records must be equal.

    scripts/dev differential --seed 7 --configs 40 --rows 60

The seed determines random configurations of the EventRouter with matching tables, and the rows. Differences
are printed as they are found; the exit code is 1 if there is any.
"""

import argparse
from contextlib import ExitStack

import configuration
from differential_run import DifferentialRun, Result
from values import NEWER, OLDER
from walrelay_dev import cli
from walrelay_dev.versions import DEBEZIUM_VERSION, OLDER_DEBEZIUM_VERSION
from walrelay_test.servers import new_connect, new_kafka, new_postgres, require_servers, test_folder

_SHOWN = 5
_DEBEZIUM = {NEWER: DEBEZIUM_VERSION, OLDER: OLDER_DEBEZIUM_VERSION}
# Rows may have any timestamp.
_KAFKA = {"heap_mb": 384, "partitions": 3,
          "properties": {"log.message.timestamp.after.max.ms": 2**63 - 1}}


def main() -> int:
    args = _arguments()
    require_servers(with_connect=True)
    results = []
    with ExitStack() as stack:
        postgres = stack.enter_context(new_postgres(tcp=True))
        theirs, ours = (stack.enter_context(new_kafka(**_KAFKA)) for _ in range(2))
        worker = stack.enter_context(new_connect(theirs, heap_mb=768, debezium_version=_DEBEZIUM[args.debezium]))
        run = DifferentialRun(postgres, theirs, ours, worker, test_folder())
        numbers = [args.only] if args.only is not None else range(1, args.configs + 1)
        for number in numbers:
            result = run.run(configuration.make(args.seed, number, args.debezium), args.seed, args.rows)
            results.append(result)
            _print(result, args.verbose)
    found = sum(len(result.differences) for result in results)
    print(f"Debezium {_DEBEZIUM[args.debezium]}, seed {args.seed}: {len(results)} configurations, {sum(result.rows for result in results)} rows, "
          f"{sum(result.records for result in results)} records, {found} differences")
    return 1 if found else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--configs", type=int, default=12, metavar="N", help="configurations (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=30, metavar="N", help="rows of each (default: %(default)s)")
    parser.add_argument("--debezium", choices=sorted(_DEBEZIUM), default=NEWER, metavar="VERSION",
                        help="3.6: compare with format.debezium_version = \"3.6\" (default: %(default)s)")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="run only this configuration of the seed")
    parser.add_argument("--verbose", action="store_true", help="show each configuration")
    return parser.parse_args()


def _print(result: Result, verbose: bool) -> None:
    made = result.configuration
    stopped = sum(stop is not None for stop in result.stops)
    print(f"{made.tag}: {result.rows} rows, {result.records} records, {len(result.differences)} differences, "
          f"{('', 'ONE stopped, ', 'both stopped at the last row, ')[stopped]}{result.seconds:.1f} s", flush=True)
    if verbose or result.differences:
        for column in made.columns:
            print(f"  column {column.ddl}")
        for name, value in made.properties().items():
            print(f"  {name} = {value}")
        for stop in result.stops:
            if stop:
                print(f"  stop: {stop[:1500]}")
    for difference in result.differences[:_SHOWN]:
        print(f"  {difference}")
    if len(result.differences) > _SHOWN:
        print(f"  … {len(result.differences) - _SHOWN} more")


if __name__ == "__main__":
    cli.run("differential", main)
