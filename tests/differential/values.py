"""Column types, each with hostile or unusual values.

Values are texts in Postgres' input format. The deviations listed in docs/reference/debezium-parity.md are
excluded: timestamps beyond the year 294247, arrays of several dimensions, and doubles that a JVM before Java 19
prints with a superfluous digit.
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

# Versions of Debezium: that whose bytes walrelay publishes by default, and that of format.debezium_version.
NEWER, OLDER = "3.7", "3.6"


@dataclass(frozen=True)
class ColumnType:
    """`connect` is the kind of value in Connect: string, number, bytes, other."""

    sql: str
    values: Sequence[str]
    defaults: Sequence[str] = ()  # expressions
    connect: str = "number"
    null_values: Sequence[str] = ()  # which Debezium converts to NULL in some modes, so only where NULL is allowed
    late_value: str | None = None  # a label that the enum `sql` gets while it is streamed
    since: str = OLDER  # the first version of Debezium, of the two that can be compared, that represents the type


def _text(sql: str, longest: int | None = None, **more: object) -> ColumnType:
    values = tuple(text for text in TEXTS if longest is None or len(text) <= longest)
    return ColumnType(sql, values, connect="string", **more)


UUID = ColumnType("uuid", ("00000000-0000-0000-0000-000000000000", "FFFFFFFF-ffff-4fff-8fff-ffffffffffff",
                           "7f1e0a4e-6d3c-4b7a-9a51-0c3f4f1f2f60"), ("gen_random_uuid()",), "string")
TEXT = _text("text", defaults=("'fallback'", "''", "'it''s'", "lower('X')", "''''", "CURRENT_USER", "(1 + 2)::text",
                               "NULLIF('a', 'b')", "('it' || '''s')", "E'two\\nlines'"))
VARCHAR = _text("varchar(40)", 40, defaults=("'short'",))
JSONB = ColumnType("jsonb", JSON, ("'{}'", "'{\"d\": \"it''s\"}'", "jsonb_build_object()"), "string")
JSON_TEXT = ColumnType("json", JSON + LOOSE_JSON, ("'{}'",), "string")
INT2 = ColumnType("smallint", ("0", "-32768", "32767"), ("3", "-3"))
INT4 = ColumnType("integer", ("0", "-1", "-2147483648", "2147483647"), ("7", "(1 + 1)"))
INT8 = ColumnType("bigint", ("0", "-9223372036854775808", "9223372036854775807", "9007199254740993"), ("8",))
BOOL = ColumnType("boolean", ("true", "false"), ("true", "false", "(NOT false)"))
ENUM = ColumnType("mood", ("sad", "o,k", "glücklich", "it's"), ("'sad'", "'it''s'", "('sad'::text)::mood"), "string",
                  late_value="later")
UNLABELLED = ColumnType("nothing", (), connect="string", late_value="thing", since=NEWER)
BYTEA = ColumnType("bytea", ("\\x", "\\x00", "\\x00ff10", "\\x7b7d", "\\x" + "c3" * 5_000), connect="bytes")
NUMERIC = ColumnType("numeric(12,3)", ("0", "-0.001", "999999999.999", "12.3"), ("1.5", "random()::numeric"),
                     null_values=("NaN",))
FREE_NUMERIC = ColumnType("numeric", ("0", "0.000", "1e30", "-12.3400", "100", "123456789012345678901234567890.0123456789",
                                      "0.00000000000000000001"), ("1.50", "round(1.2)"), connect="other",
                          null_values=("NaN", "Infinity", "-Infinity"))
FLOAT4 = ColumnType("real", ("0", "-0", "1.5", "100", "NaN", "Infinity", "-Infinity", "3.4028235e38", "1e-10"), ("0.5",))
FLOAT8 = ColumnType("double precision", ("0", "-0", "1.5", "1e21", "100", "0.001", "1e-7", "NaN", "Infinity", "-Infinity",
                                         "123456789.125"), ("0.25",))
DATE = ColumnType("date", ("1970-01-01", "1969-12-31", "2024-02-29", "2024-12-30", "0001-01-01", "9999-12-31",
                           "12345-06-07", "0044-03-15 BC", "4713-01-01 BC", "5874897-12-31", "infinity", "-infinity"),
                  ("'2020-01-01'", "CURRENT_DATE", "'infinity'", "'-infinity'", "(CURRENT_DATE + 1)"))
TIME = ColumnType("time", ("00:00:00", "23:59:59.999999", "12:34:56.7", "00:00:00.000001"),
                  ("'01:02:03'", "LOCALTIME", "'24:00:00'"), null_values=("24:00:00",))
TIME3 = ColumnType("time(3)", ("00:00:00", "23:59:59.999", "12:34:56.7"), ("'01:02:03.5'",))
TIMETZ = ColumnType("timetz", ("00:00:00+00", "23:59:59.999999-12", "12:34:56.7+05:30", "24:00:00+00", "24:00:00-02"),
                    ("'01:02:03+02'",), "string", null_values=("12:00:00+01:02:03",))
_OUT_OF_NANOSECONDS = ("0001-01-01 00:00:00", "9999-12-31 23:59:59", "1677-09-21 12:00:00", "2262-04-11 23:47:16.854776")
TIMESTAMP = ColumnType("timestamp", ("1970-01-01 00:00:00", "2024-02-29 23:59:59.999999", "1969-12-31 23:59:59.999999",
                                     "2024-12-30 00:00:00", "infinity", "-infinity", "1677-09-22 00:00:00"),
                       ("now()", "'2001-02-03 04:05:06.5'", "CURRENT_TIMESTAMP", "'infinity'", "'-infinity'"),
                       null_values=(*_OUT_OF_NANOSECONDS, "1234-05-06 07:08:09 BC", "4713-01-01 00:00:00 BC",
                                    "294247-01-10 04:00:54"))
TIMESTAMP3 = ColumnType("timestamp(3)", ("1970-01-01 00:00:00", "2024-02-29 23:59:59.999", "1969-12-31 23:59:59.999",
                                         "infinity", "-infinity"), ("'2001-02-03 04:05:06'", "'infinity'"),
                        null_values=_OUT_OF_NANOSECONDS)
INTERVAL = ColumnType("interval", ("0", "1 year 2 mons 3 days 04:05:06.789", "-1 year -2 mons +3 days -04:05:06.789", "1 mon",
                                   "-00:00:00.000001", "178000000 years", "-178000000 years", "2147483647 days", "100 hours",
                                   "-1 day +00:00:01", "00:00:59.999999", "1000000:00:00.5", "7 days 00:00:33.123457"),
                      ("'1 day'", "'1 mon 02:00:00'", "make_interval(days => 1)"))
TIMESTAMPTZ = ColumnType("timestamptz", ("1970-01-01 00:00:00+00", "2024-02-29 23:59:59.999999+05:30", "infinity",
                                         "-infinity", "12345-01-01 00:00:00+00", "0044-03-15 12:00:00+00 BC"),
                         ("now()", "'2001-02-03 04:05:06+02'", "'infinity'"), "string")
HSTORE = ColumnType("hstore", ("", "a=>1", 'b=>2,a=>1,"x y"=>"q\\"u\\\\o"', "n=>NULL", 'u=>"ü€"', '""=>""',
                               'zeta=>1,alpha=>2,mid=>3,k10=>4,k2=>5,"a,b"=>"=>"', '"\U0001d11e"=>"\U0001d11e"',
                               'a=>"line\nbreak\t\x01"', ",".join(f"key{i}=>{i}" for i in range(60)),
                               "AaAa=>1,BBBB=>2,AaBB=>3,BBAa=>4", ",".join(f'"{chr(0x4e00 + i * 37)}ß{i}"=>v' for i in range(30))),
                    ("'a=>1'", "hstore('a', 'b')"), "string")
LTREE = ColumnType("ltree", ("", "Top", "Top.Science.Astronomy"), ("'a.b'",), "string")
CITEXT = ColumnType("citext", ("AbC", "", "ü"), ("'x'",), "string")
TSVECTOR = ColumnType("tsvector", ("'a':1 'b'",), connect="string")
BIT = ColumnType("bit", ("0", "1"), ("B'1'",))
BITS = ColumnType("bit(9)", ("100000001", "000000000", "000000001", "011111111"), ("B'101010101'",), "bytes")
VARBIT = ColumnType("varbit", ("", "0", "101", "1000000000000"), ("B'101'",), "bytes")
VARBIT12 = ColumnType("varbit(12)", ("", "101", "100000000001"), connect="bytes")
VARBIT1 = ColumnType("varbit(1)", ("0", "1"), ("B'1'",), null_values=("",))
POINT = ColumnType("point", ("(1,2)", "(-0,1e300)", "(Infinity,NaN)"), ("'(1,2)'",), "other")
BOX = ColumnType("box", ("(3,4),(1,2)", "(0,0),(0,0)"), connect="other", since=NEWER)
LSEG = ColumnType("lseg", ("[(1,2),(3,4)]",), connect="other", since=NEWER)
PATH = ColumnType("path", ("((1,2),(3,4),(5,6))", "[(1,2)]"), connect="other", since=NEWER)
POLYGON = ColumnType("polygon", ("((1,2),(3,4),(5,6))", "((1,2),(3,4),(1,2))", "((0,0))"), connect="other", since=NEWER)
CIRCLE = ColumnType("circle", ("<(1,2),3>", "<(0,0),0>"), connect="other", since=NEWER)
LINE = ColumnType("line", ("{1,2,3}", "{0,-1,1e-7}"), ("'{1,2,3}'",), "other", since=NEWER)
TIMETZS_ARRAY = ColumnType("timetz[]", ("{12:34:56.789123+05:30,NULL,24:00:00+00}", "{}"), connect="other")
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
BYTEAS_ARRAY = ColumnType("bytea[]", ('{"\\\\x00ff",NULL}',), connect="other")
TIMESTAMPS_ARRAY = ColumnType("timestamp[]", ('{"2024-02-29 23:59:59.5",NULL}', "{infinity}"), connect="other")
FREE_NUMERICS_ARRAY = ColumnType("numeric[]", ("{1.50,NULL,1e30}",), connect="other")
DOMAIN = ColumnType("short_text", ("d", "", "ü"), ("'x'",), connect="string")
DECIMAL_DOMAIN = ColumnType("price", ("1.5", "0"), ("2",))
TIMESTAMP_DOMAIN = ColumnType("moment", ("2024-02-29 12:00:05.1",))
BOX_DOMAIN = ColumnType("area", ("(3,4),(1,2)",), connect="other", since=NEWER)

# Debezium's names for them: types that it does not know, and leaves out by default.
UNKNOWN = (ColumnType("tsquery", ("'a' & 'b'",), connect="bytes"), ColumnType("pg_lsn", ("0/16B3748",), connect="bytes"),
           ColumnType("pair", ("(1,x)", '(,"a b")'), connect="bytes"), ColumnType("jsonpath", ("$.\"a\"",), connect="bytes"),
           ColumnType("int4multirange", ("{[1,3)}", "{}"), connect="bytes"), ColumnType("xid8", ("5",), connect="bytes"))

STRINGS = (TEXT, VARCHAR, JSONB, JSON_TEXT, UUID, ENUM, UNLABELLED, CHAR, INET, CIDR, MACADDR, ONE_CHAR, XML,
           RANGE, NUMRANGE, TIMETZ, TIMESTAMPTZ, TIMESTAMPTZ0, HSTORE, LTREE, CITEXT, TSVECTOR, DOMAIN)
JAVA_DATES = (DATE, TIME, TIME3, TIMESTAMP, TIMESTAMP3, TIMESTAMP_DOMAIN)  # with time.precision.mode = connect
TIMESTAMPS = (TIMESTAMP, TIMESTAMP3, TIMESTAMP_DOMAIN)
STRUCTURED = (*JAVA_DATES, TIMETZ, TIMESTAMPTZ, TIMESTAMPTZ0, INTERVAL)  # with time.precision.mode = structured
NUMBERS = (INT2, INT4, INT8, OID, BOOL, NUMERIC, DECIMAL_DOMAIN, FLOAT4, FLOAT8, INTERVAL, BIT, VARBIT1, *JAVA_DATES)
OTHERS = (FREE_NUMERIC, TEXTS_ARRAY, INTS_ARRAY, BIGINTS_ARRAY, UUIDS_ARRAY, BOOLS_ARRAY, NUMERICS_ARRAY, FREE_NUMERICS_ARRAY,
          FLOATS_ARRAY, VARCHARS_ARRAY, DATES_ARRAY, TIMESTAMPTZS_ARRAY, TIMESTAMPS_ARRAY, TIMETZS_ARRAY,
          BYTEAS_ARRAY, BITS, VARBIT, VARBIT12, POINT, BOX, LSEG, PATH, POLYGON, CIRCLE, LINE, BOX_DOMAIN)
ALL = (*STRINGS, *NUMBERS, *OTHERS, BYTEA)
# Whose representation depends on one of Debezium's modes.
MODAL = (NUMERIC, FREE_NUMERIC, DECIMAL_DOMAIN, NUMERICS_ARRAY, FREE_NUMERICS_ARRAY, BYTEA, BYTEAS_ARRAY, HSTORE,
         *STRUCTURED, DATES_ARRAY, TIMESTAMPS_ARRAY, TIMESTAMPTZS_ARRAY, TIMETZS_ARRAY)

# Possible members of logical messages, by the column type whose schema they have.
MEMBERS = {TEXT: TEXTS, BOOL: (True, False), INT4: (0, -1, -2**31, 2**31 - 1), INT8: (2**31, -2**63, 2**63 - 1),
           FLOAT8: (1.5, -0.0, 100.0, 1e21, 0.001, 1e-7)}

# The types that the columns above need. Debezium 3.6 does not start in a database that has an enum without labels.
TYPES_OF_NEWER = "CREATE TYPE nothing AS ENUM ()"
TYPES = ("CREATE TYPE mood AS ENUM ('sad', 'o,k', 'glücklich', 'it''s'); CREATE TYPE pair AS (a integer, b text); "
         "CREATE DOMAIN short_text AS varchar(10); CREATE DOMAIN price AS numeric(6,2); "
         "CREATE DOMAIN moment AS timestamp(3); CREATE DOMAIN area AS box; "
         "CREATE EXTENSION hstore; CREATE EXTENSION ltree; CREATE EXTENSION citext")


def choose(chance: random.Random, type: ColumnType, *, nullable: bool) -> str | None:
    """Mostly one of the type's values."""
    if nullable and (not type.values or chance.random() < 0.15):
        return None
    return chance.choice((*type.values, *type.null_values) if nullable else type.values)
