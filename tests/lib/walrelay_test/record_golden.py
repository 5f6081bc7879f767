#!/usr/bin/env python3
"""Records the streams of tests/unit/golden from real servers of every major.

Run it after a change of stream.sql, or when a new major is released, with
`scripts/dev python -m walrelay_test.record_golden [MAJOR...]`; then review the differences, and
whether events.txt still lists the events expected from the SQL. Positions, transaction numbers, OIDs and
commit times differ in each recording, and no test depends on them.

A file has one pgoutput message per line: LSN, transaction, bytes in hexadecimal.
"""

import sys

from walrelay_dev.paths import REPOSITORY
from walrelay_dev.postgres import Postgres
from walrelay_dev.postgres_binaries import MAJORS

GOLDEN = REPOSITORY / "tests" / "unit" / "golden"

# The settings of the relay's replication session: the reading session determines how values are rendered.
SESSION = "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET bytea_output = 'hex';\n"


def options(major: int, form: str) -> dict[str, str]:
    """The options of pgoutput that this major supports."""
    wanted = {"proto_version": "1", "publication_names": "golden"}
    if major >= 14:
        wanted["messages"] = "true"
    if form == "binary":
        wanted["binary"] = "true"
    return wanted


def read_slot(server: Postgres, slot: str, wanted: dict[str, str]) -> str:
    arguments = ", ".join(f"'{word}'" for pair in wanted.items() for word in pair)
    return server.psql(SESSION + "SELECT lsn || ' ' || xid || ' ' || encode(data, 'hex') FROM "
                       f"pg_logical_slot_get_binary_changes('{slot}', NULL, NULL, {arguments});")


def record(major: int) -> None:
    forms = ["text", "binary"] if major >= 14 else ["text"]
    with Postgres(major) as server:
        version = server.psql("SHOW server_version").split()[0]
        server.psql((GOLDEN / "tables.sql").read_text())
        for form in forms:
            server.psql(f"SELECT pg_create_logical_replication_slot('{form}', 'pgoutput')")
        server.psql((GOLDEN / "stream.sql").read_text())
        for form in forms:
            wanted = options(major, form)
            header = f"# PostgreSQL {version}, " + ", ".join(f"{k} {v}" for k, v in wanted.items())
            path = GOLDEN / f"postgres-{major}-{form}.txt"
            path.write_text(f"{header}\n{read_slot(server, form, wanted)}\n")
            print(path.relative_to(REPOSITORY))


def main() -> None:
    for major in [int(argument) for argument in sys.argv[1:]] or MAJORS:
        record(major)


if __name__ == "__main__":
    main()
