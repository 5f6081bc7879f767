#!/usr/bin/python3
"""Compares cases.json with the records of Debezium, or completes it with them.

    scripts/dev python tests/conformance/record.py [--only PREFIX] [--write]

Inserts the row of each case into a table, where one connector for each of Connect's JSON converters reads it from
its own slot. Compares the record, or the failure, with the `expect` of the case. With --write, a case without
`expect` gets it. Cases of other operations than an INSERT, and those that depend on an earlier row, are not run.
"""

import argparse
import json
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from walrelay_dev import cli
from walrelay_dev.connect import ConnectWorker
from walrelay_dev.debezium import outbox_connector
from walrelay_dev.errors import ServerError
from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.kafka_records import Record
from walrelay_dev.postgres import Postgres
from walrelay_dev.process import wait_until
from walrelay_test.database import Database
from walrelay_test.servers import new_connect, new_kafka, new_postgres, require_servers

_FILE = Path(__file__).with_name("cases.json")
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_CONVERTERS = {f"JsonConverter(schemas={schemas})": schemas for schemas in ("false", "true")}
_HEADERS = "SimpleHeaderConverter"
_SECONDS = 120.0
_UNORDERED = ("nondeterministic", "sequence", "preceding_smt", "volatile")

Json = dict[str, Any]


def main() -> int:
    args = _arguments()
    require_servers(with_connect=True)
    cases = json.loads(_FILE.read_text())
    chosen = [case for case in cases if case["id"].startswith(args.only) and _can_run(case)]
    differ = 0
    with ExitStack() as stack:
        postgres = stack.enter_context(new_postgres(tcp=True))
        kafka = stack.enter_context(new_kafka(heap_mb=384, partitions=4, properties={
            "log.message.timestamp.after.max.ms": 2**63 - 1}))
        worker = stack.enter_context(new_connect(kafka, heap_mb=768))
        for case in chosen:
            expect = _Recorder(postgres, kafka, worker, case).run()
            if args.write:
                case.setdefault("expect", expect)
            problems = _differences(case.get("expect", {}), expect)
            differ += bool(problems)
            print(f"{case['id']}: {'; '.join(problems) or 'as expected'}", flush=True)
    if args.write:
        _FILE.write_text(json.dumps(cases, indent=1, ensure_ascii=False))
    print(f"{len(chosen)} of {len(cases)} cases, {differ} differ")
    return 1 if differ else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PREFIX", help="run only cases whose id begins with it")
    parser.add_argument("--write", action="store_true", help="add what Debezium publishes to cases without `expect`")
    return parser.parse_args()


def _can_run(case: Json) -> bool:
    recorded = case.get("expect", {}).get("outcome", "routed")
    return (case["op"] == "insert" and case["provenance"] == "executed-e2e" and recorded != "dropped"
            and not any(case.get(name) for name in _UNORDERED))


class _Recorder:
    """One case, in a database of its own."""

    def __init__(self, postgres: Postgres, kafka: KafkaCluster, worker: ConnectWorker, case: Json) -> None:
        self._kafka = kafka
        self._worker = worker
        self._case = case
        self._database = Database.create(postgres, re.sub(r"\W", "_", case["id"]).lower())

    def run(self) -> Json:
        """The `expect` of the case."""
        expect: Json = {}
        try:
            self._insert()
            for number, converter in enumerate(_CONVERTERS):
                self._add(expect, converter, self._publish(f"{self._database.name}_{number}", converter))
        finally:
            self._database.drop()
        return expect

    def _insert(self) -> None:
        columns = self._case["columns"]
        for column in columns:
            if column["pg_type"].startswith("enum("):
                self._database.execute(f"CREATE TYPE {column['name']}_enum AS {column['pg_type']}")
        self._database.execute(f"CREATE TABLE outbox ({', '.join(map(_ddl, columns))})")
        self._database.execute("CREATE PUBLICATION p FOR TABLE outbox")
        for number in range(len(_CONVERTERS)):
            self._database.create_slot(f"{self._database.name}_{number}")
        self._database.execute(f"INSERT INTO outbox VALUES ({', '.join(['%s'] * len(columns))})",
                               *(_text(column.get("value")) for column in columns))

    def _publish(self, slot: str, converter: str) -> Record | str:
        """The record, or why there is none."""
        try:
            self._worker.create_connector(slot, self._connector(slot, converter))
        except ServerError as error:
            return str(error)
        try:
            wait_until(lambda: self._records() or self._worker.failure(slot), _SECONDS, f"{slot} to publish the row")
            records = self._records()
            return records[0] if records else str(self._worker.failure(slot))
        finally:
            self._worker.delete_connector(slot)
            for topic in self._topics():
                self._kafka.delete_topic(topic)

    def _connector(self, slot: str, converter: str) -> Json:
        base = outbox_connector(self._database.postgres, self._database.name, slot=slot, publication="p", prefix="srv")
        parts = {f"{part}.converter{name}": value for part in ("key", "value")
                 for name, value in (("", _JSON), (".schemas.enable", _CONVERTERS[converter]))}
        return {**base, "poll.interval.ms": 20, "extended.headers.enabled": False, **parts,
                **self._case.get("connector_config", {}),
                **{f"transforms.outbox.{name}": value for name, value in self._case["config"].items()}}

    def _topics(self) -> list[str]:
        return [topic for topic in self._kafka.topics() if not topic.startswith("__")]

    def _records(self) -> list[Record]:
        return self._kafka.consume("^.*") if self._topics() else []

    def _add(self, expect: Json, converter: str, result: Record | str) -> None:
        if isinstance(result, str):
            expect |= {"outcome": "error", "error_hint": result.partition("\n")[0]}
            return
        expect |= {"outcome": "routed", "topic": result.topic, "partition": None, "timestamp_ms": result.timestamp_ms}
        expect.setdefault("key", {})[converter] = _bytes(result.key)
        expect.setdefault("value", {})[converter] = _bytes(result.value)
        expect["headers"] = [{"name": name, _HEADERS: _bytes(value)} for name, value in result.headers]
        if "table.field.event.timestamp" not in self._case["config"]:
            expect["timestamp_ms"] = "CONNECTOR_PROCESSING_CLOCK"
        if ":partition" in self._case["config"].get("table.fields.additional.placement", ""):
            expect["partition"] = result.partition


def _ddl(column: Json) -> str:
    type = f"{column['name']}_enum" if column["pg_type"].startswith("enum(") else column["pg_type"]
    default = f" DEFAULT {column['sql_default']}" if column.get("sql_default") else ""
    return f'"{column["name"]}" {type}{"" if column["nullable"] else " NOT NULL"}{default}'


def _text(value: object) -> str | None:
    if isinstance(value, list):
        return "{" + ",".join("NULL" if each is None else json.dumps(_text(each)) for each in value) + "}"
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


def _bytes(value: bytes | None) -> Json:
    if value is None:
        return {"null": True}
    try:
        return {"utf8": value.decode()}
    except UnicodeDecodeError:
        return {"hex": value.hex()}


def _differences(expected: Json, seen: Json) -> list[str]:
    """What the conformance test would compare, of the converters that ran."""
    outcome = expected.get("worker_outcome") or expected.get("outcome", "")
    failures = "error" in outcome, seen["outcome"] == "error"
    if any(failures):
        return [] if all(failures) else [f"{outcome} in the file, {seen['outcome']} from Debezium"]
    pairs = [(name, expected.get(name), seen[name]) for name in ("topic", "timestamp_ms")]
    if seen["partition"] is not None and isinstance(expected.get("partition"), int):
        pairs.append(("partition", expected["partition"], seen["partition"]))
    pairs += [(f"{part} under {converter}", _plain(expected.get(part, {}).get(converter)), seen[part][converter])
              for part in ("key", "value") for converter in seen[part]]
    pairs.append(("headers", [(each["name"], _plain(each[_HEADERS])) for each in expected.get("headers", [])],
                  [(each["name"], each[_HEADERS]) for each in seen["headers"]]))
    return [f"{name}: {one} in the file, {two} from Debezium" for name, one, two in pairs if one != two]


def _plain(converted: Json | None) -> Json | None:
    return converted and {name: value for name, value in converted.items() if name in ("utf8", "hex", "null")}


if __name__ == "__main__":
    cli.run("record", main)
