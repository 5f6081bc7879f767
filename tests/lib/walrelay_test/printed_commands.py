"""The commands that walrelay prints for an operator to type: extracted from its sources.

The texts are those of the error catalogue, of the checks, and of the code that writes findings, headlines and answers.
Adjacent string literals are one text, as for the compiler. A value that is inserted is "…".
"""

import re
from collections.abc import Iterator
from pathlib import Path

from walrelay_dev.paths import REPOSITORY

# Folders whose literals are printed. Those of src/postgres, src/prune and src/setup are statements that walrelay
# executes itself, except in the files that are named.
_PRINTING = ("src/admin", "src/cli", "src/doctor", "src/recover", "src/republish", "src/status", "src/relay", "src/slot",
             "src/stream", "src/sinks/kafka", "src/setup/setup_plan.cc", "src/postgres/slot_error.cc",
             "src/postgres/pg_error.cc", "src/postgres/slot_copies.cc", "src/base/error_reference.cc")
_CATALOGUES = ("include/walrelay/error_codes.def", "src/findings/checks.def")

_LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*(?://[^\n]*\n\s*)?"(?:[^"\\\n]|\\.)*")*')
_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_QUERY = re.compile(r"Query\w*\(\s*(?:fmt::format\(\s*)?$|kQuery\w*\s*=\s*$")

_WORD = r"(?:--?[a-z][a-z-]*(?:[= ](?:…|[A-Z][A-Z:=/]*))?|[A-Z]{2,}|…|show|init|set|retry|list|failover|debezium)"
_WALRELAY = re.compile(
    r"walrelay (?:check|completion|config|dead-letters|demo|doctor|explain|import|init|print|progress|prune|recover|reload|"
    rf"republish|resume|run|setup|status|verify|version)(?: {_WORD})*(?![\w-])")
_SQL = re.compile(
    r"(?:ALTER (?:SYSTEM|PUBLICATION|ROLE|TABLE|DATABASE) |ALTER_REPLICATION_SLOT |CREATE (?:PUBLICATION|ROLE) |GRANT [A-Z]|"
    r"REVOKE |VACUUM |SELECT \* FROM pg_|SELECT pid, |SELECT (?:pg_catalog\.)?pg_(?:drop|terminate|reload|logical_slot|"
    r"replication_slot|copy|create)\w*)[^;`]*?(?=;|`| {2}--|, (?:and|or) |; | --|$|\. )")
# What follows a command in its sentence.
_SENTENCE = re.compile(r", as in| loads |: |\), then| at a |\. |; or|, or | afterwards")
_KAFKA = re.compile(r"kafka-[a-z-]+\.sh(?: (?:--?[a-z][a-z-]*|[A-Z]\w*(?::\w+)?|\S*…\S*|[a-z_.]+(?:=\S+)?))*")


def _texts(source: str) -> Iterator[str]:
    for found in _LITERALS.finditer(source):
        if _QUERY.search(source[:found.start()][-60:]):
            continue
        text = "".join(_LITERAL.findall(found.group()))
        text = text.replace('\\"', '"').replace("\\n", "\n")
        yield re.sub(r"\{[0-9a-z_:.<]*\}", "…", text)


def commands_of(text: str) -> set[str]:
    """The commands in one text, without the punctuation that follows them."""
    found = {match.group() for pattern in (_WALRELAY, _SQL, _KAFKA) for match in pattern.finditer(text)}
    return {_without_sentence(re.sub(r"\s+", " ", each)) for each in found}


def _without_sentence(command: str) -> str:
    command = _SENTENCE.split(command)[0].rstrip(".,:; ")
    while command.count(")") > command.count("("):
        command = command[:command.rindex(")")] + command[command.rindex(")") + 1:]
    return command


def printed_commands() -> dict[str, set[str]]:
    """Each command with the files that print it."""
    commands: dict[str, set[str]] = {}
    files = [REPOSITORY / each for each in _CATALOGUES]
    for each in _PRINTING:
        path = REPOSITORY / each
        files += sorted(path.rglob("*.cc")) if path.is_dir() else [path]
    for file in files:
        source = re.sub(r"^\s*//.*$", "", file.read_text(), flags=re.MULTILINE)
        for text in _texts(source):
            for command in commands_of(text):
                commands.setdefault(command, set()).add(str(file.relative_to(REPOSITORY)))
    return commands


def inventory() -> dict[str, str]:
    """tests/lint/printed_commands.txt: what executes each command, or why nothing does."""
    rows: dict[str, str] = {}
    for line in Path(REPOSITORY / "tests/lint/printed_commands.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            command, _, what = line.partition(" | ")
            if command in rows:
                raise ValueError(f"{command}: two rows")
            rows[command] = what
    return rows
