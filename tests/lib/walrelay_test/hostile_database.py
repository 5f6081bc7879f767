"""A database with objects and settings that can mislead a client.

It has functions, aggregates, operators and views in `public` that match better than the catalog's, and role
settings that change bytes, hide warnings or end sessions. Each hostile function writes to the server's log.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from .database import Database

MARK = "HOSTILE"

# name, argument types, result type, result
_FUNCTIONS = [
    ("to_jsonb", "pg_catalog.pg_replication_slots", "jsonb", "'{}'"),
    ("pg_is_in_recovery", "", "boolean", "true"),
    ("current_setting", "text", "text", "'0'"),
    ("current_setting", "text, boolean", "text", "'0'"),
    ("pg_get_expr", "pg_node_tree, oid", "text", "'1'"),
    ("pg_current_wal_lsn", "", "pg_lsn", "'0/1'"),
    ("pg_last_wal_replay_lsn", "", "pg_lsn", "'0/1'"),
    ("clock_timestamp", "", "timestamptz", "'epoch'"),
    ("pg_backend_pid", "", "integer", "1"),
    ("current_database", "", "name", "'elsewhere'"),
    ("age", "xid", "integer", "0"),
    ("encode", "bytea, text", "text", "''"),
    ("date_trunc", "text, timestamptz", "timestamptz", "'epoch'"),
    ("pg_create_logical_replication_slot", "text, text", "text", "''"),
    ("pg_copy_logical_replication_slot", "text, text, boolean", "text", "''"),
]

# left type, operator, right type, result type, result
_OPERATORS = [(left, "=", right, "boolean", "false") for left, right in [
    ("name", "name"), ("name", "text"), ("text", "text"), ("oid", "oid"), ("oid", "integer"),
    ('"char"', '"char"'), ("integer", "integer"), ("smallint", "smallint")]] + [
    ("integer", "<", "integer", "boolean", "false"), ("smallint", ">", "integer", "boolean", "false"),
    ("integer", "<>", "integer", "boolean", "false"), ("text", "||", "text", "text", "''"),
    ("text", "||", "integer", "text", "''"), ("jsonb", "->>", "text", "text", "''"),
    ("timestamptz", "-", "timestamptz", "interval", "'0'")]

_AGGREGATES = [("count", "*", "bigint", "0"), ("string_agg", "name, text", "text", "")]

_VIEWS = ["pg_replication_slots", "pg_publication", "pg_publication_tables", "pg_class", "pg_attribute",
          "pg_settings", "pg_stat_activity", "pg_namespace", "pg_roles"]

_SETTINGS = {
    "search_path": "public, pg_catalog", "standard_conforming_strings": "off", "exit_on_error": "on",
    "datestyle": "German, DMY", "timezone": "Asia/Kolkata", "intervalstyle": "sql_standard",
    "bytea_output": "escape", "extra_float_digits": "-15", "lc_monetary": "POSIX",
    "quote_all_identifiers": "on", "client_min_messages": "error", "row_security": "on",
    "statement_timeout": "20ms", "lock_timeout": "1ms", "idle_in_transaction_session_timeout": "50ms",
    "default_transaction_isolation": "serializable", "default_transaction_read_only": "on",
    "client_encoding": "LATIN1", "xmlbinary": "hex", "xmloption": "document", "array_nulls": "off"}
_SETTINGS_SINCE = {14: {"idle_session_timeout": "300ms"}, 17: {"transaction_timeout": "50ms"}}


def make_hostile(database: Database, role: str) -> None:
    """Creates the objects, and sets the role's settings for this database and for all databases."""
    database.execute("SET search_path = pg_catalog; " + "".join(_objects()) + "RESET search_path")
    major = database.postgres.major
    settings = dict(_SETTINGS)
    for since, more in _SETTINGS_SINCE.items():
        settings |= more if major >= since else {}
    for name, value in settings.items():
        value = value if name == "search_path" else f"'{value}'"
        database.execute(f"ALTER ROLE {role} SET {name} = {value}")
        database.execute(f"ALTER ROLE {role} IN DATABASE {database.name} SET {name} = {value}")


def _function(number: int, name: str, arguments: str, result: str, value: str) -> str:
    named = ", ".join(f"a{i} {type.strip()}" for i, type in enumerate(filter(None, arguments.split(","))))
    return (f"CREATE FUNCTION public.{name}({named}) RETURNS {result} LANGUAGE plpgsql AS $$ BEGIN "
            f"RAISE LOG '{MARK} {name} {number}'; RETURN {value}; END $$; ")


def _objects() -> Iterator[str]:
    for number, function in enumerate(_FUNCTIONS):
        yield _function(number, *function)
    for number, (left, operator, right, result, value) in enumerate(_OPERATORS):
        yield _function(number, f"operator_{number}", f"{left}, {right}", result, value)
        yield (f"CREATE OPERATOR public.{operator} (FUNCTION = public.operator_{number}, "
               f"LEFTARG = {left}, RIGHTARG = {right}); ")
    for number, (name, arguments, state, start) in enumerate(_AGGREGATES):
        types = f"{state}, {arguments}" if arguments != "*" else state
        yield _function(number, f"aggregate_{number}", types, state, "a0")
        yield (f"CREATE AGGREGATE public.{name}({arguments}) (SFUNC = public.aggregate_{number}, "
               f"STYPE = {state}, INITCOND = '{start}'); ")
    for view in _VIEWS:
        yield f"CREATE VIEW public.{view} AS SELECT 1 AS hostile; "
    yield "GRANT ALL ON ALL TABLES IN SCHEMA public TO PUBLIC; "


def statements(log: Path, application: str) -> list[str]:
    """The statements of the application, from a log with log_line_prefix '%a|' and log_statement = all."""
    found = []
    for line in log.read_text(errors="replace").splitlines():
        if line.startswith(f"{application}|LOG:  statement: "):
            found.append(line.partition("statement: ")[2])
        elif line.startswith("\t") and found:
            found[-1] += " " + line.strip()
    return found


_WORDS_BEFORE_PARENTHESIS = {"select", "where", "and", "or", "not", "exists", "any", "case", "from", "extract", "on",
                             "as", "join", "by", "then", "else", "when", "array", "all", "timestamptz",
                             "values", "least", "coalesce", "lateral"}


def unqualified(statement: str) -> list[str]:
    """Names in a SELECT that are resolved by search_path: functions, operators, relations, types."""
    if not re.match(r"\s*(SELECT|WITH)\b", statement):
        return []
    text = re.sub(r"E?'(?:[^'\\]|''|\\.)*'", " literal ", statement)
    text = re.sub(r'"(?:[^"]|"")*"', "quoted", text)
    # The columns of a common table expression, and those of an alias.
    text = re.sub(r"((?:RECURSIVE|WITH|,)\s+\w+)\s*\([\w\s,]+\)\s+AS\s*\(", r"\1 AS (", text)
    text = re.sub(r"((?:\)|ORDINALITY)\s+(?!AND|OR|NOT|IN|ANY|ALL)\w+)\([\w\s,]+\)", r"\1", text)
    text = re.sub(r"OPERATOR\(pg_catalog\.[^)]+\)", " operator_ ", text)
    problems = re.findall(r"(?<![\w.])(?!pg_catalog\.)pg_\w+", text)
    problems += [word for word in re.findall(r"(?<![\w.])(\w+)\s*\(", text)
                 if word.lower() not in _WORDS_BEFORE_PARENTHESIS]
    problems += re.findall(r"::\s*(?!pg_catalog\.)\S+", text)
    problems += re.findall(r"\b(?:IN|USING|NULLIF|BETWEEN|LIKE|ILIKE|SIMILAR|DISTINCT)\b", text)
    problems += re.findall(r"CASE\s+(?!WHEN)\S+", text)
    text = re.sub(r"(SELECT|\.|\()\s*\*", r"\1", text)
    problems += re.findall(r"[=<>!~|+*/%@#&^?-]+", text)
    return problems
