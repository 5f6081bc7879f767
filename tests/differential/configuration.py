"""Random configurations of Debezium's outbox EventRouter, with matching tables."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from values import (ALL, BYTEA, INT4, INT8, JAVA_DATES, JSON_TEXT, JSONB, MEMBERS, MODAL, NUMBERS, STRINGS,
                    NEWER, STRUCTURED, TEXT, TIMESTAMP, TIMESTAMP3, TIMESTAMPS, UNKNOWN, UUID, VARCHAR, ColumnType)

CONVERTERS = {
    "string": {"": "org.apache.kafka.connect.storage.StringConverter"},
    "json": {"": "org.apache.kafka.connect.json.JsonConverter", "schemas.enable": "false"},
    "json_schema": {"": "org.apache.kafka.connect.json.JsonConverter", "schemas.enable": "true"},
    "bytes": {"": "org.apache.kafka.connect.converters.ByteArrayConverter"},
    "binary": {"": "io.debezium.converters.BinaryDataConverter",
               "delegate.converter.type": "org.apache.kafka.connect.json.JsonConverter",
               "delegate.converter.type.schemas.enable": "false"},
}
_SHOWS = {  # types that a converter encodes as something other than the text of a Java object
    "string": (*STRINGS, *NUMBERS), "json": ALL, "json_schema": ALL, "bytes": (BYTEA,),
    "binary": (BYTEA, BYTEA, *STRINGS, *NUMBERS),
}
_ALGORITHMS = ("MD5", "SHA-1", "sha-256", "SHA-256", "SHA512", "SHA-512/256", "SHA3-384")
_SALTS = ("salt", "ü.with.dots", "s" * 100)
_PAYLOADS = (JSONB, JSON_TEXT, TEXT)
_DEALT = 6  # columns of a configuration whose types are dealt in turn
_MODES = {  # of the connector, for how types are represented; Debezium's default first
    "time.precision.mode": ("adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds",
                            "structured"),
    "decimal.handling.mode": ("precise", "double", "string"), "binary.handling.mode": ("bytes", "base64", "base64-url-safe", "hex"),
    "interval.handling.mode": ("numeric", "string"), "hstore.handling.mode": ("json", "map"),
    "include.unknown.datatypes": ("false", "true"),
}

# Regular expression, replacement. Aggregate types look like c3.Order, c3.order-line …
_ROUTES = (
    (None, None), (None, None), (None, "events.${routedByValue}"), ("(.*)", "$1"), (r"(\w+)\.(.*)", "$2.$1"),
    (r"(?<tag>c\d+)\.(?<name>\w+)", "${tag}.x.${name}"), (r"c\d+\.Order", "orders"), (r"(.*?)", "pre.$1"),
    (r"c\d+\.(Order|order)(.*)", r"t.$1\.$2"), (r"(?i)(.*)\.ORDER", "$1.upper"), (r"([a-z0-9]+).*", "only.$1"),
)
_NAMES = {  # possible names of a column, Debezium's default first
    "id": ("id", "event_id", "Event Id"), "aggregatetype": ("aggregatetype", "kind", "order"),
    "aggregateid": ("aggregateid", "Key", "schlüssel"), "payload": ("payload", "body", "Pay Load"),
}
_OPTIONS = {"id": "table.field.event.id", "aggregatetype": "route.by.field",
            "aggregateid": "table.field.event.key", "payload": "table.field.event.payload"}


@dataclass
class Column:
    name: str
    type: ColumnType
    nullable: bool = True
    default: str | None = None

    @property
    def ddl(self) -> str:
        return (f"{quoted(self.name)} {self.type.sql}{'' if self.nullable else ' NOT NULL'}"
                f"{'' if self.default is None else f' DEFAULT {self.default}'}")


@dataclass
class Configuration:
    """One connector: the router's options, the connector's own, and the table it reads."""

    tag: str  # unique; the prefix of all aggregate types
    table: str
    id: Column
    type: Column
    key: Column
    payload: Column
    extras: list[Column]
    router: dict[str, str] = field(default_factory=dict)
    connector: dict[str, str] = field(default_factory=dict)
    timestamp: Column | None = None
    partition: Column | None = None
    version: Column | None = None
    messages: str | None = None  # the prefix of logical messages that are events too
    structs: bool = False  # whether their payload may be an object
    debezium: str = NEWER  # the version

    @property
    def columns(self) -> list[Column]:
        special = [each for each in (self.timestamp, self.partition, self.version) if each is not None]
        return [self.id, self.type, self.key, self.payload, *special, *self.extras]

    @property
    def expands(self) -> bool:
        return self.router.get("table.expand.json.payload") == "true"

    @property
    def null_members(self) -> bool:
        """Whether members of messages may be null; otherwise null members count as missing."""
        return self.connector.get("transforms.decode.fields.null.include") == "true"

    @property
    def deletes(self) -> bool:
        """Whether Debezium can read a DELETE: in this mode it fails at a timestamp that is NOT NULL and not in the old row."""
        return (self.connector.get("time.precision.mode") != "nanoseconds"
                or all(column.nullable or column.type not in TIMESTAMPS for column in self.columns))

    @property
    def placements(self) -> list[str]:
        text = self.router.get("table.fields.additional.placement", "")
        return [each.strip() for each in text.split(",")]

    def placed_in_envelope(self, column: Column) -> bool:
        return any(each.startswith(f"{column.name}:envelope") for each in self.placements)

    def properties(self) -> dict[str, str]:
        """The connector's properties for this configuration, with the router named "outbox"."""
        return self.connector | {f"transforms.outbox.{name}": value for name, value in self.router.items()}


def make(seed: int, number: int, version: str = NEWER) -> Configuration:
    """The `number`-th configuration of a seed, for a version of Debezium."""
    return _Maker(random.Random(f"{seed}/{number}"), number, version).make()


class _Maker:
    def __init__(self, chance: random.Random, number: int, version: str) -> None:
        self._chance = chance
        self._number = number
        self._version = version
        self._tag = f"c{number}"

    def make(self) -> Configuration:
        chance = self._chance
        value = chance.choice(("string", "json", "json_schema", "json", "json_schema", "bytes", "binary"))
        key = chance.choice(("string", "string", "json", "json_schema", "binary"))
        self._modes = {name: chance.choice(values) for name, values in _MODES.items() if chance.random() < 0.5}
        if self._version != NEWER and self._modes.get("time.precision.mode") == "structured":
            del self._modes["time.precision.mode"]
        envelope = value in ("json", "json_schema") and chance.random() < 0.5
        expand = value in ("json", "json_schema") and chance.random() < 0.4
        payload_type = chance.choice(_PAYLOADS if expand or chance.random() < 0.6 and value != "bytes"
                                     else self._shown(value))
        made = Configuration(
            tag=self._tag, table=chance.choice(("public.outbox", "public.outbox_v2", "shop.outbox")),
            id=Column(self._name("id"), chance.choice((UUID, TEXT, INT8, INT4)), nullable=False),
            type=Column(self._name("aggregatetype"), chance.choice((TEXT, VARCHAR, TEXT)), nullable=False),
            key=self._column(self._name("aggregateid"), chance.choice(self._shown(key))),
            payload=self._column(self._name("payload"), payload_type), extras=[], connector=dict(self._modes),
            debezium=self._version)
        self._name_fields(made)
        self._route(made)
        self._place(made, envelope, versioned=not expand)
        if expand:
            made.router["table.expand.json.payload"] = "true"
            if chance.random() < 0.5:
                made.router["table.json.payload.null.behavior"] = chance.choice(("ignore", "optional_bytes"))
            if chance.random() < 0.5 and self._version == NEWER:
                made.router["table.json.payload.empty.array.behavior"] = chance.choice(("ignore", "optional_string"))
        if chance.random() < 0.5:
            made.router["route.tombstone.on.empty.payload"] = chance.choice(("true", "TRUE", "false"))
        if chance.random() < 0.3:
            made.router["table.op.invalid.behavior"] = chance.choice(("warn", "error"))
        self._convert(made, key, value)
        # The transform that decodes messages fails if the connector represents their content as text.
        binary = self._modes.get("binary.handling.mode", "bytes") == "bytes"
        if value != "bytes" and binary and made.timestamp is None and made.version is None and chance.random() < 0.5:
            self._take_messages(made)
        if chance.random() < 0.6:
            self._transform(made)
        return made

    def _shown(self, converter: str) -> list[ColumnType]:
        """Types that a converter shows in these modes, without those that are objects for StringConverter."""
        mode = self._modes.get("binary.handling.mode", "bytes")
        types = [each for each in self._known(_SHOWS[converter]) if converter != "bytes" or mode == "bytes"]
        if converter == "string":
            objects = {"connect": JAVA_DATES, "structured": STRUCTURED}.get(self._modes.get("time.precision.mode", ""), ())
            types = [each for each in types if each not in objects]
        return types or [TEXT]

    def _placed(self) -> list[ColumnType]:
        """A third of the columns depend on a mode."""
        unknown = UNKNOWN if self._modes.get("include.unknown.datatypes") == "true" else ()
        return self._known(self._chance.choice((ALL, ALL, MODAL)) + unknown)

    def _dealt(self) -> list[ColumnType]:
        """Types in turn, so that a few consecutive configurations have all of them."""
        types = self._known(ALL)
        return [types[(self._number * _DEALT + i) % len(types)] for i in range(_DEALT)]

    def _known(self, types: Sequence[ColumnType]) -> list[ColumnType]:
        return [each for each in types if each.since <= self._version]

    def _name(self, role: str) -> str:
        return self._chance.choice((_NAMES[role][0], *_NAMES[role]))

    def _column(self, name: str, type: ColumnType) -> Column:
        chance = self._chance
        default = chance.choice(type.defaults) if type.defaults and chance.random() < 0.4 else None
        return Column(name, type, not type.values or chance.random() < 0.75, default)

    def _name_fields(self, made: Configuration) -> None:
        for role, column in (("id", made.id), ("aggregatetype", made.type), ("aggregateid", made.key),
                             ("payload", made.payload)):
            if column.name != _NAMES[role][0]:
                made.router[_OPTIONS[role]] = column.name

    def _route(self, made: Configuration) -> None:
        regex, replacement = self._chance.choice(_ROUTES)
        if regex is not None:
            made.router["route.topic.regex"] = regex
        if replacement is not None:
            made.router["route.topic.replacement"] = replacement

    def _place(self, made: Configuration, envelope: bool, *, versioned: bool) -> None:
        chance = self._chance
        placements = []
        for number in range(chance.randrange(6)):
            column = self._column(f"extra{number}" if chance.random() < 0.8 else f"Extra {number}", chance.choice(self._placed()))
            made.extras.append(column)
            for _ in range(chance.choice((1, 1, 1, 2))):
                alias = chance.choice(("", "", f":alias{len(placements)}", f": a-{len(placements)} "))
                where = chance.choice(("header", "header", "envelope" if envelope else "header"))
                if where == "envelope" and not alias:
                    alias = f":member{len(placements)}"
                placements.append(f"{column.name}:{where}{alias}")
        for type in self._dealt():
            made.extras.append(self._column(f"type{len(made.extras)}", type))
            placements.append(f"{made.extras[-1].name}:header")
        if envelope and not any(":envelope" in each for each in placements):
            placements.append(f"{made.key.name}:envelope:key")
        if chance.random() < 0.2:
            placements.append(f"{made.id.name}:header:again")
        if chance.random() < 0.3:
            made.partition = Column("part", INT4)
            placements.append("part:partition")
        if chance.random() < 0.2:
            placements.append("missing:header")
            made.router["table.field.additional.missing"] = "ignore"
        if envelope and versioned and chance.random() < 0.3:  # expanded, two shapes cannot have one version
            made.version = Column("version", INT4)
            made.router["table.field.event.schema.version"] = "version"
        if chance.random() < 0.4 and self._modes.get("time.precision.mode") not in ("connect", "isostring", "structured"):
            made.timestamp = Column("happened_at", chance.choice((TIMESTAMP, TIMESTAMP3)))
            made.router["table.field.event.timestamp"] = "happened_at"
        chance.shuffle(placements)
        if placements:
            made.router["table.fields.additional.placement"] = chance.choice((",", ", ")).join(placements)

    def _convert(self, made: Configuration, key: str, value: str) -> None:
        for part, name in (("key", key), ("value", value)):
            for option, word in CONVERTERS[name].items():
                made.connector[f"{part}.converter{'.' if option else ''}{option}"] = word
        if self._chance.random() < 0.5:
            made.connector["extended.headers.enabled"] = self._chance.choice(("true", "false"))
        made.connector["topic.prefix"] = self._chance.choice(("srv", "shop-1", "a.b"))

    def _take_messages(self, made: Configuration) -> None:
        """Members of an envelope keep one type, because Debezium keeps the first schema."""
        for column in made.columns:
            if made.placed_in_envelope(column):
                column.type, column.nullable, column.default = self._chance.choice(tuple(MEMBERS)), True, None
        made.messages = "outbox"
        made.structs = "json.JsonConverter" in made.connector["value.converter"]
        made.connector |= {
            "transforms": "decode,outbox",
            "transforms.decode.type": "io.debezium.connector.postgresql.transforms.DecodeLogicalDecodingMessageContent",
            "message.prefix.include.list": made.messages}
        if self._chance.random() < 0.6:
            made.connector["transforms.decode.fields.null.include"] = self._chance.choice(("true", "false"))


    def _transform(self, made: Configuration) -> None:
        """Truncates, masks and hashes columns; one column may match several of these options."""
        chance = self._chance
        options = [f"column.truncate.to.{chance.choice((0, 1, 3, 7, 40, 500, 20_000))}.chars",
                   f"column.mask.with.{chance.choice((0, 1, 12))}.chars",
                   *(f"column.mask.hash.{version}{chance.choice(_ALGORITHMS)}.with.salt.{chance.choice(_SALTS)}"
                     for version in ("", "v2."))]
        for option in chance.sample(options, chance.choice((1, 2, 3, 4))):
            columns = [column for column in made.columns if self._may_change(made, column, option)]
            names = [column.name for column in chance.sample(columns, min(len(columns), chance.choice((1, 2, 4, 8))))]
            if names:
                made.connector[option] = ",".join(self._expression(made, name) for name in names)

    def _may_change(self, made: Configuration, column: Column, option: str) -> bool:
        """Whether rows can still be found by their ids, and most of them be routed."""
        if column is made.id:
            return "truncate" not in option and column.type is not TEXT
        if made.messages and made.placed_in_envelope(column):
            return False  # walrelay refuses it: the first envelope's schema is that of all others
        return column is not made.type or "hash" in option

    def _expression(self, made: Configuration, name: str) -> str:
        exact = f"{made.table}.{name}".replace(".", "\\.")
        return self._chance.choice((exact, f"{made.table}.{name}", f" {exact} ", f".*\\.{name}",
                                    exact.upper() if name.isascii() and name.isalnum() else exact))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
