"""Column types, each with hostile or unusual values.

Values are texts in Postgres' input format. The deviations listed in docs/reference/debezium-parity.md are
excluded: infinite dates, timestamps beyond the year 294247, arrays of several dimensions, and doubles that a
JVM before Java 19 prints with a superfluous digit.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

TEXTS = ("plain", "", " ", "\t\n", "ü€", "\U0001d11e clef", 'quote " back \\ slash / ', "line\nbreak\r\n",
         "\x01\x1f\x7f control", "\u00a0", "\u2028\u2029", "שלום עולם", "e\u0301 \u200d\ufeff", "null", "NULL",
         "true", "{}", "[]", "{not json", "'; DROP TABLE outbox; --", "${routedByValue}", "a" * 20_000,
         "\U0001f600" * 3_000)
JSON = ("{}", "[]", "null", "true", "0", '""', '"text"', '{"a": 1}', '{"b": {"c": [1, 2, 3]}, "a": "x"}',
        '{"n": null}', '{"e": []}', '{"": 1}', '{"ü": "\\u00e9\\ud834\\udd1e \\" \\\\ \\/ \\n"}', '{"a": 1.50, "b": 1e2}',
        '{"i": 2147483647, "j": 2147483648, "k": -9223372036854775808}', '{"z": -0.0, "s": 0.00000001}',
        '{"a": {"a": {"a": {"a": {}}}}}', '{"t": true, "f": false}', '{"a.b": 1, "a-b": 2, "a b": 3}',
        '{"l": ["x", "y"], "d": [1.5, 2.5], "b": [true, false], "m": [[1, 2], [3]]}',
        '{"o": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]}', '{"long": "' + "x" * 30_000 + '"}',
        "{" + ", ".join(f'"m{i}": {i}' for i in range(300)) + "}")
# For json, which keeps the text, but not for jsonb.
LOOSE_JSON = ('  {"a" : 1}', '{"a":1,"a":2}', '{"a"\n:\t1 }', '{"x": 1.0E+2}', '"lone \\\\ud800"', '{"b":1,"a":2}')

# Payloads of logical messages that are decoded into structs.
STRUCTS = ({}, {"a": 1}, {"b": {"c": [1, 2, 3]}, "a": "x"}, {"": 1}, {"t": True, "d": 1.5, "l": 2**40},
           {"o": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]}, {"s": ["x", "ü"]}, {"\u00e9": "\U0001d11e"})


@dataclass(frozen=True)
class ColumnType:
    """`connect` is the kind of value in Connect: string, number, bytes, other."""

    sql: str
    values: Sequence[str]
    defaults: Sequence[str] = ()  # expressions
    connect: str = "number"


def _text(sql: str, longest: int | None = None, **more: object) -> ColumnType:
    values = tuple(text for text in TEXTS if longest is None or len(text) <= longest)
    return ColumnType(sql, values, connect="string", **more)


UUID = ColumnType("uuid", ("00000000-0000-0000-0000-000000000000", "FFFFFFFF-ffff-4fff-8fff-ffffffffffff",
                           "7f1e0a4e-6d3c-4b7a-9a51-0c3f4f1f2f60"), ("gen_random_uuid()",), "string")
TEXT = _text("text", defaults=("'fallback'", "''", "'it''s'", "lower('X')"))
VARCHAR = _text("varchar(40)", 40, defaults=("'short'",))
JSONB = ColumnType("jsonb", JSON, ("'{}'", "'{\"d\": 1}'", "jsonb_build_object()"), "string")
JSON_TEXT = ColumnType("json", JSON + LOOSE_JSON, ("'{}'",), "string")
INT2 = ColumnType("smallint", ("0", "-32768", "32767"), ("3", "-3"))
INT4 = ColumnType("integer", ("0", "-1", "-2147483648", "2147483647"), ("7", "(1 + 1)"))
INT8 = ColumnType("bigint", ("0", "-9223372036854775808", "9223372036854775807", "9007199254740993"), ("8",))
BOOL = ColumnType("boolean", ("true", "false"), ("true", "false"))
ENUM = ColumnType("mood", ("sad", "o,k", "glücklich", "it's"), ("'sad'",), "string")
BYTEA = ColumnType("bytea", ("\\x", "\\x00", "\\x00ff10", "\\x7b7d", "\\x" + "c3" * 5_000), connect="bytes")
NUMERIC = ColumnType("numeric(12,3)", ("0", "-0.001", "999999999.999", "12.3", "NaN"), ("1.5",))
FREE_NUMERIC = ColumnType("numeric", ("0", "0.000", "1e30", "-12.3400", "100", "123456789012345678901234567890.0123456789",
                                      "0.00000000000000000001"), connect="other")
FLOAT4 = ColumnType("real", ("0", "-0", "1.5", "100", "NaN", "Infinity", "-Infinity", "3.4028235e38", "1e-10"), ("0.5",))
FLOAT8 = ColumnType("double precision", ("0", "-0", "1.5", "1e21", "100", "0.001", "1e-7", "NaN", "Infinity", "-Infinity",
                                         "123456789.125"), ("0.25",))
DATE = ColumnType("date", ("1970-01-01", "1969-12-31", "2024-02-29", "0001-01-01", "9999-12-31", "12345-06-07",
                           "0044-03-15 BC"), ("'2020-01-01'", "CURRENT_DATE"))
TIME = ColumnType("time", ("00:00:00", "23:59:59.999999", "12:34:56.7"), ("'01:02:03'",))
TIME3 = ColumnType("time(3)", ("00:00:00", "23:59:59.999", "12:34:56.7"))
TIMETZ = ColumnType("timetz", ("00:00:00+00", "23:59:59.999999-12", "12:34:56.7+05:30"), connect="string")
TIMESTAMP = ColumnType("timestamp", ("1970-01-01 00:00:00", "2024-02-29 23:59:59.999999", "1969-12-31 23:59:59.999999",
                                     "0001-01-01 00:00:00", "9999-12-31 23:59:59", "1234-05-06 07:08:09 BC"), ("now()",))
TIMESTAMP3 = ColumnType("timestamp(3)", ("1970-01-01 00:00:00", "2024-02-29 23:59:59.999", "1969-12-31 23:59:59.999",
                                         "9999-12-31 23:59:59"), ("'2001-02-03 04:05:06'",))
TIMESTAMPTZ = ColumnType("timestamptz", ("1970-01-01 00:00:00+00", "2024-02-29 23:59:59.999999+05:30", "infinity",
                                         "-infinity", "12345-01-01 00:00:00+00", "0044-03-15 12:00:00+00 BC"),
                         ("now()", "'2001-02-03 04:05:06+02'"), "string")
TIMESTAMPTZ0 = ColumnType("timestamptz(0)", ("2024-02-29 23:59:59+00", "1969-12-31 23:59:59+01"), connect="string")
CHAR = _text("char(12)", 12, defaults=("'c'",))
INET = ColumnType("inet", ("127.0.0.1", "::1", "10.0.0.0/8"), connect="string")
XML = ColumnType("xml", ("<a/>", "<a b=\"c\">ü</a>"), connect="string")
RANGE = ColumnType("int4range", ("[1,5)", "empty", "(,)"), connect="string")
TEXTS_ARRAY = ColumnType("text[]", ("{}", "{a,b}", "{NULL,\"\",\"q\\\"t\",\"a,b\",\"\\\\\"}", "{ü,\U0001d11e}"), connect="other")
INTS_ARRAY = ColumnType("integer[]", ("{}", "{1,NULL,-2147483648}"), connect="other")
BIGINTS_ARRAY = ColumnType("bigint[]", ("{9223372036854775807}", "{NULL}"), connect="other")
UUIDS_ARRAY = ColumnType("uuid[]", ("{}", "{7f1e0a4e-6d3c-4b7a-9a51-0c3f4f1f2f60,NULL}"), connect="other")
BOOLS_ARRAY = ColumnType("boolean[]", ("{t,f,NULL}",), connect="other")
CIDR = ColumnType("cidr", ("10.0.0.0/8", "2001:db8::/32"), connect="string")
MACADDR = ColumnType("macaddr", ("08:00:2b:01:02:03",), connect="string")
ONE_CHAR = ColumnType('"char"', ("c", ""), connect="string")
NUMRANGE = ColumnType("numrange", ("[1.50,2)", "empty"), connect="string")
OID = ColumnType("oid", ("0", "4294967295"))
NUMERICS_ARRAY = ColumnType("numeric(8,2)[]", ("{}", "{1.5,NULL,-0.01}"), connect="other")
FLOATS_ARRAY = ColumnType("double precision[]", ("{}", "{1.5,NULL,1e21,NaN}"), connect="other")
VARCHARS_ARRAY = ColumnType("varchar(20)[]", ("{}", "{x,NULL}"), connect="other")
DATES_ARRAY = ColumnType("date[]", ("{2024-02-29,NULL}",), connect="other")
TIMESTAMPTZS_ARRAY = ColumnType("timestamptz[]", ('{"2024-02-29 23:59:59.5+00",NULL}',), connect="other")
DOMAIN = ColumnType("short_text", ("d", "", "ü"), connect="string")

STRINGS = (TEXT, VARCHAR, JSONB, JSON_TEXT, UUID, ENUM, CHAR, INET, CIDR, MACADDR, ONE_CHAR, XML, RANGE, NUMRANGE, TIMETZ, TIMESTAMPTZ, TIMESTAMPTZ0,
           DOMAIN)
NUMBERS = (INT2, INT4, INT8, OID, BOOL, NUMERIC, FLOAT4, FLOAT8, DATE, TIME, TIME3, TIMESTAMP, TIMESTAMP3)
OTHERS = (FREE_NUMERIC, TEXTS_ARRAY, INTS_ARRAY, BIGINTS_ARRAY, UUIDS_ARRAY, BOOLS_ARRAY, NUMERICS_ARRAY,
          FLOATS_ARRAY, VARCHARS_ARRAY, DATES_ARRAY, TIMESTAMPTZS_ARRAY)
ALL = (*STRINGS, *NUMBERS, *OTHERS, BYTEA)

# Possible members of logical messages, by the column type whose schema they have.
MEMBERS = {TEXT: TEXTS, BOOL: (True, False), INT4: (0, -1, -2**31, 2**31 - 1), INT8: (2**31, -2**63, 2**63 - 1),
           FLOAT8: (1.5, -0.0, 100.0, 1e21, 0.001, 1e-7)}

# The types that the columns above need.
TYPES = ("CREATE TYPE mood AS ENUM ('sad', 'o,k', 'glücklich', 'it''s'); "
         "CREATE DOMAIN short_text AS varchar(10)")


def choose(chance: random.Random, type: ColumnType, *, nullable: bool) -> str | None:
    """Mostly one of the type's values; NaN only where NULL is allowed, because Debezium converts NaN to NULL."""
    if nullable and chance.random() < 0.15:
        return None
    values = type.values if nullable or type is not NUMERIC else [v for v in type.values if v != "NaN"]
    return chance.choice(values)
