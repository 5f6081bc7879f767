#!/usr/bin/python3
"""Connect's formats: schema information from the catalog, and each type as a real session sends it."""

import json

from walrelay_test.testcase import IntegrationTest, main

TYPES = {
    "h_bool": ("boolean", True, b"true"),
    "h_num": ("numeric(10,2)", "12.3", b"12.30"),
    "h_any": ("numeric", "12.30", b'{"scale":1,"value":"ew=="}'),
    "h_f8": ("double precision", 1e21, b"1.0E21"),
    "h_date": ("date", "2019-03-24", b"17979"),
    "h_time": ("time(3)", "00:00:01.5", b"1500"),
    "h_ts": ("timestamp", "2019-03-24 20:52:59.123456", b"1553460779123456"),
    "h_ts3": ("timestamp(3)", "2019-03-24 20:52:59.123", b"1553460779123"),
    "h_tz": ("timestamptz(3)", "2019-03-24 22:52:59.1+02", b"2019-03-24T20:52:59.100Z"),
    "h_raw": ("bytea", b"\0\xff\x10", b"AP8Q"),
    "h_texts": ("text[]", ["x", 'q"t', None], rb'["x","q\"t",null]'),
    "h_mood": ("mood", "ok", b"ok"),
    "h_span": ("interval", "1 mon 02:00:00", b"2637000000000"),
    "h_bits": ("bit(9)", "100000001", b"AQE="),
    "h_map": ("hstore", "a=>1", b'{"a":"1"}'),
    "h_kept": ("dated", "2024-02-29 12:00:05.1", b"1709208005100"),
}


class FormatsTest(IntegrationTest):
    def test_every_type_is_a_header_as_connect_formats_it(self) -> None:
        self.sql("CREATE TYPE mood AS ENUM ('sad', 'ok')")
        self.sql("CREATE EXTENSION hstore")
        self.sql("CREATE DOMAIN dated AS timestamp(3)")
        for column, (type, _, _) in TYPES.items():
            self.sql(f"ALTER TABLE outbox ADD {column} {type}")
        self.start_relay({"format.headers": "simple",
                          "source.placement": [{"column": column, "to": "header"} for column in TYPES]})
        self.outbox.insert(1, more={column: value for column, (_, value, _) in TYPES.items()})
        self.settle()
        headers = dict(self.published()[0].headers)
        self.assertEqual({column: headers[column] for column in TYPES},
                         {column: shown for column, (_, _, shown) in TYPES.items()})

    def test_schemas_contain_defaults_labels_and_nullability(self) -> None:
        self.sql("CREATE TYPE mood AS ENUM ('sad', 'o,k')")
        self.sql("ALTER TABLE outbox ADD m mood, ADD n int DEFAULT 3, ADD t text DEFAULT 'it' NOT NULL")
        self.start_relay({"format.value": "json_schema", "format.schema_prefix": "srv",
                          "source.placement": [{"column": column, "to": "envelope"} for column in "mnt"]})
        self.outbox.insert(1, payload='{"a": 1}', more={"m": "sad", "n": None, "t": "x"})
        self.settle()
        value = json.loads(self.published()[0].value)
        self.assertEqual(value["payload"], {"payload": '{"a": 1}', "m": "sad", "n": 3, "t": "x"})
        self.assertEqual(value["schema"]["name"], f"srv.public.outbox.{self.name}.Value")
        self.assertEqual(value["schema"]["fields"][1:], [
            {"type": "string", "optional": True, "name": "io.debezium.data.Enum", "version": 1,
             "parameters": {"allowed": "sad,o,k"}, "field": "m"},
            {"type": "int32", "optional": True, "default": 3, "field": "n"},
            {"type": "string", "optional": False, "default": "it", "field": "t"}])

    def test_label_added_while_streaming_is_in_the_schema_of_its_first_row(self) -> None:
        self.sql("CREATE TYPE mood AS ENUM ('sad'); CREATE TYPE nothing AS ENUM (); "
                 "ALTER TABLE outbox ADD m mood, ADD n nothing")
        relay = self.start_relay({"format.value": "json_schema",
                                  "source.placement": [{"column": column, "to": "envelope"} for column in "mn"]})
        self.outbox.insert(1, more={"m": "sad"})
        self.settle()
        self.sql("ALTER TYPE mood ADD VALUE 'glad'; ALTER TYPE nothing ADD VALUE 'thing'")
        self.outbox.insert(2, more={"m": "glad"})
        self.outbox.insert(3, more={"m": "sad"})
        self.expect_published(1, 2, 3)
        labels = [[field["parameters"]["allowed"] for field in json.loads(record.value)["schema"]["fields"][1:]]
                  for record in self.published()]
        self.assertEqual(labels, [["sad", ""], ["sad,glad", "thing"], ["sad,glad", "thing"]])
        self.assertEqual(len(relay.logs("disconnected")), 1)

    def test_expanded_payload_is_json_with_members(self) -> None:
        self.start_relay({"format.value": "json", "format.expand_json": True})
        self.outbox.insert(1, payload='{"b": 1.50, "a": [1, null], "none": null}')
        self.settle()
        self.assertEqual(self.published()[0].value, b'{"a":[1,null],"b":1.5}')


if __name__ == "__main__":
    main()
