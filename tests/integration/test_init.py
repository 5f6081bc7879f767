#!/usr/bin/python3
"""`walrelay init --from-table`, from the DDL of a table to the record in Kafka, for the tables that people have.

schemas/NAME.sql has the DDL, and behind the line "-- event" the statements that write an event. NAME in it stands for a
word that no other test uses.
"""

import os
import re
import stat
import subprocess
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from walrelay_dev.patience import patient
from walrelay_test.relay_config import relay_environment, relay_program
from walrelay_test.servers import test_folder
from walrelay_test.testcase import IntegrationTest, for_each_major, main

SCHEMAS = Path(__file__).parent / "schemas"
_UUID = "5c3d4b5e-0000-4000-8000-0000000000"
_TOTAL = b'{"total": 5}'


class Expected(NamedTuple):
    """The record of a schema's event; NAME in the topic as in the schema. `decisions`: a part of the text of each."""

    table: str
    topic: str
    key: str
    headers: dict[str, str | None]
    decisions: tuple[str, ...] = ()
    value: bytes = _TOTAL


_POLLED = "Stop that process"
_NO_KEY = "No column has the id of an aggregate"
_ONE_TOPIC = "so all events go to the topic"
_IS_TOPIC = "is the topic. Who may insert"

EXPECTED = {
    "aggregate": Expected("outbox", "outbox.event.NAME", "order-1",
                          {"id": f"{_UUID}01", "event_type": "OrderPlaced", "trace_id": "t1"}),
    "debezium": Expected("outboxevent", "outbox.event.NAME", "order-2",
                         {"id": f"{_UUID}02", "event_type": "OrderPlaced"}),
    "events_outbox": Expected("events_outbox", "outbox.event.events_outbox", f"{_UUID}03",
                              {"id": "1", "event_type": "OrderPlaced"}, (_POLLED, _ONE_TOPIC)),
    "outbox_events": Expected("sales.outbox_events", "outbox.event.NAME", "order-4",
                              {"id": f"{_UUID}04", "event_type": "OrderPlaced", "metadata": '{"user": 1}'}),
    "processed_flag": Expected("outbox_messages", "outbox.event.NAME", "5", {"id": "1", "event_type": "OrderPlaced"},
                               (_POLLED,), b"<total/>"),
    "spring_modulith": Expected("event_publication", "outbox.event.event_publication", f"{_UUID}06",
                                {"id": f"{_UUID}06", "event_type": "shop.OrderPlaced"},
                                ("table of Spring Modulith", _NO_KEY, _ONE_TOPIC)),
    "active_outbox": Expected("outboxes", "outbox.event.NAME", f"{_UUID}aa",
                              {"id": f"{_UUID}07", "event_type": "ORDER_CREATED"}, ("these could be it, too: id",)),
    "rails_event_store": Expected("event_store_events", "outbox.event.event_store_events", f"{_UUID}08",
                                  {"id": f"{_UUID}08", "event_type": "OrderPlaced", "metadata": '{"user": 1}'},
                                  ("table of Rails Event Store", _NO_KEY, _ONE_TOPIC, "could be it, too: id")),
    "rails_event_store_outbox": Expected("event_store_outbox", "outbox.event.event_store_outbox", "order-9",
                                         {"id": "1"},
                                         (_ONE_TOPIC, "split_key, the aggregate id, may be NULL", _POLLED), b"{}"),
    "laravel_jobs": Expected("jobs", "NAME", "1", {"id": "1"}, ("table of Laravel", _NO_KEY, _IS_TOPIC)),
    "cap": Expected("cap.published", "NAME", "10", {"id": "10"}, ("table of CAP", _NO_KEY, _IS_TOPIC, _POLLED)),
    "masstransit": Expected('"OutboxMessage"', "outbox.event.OutboxMessage", f"{_UUID}0b",
                            {"id": f"{_UUID}0b", "event_type": "urn:message:Shop:OrderPlaced",
                             "ContentType": "application/vnd.masstransit+json", "Headers": None, "Properties": None,
                             "CorrelationId": None, "SequenceNumber": "1"},
                            ("table of MassTransit", _NO_KEY, _ONE_TOPIC, _POLLED)),
    "brighter": Expected("outboxmessages", "NAME", "order-12",
                         {"id": "m-12", "event_type": "MT_EVENT", "headerbag": "{}", "correlationid": None,
                          "contenttype": None},
                         ("could be it, too: id", "could be it, too: subject", "could be it, too: type",
                          "partitionkey, the aggregate id, may be NULL", _IS_TOPIC,
                          "topic, the aggregate type, may be NULL", _POLLED)),
    "watermill": Expected("watermill_orders", "outbox.event.watermill_orders", "u-13", {"id": "u-13", "metadata": "{}"},
                          ("table of Watermill", _NO_KEY, _ONE_TOPIC)),
    "axon": Expected("domain_event_entry", "outbox.event.NAME", "order-14",
                     {"id": "e-14", "event_type": "shop.OrderPlaced", "sequence_number": "0", "meta_data": None,
                      "payload_revision": None},
                     ("table of Axon", "check both", "type, the aggregate type, may be NULL"), b"\x00\xff"),
    "eventuate": Expected("eventuate.message", "NAME", "m-15", {"id": "m-15", "headers": '{"PARTITION_ID": "1"}'},
                          ("table of Eventuate", _NO_KEY, _IS_TOPIC, _POLLED)),
    "typeorm": Expected("OutboxEvent", "outbox.event.NAME", "order-16",
                        {"id": f"{_UUID}10", "event_type": "OrderPlaced",
                         "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, (_POLLED,)),
    "go_compressed": Expected("outbox_compressed", "NAME", "order-17", {"id": f"{_UUID}11", "compressed": "t"},
                              (_IS_TOPIC, "compressed or encrypted"), b"\x1f\x8b\x08"),
}

REFUSED = {
    "refused_nservicebus": ("OutboxData", "WR-2310", "Operations holds a batch of messages"),
    "refused_wolverine": ("wolverine_outgoing_envelopes", "WR-2310", "a binary form that only Wolverine reads"),
    "refused_outboxer": ("outboxer_messages", "WR-2310", "refers to a record of another table"),
    "refused_large_object": ("domain_event_entry", "WR-2310", "the event is a large object"),
    "refused_without_event": ("pending", "WR-2310", "no column holds the event itself"),
    "refused_unlogged": ("outbox", "WR-2305", "SET LOGGED"),
    "refused_view": ("outbox", "WR-2310", "it is not a table"),
}


class InitCase(IntegrationTest):
    def prepare(self) -> None:
        self.folder = test_folder() / f"{self.name}-init"
        self.folder.mkdir()

    def call(self, *arguments: Any, code: int = 0) -> str:
        """Runs a command; returns its output."""
        run = subprocess.run([relay_program(), *map(str, arguments)], cwd=self.folder, text=True, timeout=patient(120),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=relay_environment())
        self.assertEqual(run.returncode, code, run.stdout)
        return run.stdout

    def init(self, table: str, *more: Any, code: int = 0) -> str:
        return self.call("init", "--from-table", table, "--dsn", self.database.dsn, *more, code=code)

    def create(self, schema: str) -> str:
        """Executes the DDL of a schema; returns the statements of its event."""
        text = (SCHEMAS / f"{schema}.sql").read_text().replace("NAME", self.name)
        ddl, _, event = text.partition("-- event\n")
        self.sql(ddl)
        return event

    def relayed(self, schema: str) -> None:
        """From the DDL to the record, with the commands that the file names."""
        expected = EXPECTED[schema]
        event = self.create(schema)
        path = self.folder / f"{schema}.toml"
        self.init(expected.table, "-o", path, "--kafka", self.kafka.bootstrap, "--slot", self.slot)
        self.check_decisions(expected, path.read_text())
        self.call("check", "--offline", "--config", path)
        self.call("setup", "--apply", "--config", path)
        relay = self.new_relay(config=path, arguments=["--set", "http.listen=127.0.0.1:0"])
        relay.start().wait_ready()
        self.sql(event)
        self.settle()
        self.check_record(expected)
        relay.kill()

    def check_decisions(self, expected: Expected, text: str) -> None:
        found = re.findall(r"^# \d+\. .*(?:\n#    .*)*", text, re.MULTILINE)
        joined = [re.sub(r"\n# +", " ", each) for each in found]
        for decision in expected.decisions:
            self.assertTrue(any(decision in each for each in joined), f"{decision}: {text}")
        self.assertEqual(len(joined), len(expected.decisions), text)

    def check_record(self, expected: Expected) -> None:
        records = [each for each in self.kafka.consume(expected.topic.replace("NAME", self.name))
                   if each.key == expected.key.encode()]
        self.assertEqual(len(records), 1, records)
        self.assertEqual({name: value and value.decode() for name, value in records[0].headers}, expected.headers)
        self.assertEqual(records[0].value, expected.value)


def _add(schema: str) -> None:
    setattr(SchemasTest, f"test_{schema}", lambda self: self.relayed(schema))


class SchemasTest(InitCase):
    """A test per schema."""


for _schema in EXPECTED:
    _add(_schema)


@for_each_major(InitCase, [13, 18])
class SchemasOfMajorTest:
    def test_table(self) -> None:
        self.relayed("aggregate")

    def test_partitioned_table(self) -> None:
        self.relayed("typeorm")


class InitTest(InitCase):
    def test_every_schema_has_a_test(self) -> None:
        self.assertEqual({path.stem for path in SCHEMAS.glob("*.sql")}, EXPECTED.keys() | REFUSED.keys())

    def test_tables_that_cannot_be_published_are_refused_with_the_reason(self) -> None:
        for schema, (table, code, reason) in REFUSED.items():
            with self.subTest(schema):
                self.create(schema)
                answer = self.init(table, "-o", "walrelay.toml", code=65 if code == "WR-2310" else 78)
                self.assertIn(code, answer)
                self.assertIn(reason, answer)
                self.assertFalse((self.folder / "walrelay.toml").exists())
                self.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")

    def test_missing_table_names_similar_ones(self) -> None:
        self.create("outbox_events")
        answer = self.init("outbox_events", code=78)
        self.assertIn("WR-2302", answer)
        self.assertIn("sales.outbox_events", answer)

    def test_partition_names_its_table(self) -> None:
        self.create("typeorm")
        self.assertIn('name the partitioned table, public."OutboxEvent"', self.init("OutboxEvent_default", code=65))

    def test_file_is_private_and_not_replaced(self) -> None:
        self.create("aggregate")
        path = self.folder / "new.toml"
        self.init("outbox", "-o", path)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertIn("already exists", self.init("outbox", "-o", path, code=64))
        self.init("outbox", "-o", path, "--force")

    def test_standard_output_is_the_file(self) -> None:
        self.create("aggregate")
        self.assertEqual(tomllib.loads(self.init("outbox"))["source"]["table"], "public.outbox")

    def test_password_is_not_written(self) -> None:
        self.create("aggregate")
        text = self.call("init", "--from-table", "outbox", "--dsn", f"{self.database.dsn} password=never-shown")
        self.assertNotIn("never-shown", text)
        self.assertIn("password_file", text)

    def test_names_from_the_database_stay_in_their_comments_and_strings(self) -> None:
        self.sql('CREATE TABLE "out\nbox = 1" ("id" uuid, "aggregate_type" text, "aggregate_id" text, "payload" jsonb, '
                 '"x\n[route]\ntopic = ""evil""" text, "correlation\n""id" text)')
        parsed = tomllib.loads(self.init('public."out\nbox = 1"'))
        self.assertEqual(parsed["route"]["topic"], "outbox.event.${routedByValue}")
        self.assertEqual(parsed["source"]["table"], "public.out\nbox = 1")
        self.assertEqual([each["column"] for each in parsed["source"]["placement"]], ['correlation\n"id'])

    def test_role_without_privileges_on_the_table_may_inspect_it(self) -> None:
        self.create("aggregate")
        self.sql(f"CREATE ROLE {self.name}_reader LOGIN")
        self.addCleanup(self.sql, f"DROP ROLE {self.name}_reader")
        self.call("init", "--from-table", "outbox", "--dsn", f"{self.database.dsn} user={self.name}_reader")


if __name__ == "__main__":
    main()
