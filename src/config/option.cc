#include "config/option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/masked_dsn.h"
#include "config/option_rows.h"
#include "config/table_name.h"
#include "config/toml_writer.h"

namespace walrelay {
namespace {

absl::Status SetTable(Config& config, const RawValue& value) {
  std::string name;
  WR_RETURN_IF_ERROR(ParseInto(value, name));
  OutboxTable& table = config.source.tables.front();
  if (name.empty()) {
    table.schema.clear();
    table.name.clear();
    return absl::OkStatus();  // no table: logical messages only
  }
  auto parsed = ParseTableName(name);
  if (!parsed) {
    return InvalidValue(
        "expected a table as \"schema.table\" (a name with a dot in quotes, as in SQL)");
  }
  table.schema = std::move(parsed->schema);
  table.name = std::move(parsed->name);
  return absl::OkStatus();
}

// Arguments may be secrets, such as a token for a vault.
std::string ShowCommand(const std::vector<std::string>& command) {
  return ToToml(command.size() < 2 ? command : std::vector<std::string>{command.front(), "***"});
}

std::string ShowTable(const Config& config) {
  const OutboxTable& table = config.source.tables.front();
  return TomlString(table.name.empty() ? "" : QualifiedName(table));
}

// A list is Kafka's usual form elsewhere, so the message says what to write.
absl::Status SetBrokers(Config& config, const RawValue& value) {
  const auto* list = std::get_if<std::vector<std::string>>(&value);
  return list == nullptr
             ? ParseInto(value, config.kafka.bootstrap_servers)
             : InvalidValue(fmt::format("expected one string with commas, \"{}\"",
                                        Printable(fmt::format("{}", fmt::join(*list, ",")), 200)));
}

// Three values in one option: which column is meant only matters for the third.
absl::Status SetTimestamp(Config& config, const RawValue& value) {
  std::string text;
  WR_RETURN_IF_ERROR(ParseInto(value, text));
  constexpr std::string_view kColumn = "column:";
  if (text == "commit") {
    config.route.timestamp = TimestampSource::kCommit;
  } else if (text == "now") {
    config.route.timestamp = TimestampSource::kNow;
  } else if (text.starts_with(kColumn) && text.size() > kColumn.size()) {
    config.route.timestamp = TimestampSource::kColumn;
    config.route.timestamp_column = text.substr(kColumn.size());
  } else {
    return InvalidValue("expected \"commit\", \"now\" or \"column:NAME\"");
  }
  return absl::OkStatus();
}

std::string ShowTimestamp(const Config& config) {
  switch (config.route.timestamp) {
    case TimestampSource::kCommit:
      return TomlString("commit");
    case TimestampSource::kNow:
      return TomlString("now");
    case TimestampSource::kColumn:
      break;
  }
  return TomlString("column:" + config.route.timestamp_column);
}

// Shorthands for the rows below: the member of Config that a section belongs to.
using enum OptionType;
constexpr auto kSource = &Config::source;
constexpr auto kRoute = &Config::route;
constexpr auto kFormat = &Config::format;
constexpr auto kOnError = &Config::on_error;
constexpr auto kKafka = &Config::kafka;
constexpr auto kOauth = &KafkaConfig::oauth;
constexpr auto kAws = &KafkaConfig::aws;
constexpr auto kPipeline = &Config::pipeline;
constexpr auto kPrune = &Config::prune;
constexpr auto kLog = &Config::log;

// Values of librdkafka, passed to it as they are.
constexpr std::string_view kCompressions[] = {"none", "lz4", "zstd", "gzip", "snappy"};
constexpr std::string_view kSecurityProtocols[] = {"PLAINTEXT", "SSL", "SASL_PLAINTEXT",
                                                   "SASL_SSL"};
constexpr std::string_view kSaslMechanisms[] = {"PLAIN",       "SCRAM-SHA-256", "SCRAM-SHA-512",
                                                "OAUTHBEARER", "AWS_MSK_IAM",   "GSSAPI"};

// The order is that of the reference, and sections are contiguous.
constexpr Option kOptions[] = {
    {"source",
     "dsn",
     kString,
     {},
     "The Postgres server: a libpq connection URI or string. With several hosts walrelay "
     "uses the one that is a primary, unless `target_session_attrs` says otherwise. `PG*` "
     "variables and `~/.pgpass` work as in psql. Connect to the server itself, not to a "
     "pooler.",
     [](Config& config, const RawValue& value) { return ParseInto(value, config.source.dsn); },
     [](const Config& config) { return TomlString(MaskedDsn(config.source.dsn)); }},
    Row<kSource, &SourceConfig::name>(
        "source", "name", kString,
        "The name of this database in metrics, logs, status and alerts, such as `orders-db`: "
        "letters, digits and `._-:/`. All instances on one slot must use the same name. Default: "
        "`host/database`, with the first host of the DSN, and its port if that is not 5432. A Unix "
        "socket and a loopback address count as the name of this machine; a service counts as its "
        "name."),
    Row<kSource, &SourceConfig::password>(
        "source", "password", kSecret,
        "The password. Prefer a file (`password_file`), `PGPASSWORD` or `~/.pgpass`."),
    Row<kSource, &SourceConfig::password_file>(
        "source", "password_file", kString,
        "A file that contains the password. Read again for each connection, so that a "
        "rotated password needs no restart. Must not be readable by other users."),
    {"source",
     "password_command",
     kList,
     {},
     "A program and its arguments, run without a shell before each connection: its standard "
     "output is the password. For passwords that expire, such as RDS and Cloud SQL IAM tokens "
     "([guide](guides/postgres-logins.md)). It may take `connect_timeout`. The program is found in "
     "the absolute folders of `PATH`.",
     [](Config& config, const RawValue& value) {
       return ParseInto(value, config.source.password_command);
     },
     [](const Config& config) { return ShowCommand(config.source.password_command); }},
    Row<kSource, &SourceConfig::slot>(
        "source", "slot", kString,
        "The replication slot: lower-case letters, digits and underscores. The slot is also "
        "the lock: a second instance on the same slot waits as a standby."),
    Row<kSource, &SourceConfig::publication>(
        "source", "publication", kString,
        "The publication of the outbox tables. It must be older than the slot."),
    {"source",
     "table",
     kString,
     {},
     "The outbox table, `schema.table`; a name that contains a dot in quotes, as in SQL "
     "(`public.\"my.outbox\"`). For several tables use `[[source.tables]]`, see "
     "below. `\"\"`: no table, if all events are logical messages.",
     SetTable,
     ShowTable},
    Row<kSource, &SourceConfig::message_prefixes>(
        "source", "message_prefixes", kList,
        "Prefixes of logical messages that are events (`pg_logical_emit_message(true, "
        "prefix, json)`), as globs. walrelay maps the members of a message like the columns "
        "of the first table. Requires Postgres 14. Empty: messages are not read. Stop the relay "
        "(SIGTERM) before you remove the last prefix: after a kill, a transaction of messages that "
        "was published and is not sent any more is missed, and held as a gap (WR-2204)."),
    ChoiceRow<kSource, &SourceConfig::origin>(
        "source", "origin",
        "Which transactions are events: of `any` origin, or those without one (`none`), which were "
        "written on this server and not applied by replication. With a relay at both ends of a "
        "bidirectional replication, `none` publishes each event once. `unset`: as `any`, but "
        "`walrelay doctor` warns where a subscription writes to an outbox table. `none` excludes "
        "`[prune]`."),
    ChoiceRow<kSource, &SourceConfig::on_update>(
        "source", "on_update",
        "What to do with an UPDATE of an outbox row, which is never an event. `ignore` "
        "counts it, `fail` blocks publishing."),
    ChoiceRow<kSource, &SourceConfig::missing_columns>(
        "source", "missing_columns",
        "What to do when a `[[source.placement]]` or `[[source.transform]]` names a missing "
        "column: `fail` blocks publishing at the table's next row, `ignore` omits the block."),
    Row<kSource, &SourceConfig::create_slot>(
        "source", "create_slot", kBoolean,
        "Let `walrelay run` create a missing slot at its first connection. Off by default: "
        "if the slot existed before, a missing slot means missing events. For a slot that "
        "survives a failover (Postgres 17 and later) use `walrelay setup --apply --failover`."),
    SizeRow<kSource, &SourceConfig::max_retained_wal, /*zero_is_none=*/true>(
        "source", "max_retained_wal",
        "Your own limit for the WAL that the slot retains on the primary's disk. Alerts and "
        "forecasts use this limit or the server's `max_slot_wal_keep_size`, whichever is "
        "reached first. `\"0\"`: only the server's limit."),
    ChoiceRow<kSource, &SourceConfig::on_retained_limit>(
        "source", "on_retained_limit",
        "What to do when the slot retains `max_retained_wal`. `alert` reports it and does "
        "not drop the slot. `drop_slot` drops the slot to protect the primary's disk, which is a "
        "gap (`on_gap`): events that were not published by then have to be sent again from the "
        "table. The cause makes no difference: an unavailable Kafka, a stopped relay, a backlog "
        "that walrelay is catching up with, a transaction left open."),
    ChoiceRow<kSource, &SourceConfig::on_gap>(
        "source", "on_gap",
        "What to do when events may be missing (the slot was advanced, recreated or "
        "invalidated, the server was restored, the publication changed). `hold` keeps the "
        "process running and reports the range: walrelay is not ready and publishes nothing "
        "until `walrelay resume --accept-gap`. `exit` exits with code 4."),
    SizeRow<kSource, &SourceConfig::decoding_memory, /*zero_is_none=*/true>(
        "source", "decoding_memory",
        "`logical_decoding_work_mem` of the replication session: how much memory the server "
        "may use to decode transactions before it spills them to disk. `\"0\"`: the server's "
        "setting. Raise it if `walrelay doctor` reports spilled transactions; each reader of "
        "a slot may use that much."),
    Row<kSource, &SourceConfig::wait_visible>(
        "source", "wait_visible", kBoolean,
        "Publish a transaction only after other sessions on the primary can see it. Postgres "
        "sends a commit after its WAL flush, which is before the commit becomes visible and "
        "before synchronous standbys confirm it. Costs one query per burst on a separate "
        "connection."),
    Row<kSource, &SourceConfig::binary>(
        "source", "binary", kBoolean,
        "Request values from Postgres (14 and later) in binary form. Required for bytea "
        "payloads of hundreds of megabytes, which Postgres cannot send as text."),
    Row<kSource, &SourceConfig::connect_timeout>(
        "source", "connect_timeout", kDuration,
        "Timeout of one connection attempt to a host. All hosts and the checks before the "
        "stream together take at most 25 seconds."),
    Row<kSource, &SourceConfig::wal_sender_timeout>(
        "source", "wal_sender_timeout", kDuration,
        "`wal_sender_timeout` of the replication session: how long the server waits for a "
        "silent relay before it releases the slot for a standby. `\"0\"`: the server's "
        "setting."),
    Row<kSource, &SourceConfig::allow_insecure>(
        "source", "allow_insecure", kBoolean,
        "Allow a connection to another host without verified TLS (`sslmode` below `verify-full`, "
        "the default, which requires `sslrootcert`)."),

    ColumnRow<&ColumnNames::id>("id", "Header `id`. Default: `id`. `\"\"`: none."),
    ColumnRow<&ColumnNames::aggregate_type>(
        "aggregate_type",
        "The value that selects the topic. Default: `aggregate_type`, else Debezium's "
        "`aggregatetype`."),
    ColumnRow<&ColumnNames::aggregate_id>(
        "aggregate_id",
        "The record's key. Default: `aggregate_id`, else Debezium's `aggregateid`."),
    ColumnRow<&ColumnNames::event_type>(
        "event_type",
        "Header `event_type`. Default: `event_type`, else Debezium's `type`, else none."),
    ColumnRow<&ColumnNames::payload>("payload",
                                     "The record's value, byte for byte. Default: `payload`."),
    ColumnRow<&ColumnNames::trace_id>(
        "trace_id", "Header `trace_id`. Default: `trace_id` where the column exists."),
    ColumnRow<&ColumnNames::traceparent>(
        "traceparent",
        "W3C trace context, header `traceparent`; no header for NULL. Default: `traceparent` "
        "where the column exists."),
    ColumnRow<&ColumnNames::tracestate>("tracestate", "Likewise, header `tracestate`."),
    ColumnRow<&ColumnNames::span_context>(
        "span_context",
        "Debezium's span context: the text of java.util.Properties, whose `traceparent` and "
        "`tracestate` become headers. Default: `tracingspancontext` where the column exists."),
    ColumnRow<&ColumnNames::version>(
        "version", "An int4 column with the version of the envelope's schema. Default: none."),

    Row<kRoute, &RouteConfig::topic>(
        "route", "topic", kString,
        "The topic, built from the match of `regex`: `${name}` and `$1` stand for its "
        "groups, `\\` escapes."),
    Row<kRoute, &RouteConfig::regex>(
        "route", "regex", kString,
        "Must match the whole aggregate type; a value that does not match is used as the "
        "topic. Java's syntax as far as RE2 supports it: no look-around, no back references."),
    Row<kRoute, &RouteConfig::allow>(
        "route", "allow", kList,
        "Topics that rows may be published to, as globs (`outbox.event.*`). Empty: all. Set "
        "it if you do not trust the writers of rows with every topic that walrelay may write."),
    Row<kRoute, &RouteConfig::max_topics>(
        "route", "max_topics", kInteger,
        "How many topics rows may name during the life of the process; a row with a further "
        "topic cannot be routed."),
    {"route",
     "timestamp",
     kString,
     {},
     "The record's timestamp: `\"commit\"` (commit time of the transaction), `\"now\"` (the time "
     "of publishing: Kafka keeps the record for the whole `retention.ms` of its topic, however "
     "long the event waited), or `\"column:NAME\"` (timestamptz, timestamp as UTC, or bigint "
     "milliseconds; NULL falls back to the commit time).",
     SetTimestamp,
     ShowTimestamp},
    Row<kRoute, &RouteConfig::commit_time_header>(
        "route", "commit_time_header", kString,
        "The name of a header with the commit time of the transaction, as text in RFC 3339 "
        "(`2026-11-25T23:00:00.000000Z`), behind all others. Empty: none, as Debezium. Useful with "
        "`route.timestamp = \"now\"`, and with topics that set a record's time themselves "
        "(`message.timestamp.type=LogAppendTime`). A record whose commit time is not known, of "
        "`republish` or `recover` without `track_commit_timestamp`, does not have it."),
    Row<kRoute, &RouteConfig::tombstone_on_empty>(
        "route", "tombstone_on_empty", kBoolean,
        "An empty or blank payload becomes a tombstone, as NULL does; an empty bytea does "
        "not."),
    ChoiceRow<kRoute, &RouteConfig::compatibility>(
        "route", "compatibility",
        "Which rules apply where walrelay and Debezium's EventRouter differ. `debezium`: a "
        "row with a NULL key is published; the aggregate type must be text, the partition "
        "int4, the timestamp a `timestamp` (infinity is published as its number, for NULL "
        "the producer sets the timestamp)."),

    FormatRow<&FormatConfig::key, &PartFormat::format>(
        "key",
        "How the key column is converted to bytes. `raw`: unchanged. The others produce the "
        "same bytes as Connect's converters: `string` (StringConverter), `json` and "
        "`json_schema` (JsonConverter without and with schemas), `bytes` "
        "(ByteArrayConverter). They represent types, and a default in place of NULL, as "
        "Debezium does."),
    FormatRow<&FormatConfig::key, &PartFormat::delegate>(
        "key_delegate",
        "With `key = \"bytes\"`, the format of columns that are not bytea "
        "(BinaryDataConverter's delegate)."),
    FormatRow<&FormatConfig::value, &PartFormat::format>(
        "value", "The same for the value. An envelope requires `json` or `json_schema`."),
    FormatRow<&FormatConfig::value, &PartFormat::delegate>(
        "value_delegate", "With `value = \"bytes\"`, the format of columns that are not bytea."),
    ChoiceRow<kFormat, &FormatConfig::headers>(
        "format", "headers",
        "`raw`: columns unchanged. `simple`: columns as Connect's SimpleHeaderConverter "
        "writes them."),
    Row<kFormat, &FormatConfig::expand_json>(
        "format", "expand_json", kBoolean,
        "A text payload that is a JSON object becomes a value with members instead of a string "
        "(Debezium's `table.expand.json.payload`)."),
    ChoiceRow<kFormat, &FormatConfig::json_nulls>(
        "format", "json_nulls", "How null members are represented by `expand_json`."),
    ChoiceRow<kFormat, &FormatConfig::json_empty_arrays>(
        "format", "json_empty_arrays", "How `[]` members are represented by `expand_json`."),
    ChoiceRow<kFormat, &FormatConfig::message_nulls>(
        "format", "message_nulls",
        "Null members of a logical message: `ignore` treats them as absent (Debezium's "
        "`fields.null.include = false`), `optional_bytes` as NULL."),
    FormatRow<&FormatConfig::types, &TypeModes::decimal>(
        "decimal",
        "How Connect's formats represent numeric (Debezium's `decimal.handling.mode`). `precise`: "
        "as Decimal; `double`: as a double, which may lose digits; `string`: as text."),
    FormatRow<&FormatConfig::types, &TypeModes::time>(
        "time",
        "How they represent date, time and timestamp without time zone (Debezium's "
        "`time.precision.mode`). `adaptive`: in milliseconds up to a declared precision of 3, "
        "otherwise in microseconds; `adaptive_time_microseconds`: the same, but time always in "
        "microseconds; `connect`: Connect's types, in milliseconds; `isostring`: ISO 8601; "
        "`microseconds`; `nanoseconds`; `structured`: as a struct of year, month and so on, also "
        "types with a time zone and intervals."),
    FormatRow<&FormatConfig::types, &TypeModes::binary>(
        "binary",
        "How they represent bytea (Debezium's `binary.handling.mode`): as bytes, or as text in "
        "`base64`, `base64_url_safe` or `hex`."),
    FormatRow<&FormatConfig::types, &TypeModes::interval>(
        "interval",
        "How they represent interval (Debezium's `interval.handling.mode`). `numeric`: in "
        "microseconds, a month as 30.4375 days; `string`: as `P1Y2M3DT4H5M6.78S`."),
    FormatRow<&FormatConfig::types, &TypeModes::hstore>(
        "hstore",
        "How they represent hstore (Debezium's `hstore.handling.mode`): as the text of a JSON "
        "object, or as a map."),
    FormatRow<&FormatConfig::types, &TypeModes::unknown>(
        "unknown_types",
        "A column of a type that Debezium does not know. `reject`: it blocks publishing; `bytes`: "
        "its text, represented like bytea (Debezium's `include.unknown.datatypes`)."),
    FormatRow<&FormatConfig::types, &TypeModes::version>(
        "debezium_version",
        "The version of Debezium whose bytes are published where versions differ: in infinite "
        "dates, defaults with quotes, geometric types and a few others "
        "(docs/reference/debezium-parity.md)."),
    Row<kFormat, &FormatConfig::schema_prefix>(
        "format", "schema_prefix", kString,
        "Prefix of the schema names of envelopes (Debezium's `topic.prefix`), as in "
        "`PREFIX.public.outbox.order.Value`."),
    Row<kFormat, &FormatConfig::context_headers>(
        "format", "context_headers", kBoolean,
        "Add Debezium's `__debezium.context.*` headers before the others: "
        "connectorLogicalName (`schema_prefix`), taskId, connectorName, runId."),

    ChoiceRow<kOnError, &ErrorPolicy::null_route>("on_error", "null_route",
                                                  "A row without an aggregate type."),
    ChoiceRow<kOnError, &ErrorPolicy::null_key>("on_error", "null_key",
                                                "A row without an aggregate id."),
    ChoiceRow<kOnError, &ErrorPolicy::topic>(
        "on_error", "topic",
        "A row whose topic is invalid, not allowed by `route.allow`, or beyond "
        "`route.max_topics`."),
    ChoiceRow<kOnError, &ErrorPolicy::too_large>(
        "on_error", "too_large",
        "A row whose record is larger than `kafka.max_record_bytes`, or larger than its "
        "topic accepts."),
    ChoiceRow<kOnError, &ErrorPolicy::value>(
        "on_error", "value", "A row with an invalid partition, timestamp or bytes."),
    ChoiceRow<kOnError, &ErrorPolicy::refused>(
        "on_error", "refused",
        "A row whose record the brokers reject because of its content: it has no key and its topic "
        "is compacted, or its time comes from its own column (`route.timestamp`). Refusals that "
        "other rows would meet as well block publishing: WR-4030, WR-4031. (For a record that is "
        "too large for its topic: `too_large`.)"),
    Row<kOnError, &ErrorPolicy::dead_letter_topic>(
        "on_error", "dead_letter_topic", kString,
        "Topic for rows under `dead_letter`. A record holds the whole row (only the "
        "beginning of each value if the row is too large) and the reason, as "
        "`proto/walrelay/events/v1/dead_letter.proto`. Its acknowledgement counts like any "
        "other."),

    {"kafka",
     "bootstrap_servers",
     kString,
     {},
     "Bootstrap brokers: `host:port,host:port`.",
     SetBrokers,
     [](const Config& config) { return ToToml(config.kafka.bootstrap_servers); }},
    Row<kKafka, &KafkaConfig::client_id>("kafka", "client_id", kString, "The Kafka `client.id`."),
    Row<kKafka, &KafkaConfig::compression>("kafka", "compression", kChoice,
                                           "Compression of record batches.", kCompressions),
    SizeRow<kKafka, &KafkaConfig::max_record_bytes>(
        "kafka", "max_record_bytes",
        "The largest record to send; at most the topics' `max.message.bytes`."),
    SizeRow<kKafka, &KafkaConfig::max_batch_bytes>(
        "kafka", "max_batch_bytes",
        "The largest batch of records. Brokers compare a topic's `max.message.bytes` with "
        "the batch; if a broker rejects a batch, walrelay automatically continues with "
        "smaller ones."),
    Row<kKafka, &KafkaConfig::security_protocol>(
        "kafka", "security_protocol", kChoice, "Security protocol for connections to the brokers.",
        kSecurityProtocols),
    Row<kKafka, &KafkaConfig::sasl_mechanism>(
        "kafka", "sasl_mechanism", kChoice,
        "How to log in to the brokers. Required with a security protocol `SASL_…`. `OAUTHBEARER` "
        "is "
        "configured in `[kafka.oauth]`, `AWS_MSK_IAM` in `[kafka.aws]`; [a "
        "guide](guides/kafka-logins.md) has an example of each.",
        kSaslMechanisms),
    Row<kKafka, &KafkaConfig::sasl_username>("kafka", "sasl_username", kString, "The user."),
    Row<kKafka, &KafkaConfig::sasl_password>("kafka", "sasl_password", kSecret,
                                             "The password. Prefer a file."),
    Row<kKafka, &KafkaConfig::sasl_password_file>(
        "kafka", "sasl_password_file", kString,
        "A file that contains the password. Read again every two seconds: a rotated password "
        "needs no restart. Must not be readable by other users."),
    Row<kKafka, &KafkaConfig::ssl_ca_file>(
        "kafka", "ssl_ca_file", kString,
        "Certificates of the authorities to trust (PEM). Default: the system's. When this "
        "file or one of the files below changes, walrelay continues with a new producer, "
        "without a restart."),
    Row<kKafka, &KafkaConfig::ssl_certificate_file>(
        "kafka", "ssl_certificate_file", kString,
        "The client's certificate chain (PEM), for mutual TLS."),
    Row<kKafka, &KafkaConfig::ssl_key_file>("kafka", "ssl_key_file", kString,
                                            "The client's private key (PEM)."),
    Row<kKafka, &KafkaConfig::ssl_key_password>("kafka", "ssl_key_password", kSecret,
                                                "The password of the private key. Prefer a file."),
    Row<kKafka, &KafkaConfig::ssl_key_password_file>(
        "kafka", "ssl_key_password_file", kString,
        "A file that contains the password of the private key. Must not be readable by other "
        "users."),
    Row<kKafka, &KafkaConfig::allow_insecure>("kafka", "allow_insecure", kBoolean,
                                              "Allow brokers on another host without TLS."),
    Row<kKafka, &KafkaConfig::progress_topic>(
        "kafka", "progress_topic", kString,
        "The topic for `pipeline.progress`: one partition, compacted. walrelay creates it if it "
        "does not exist. Default: `walrelay.progress.<pipeline.id>`."),
    Row<kKafka, &KafkaConfig::transaction_timeout>(
        "kafka", "transaction_timeout", kDuration,
        "With `pipeline.mode = \"exactly_once\"`: brokers abort a transaction that is open for "
        "longer, for example of a relay that was killed and not restarted. Consumers wait that "
        "long "
        "for the records behind it. Limited by the brokers' `transaction.max.timeout.ms`."),

    PartRow<kKafka, kOauth, &OauthConfig::token_file>(
        "kafka.oauth", "token_file", kString,
        "A file that contains a token. Read again every two seconds. Must not be readable by other "
        "users. With `sasl_mechanism = \"OAUTHBEARER\"`, set exactly one of `token_file`, "
        "`token_command` and `token_endpoint`."),
    {"kafka.oauth",
     "token_command",
     kList,
     {},
     "A program and its arguments, run without a shell: it prints a token, or a JSON object with "
     "`access_token` and `expires_in`. Run again when 80 % of the token's lifetime has passed.",
     [](Config& config, const RawValue& value) {
       return ParseInto(value, config.kafka.oauth.token_command);
     },
     [](const Config& config) { return ShowCommand(config.kafka.oauth.token_command); }},
    PartRow<kKafka, kOauth, &OauthConfig::token_endpoint>(
        "kafka.oauth", "token_endpoint", kString,
        "The `https` URL of an OIDC provider's token endpoint: walrelay requests tokens with the "
        "client credentials grant."),
    PartRow<kKafka, kOauth, &OauthConfig::token_endpoint_ca_file>(
        "kafka.oauth", "token_endpoint_ca_file", kString,
        "Certificates of the authorities to trust for the token endpoint (PEM). Default: the "
        "system's."),
    PartRow<kKafka, kOauth, &OauthConfig::client_id>("kafka.oauth", "client_id", kString,
                                                     "The client at the token endpoint."),
    PartRow<kKafka, kOauth, &OauthConfig::client_secret>("kafka.oauth", "client_secret", kSecret,
                                                         "Its secret. Prefer a file."),
    PartRow<kKafka, kOauth, &OauthConfig::client_secret_file>(
        "kafka.oauth", "client_secret_file", kString,
        "A file that contains the secret. Read again for each token. Must not be readable by other "
        "users."),
    PartRow<kKafka, kOauth, &OauthConfig::scope>("kafka.oauth", "scope", kString,
                                                 "The scope to request from the token endpoint."),
    PartRow<kKafka, kOauth, &OauthConfig::extensions>(
        "kafka.oauth", "extensions", kList,
        "SASL extensions as `name=value`, such as Confluent Cloud's `logicalCluster=lkc-1` and "
        "`identityPoolId=pool-1`."),
    PartRow<kKafka, kOauth, &OauthConfig::token_lifetime>(
        "kafka.oauth", "token_lifetime", kDuration,
        "How long a token is valid that does not state it, neither as a JWT nor by `expires_in`."),
    PartRow<kKafka, kOauth, &OauthConfig::timeout>(
        "kafka.oauth", "timeout", kDuration,
        "Timeout of one run of the command, or of one request for a token or for AWS credentials."),

    PartRow<kKafka, kAws, &AwsConfig::region>(
        "kafka.aws", "region", kString,
        "The region of the MSK brokers. Default: from the first broker's name, else `AWS_REGION`, "
        "else `AWS_DEFAULT_REGION`."),
    PartRow<kKafka, kAws, &AwsConfig::role_arn>(
        "kafka.aws", "role_arn", kString,
        "A role to assume with the credentials of this process. Default: none."),
    PartRow<kKafka, kAws, &AwsConfig::role_session_name>("kafka.aws", "role_session_name", kString,
                                                         "The name of the role's session."),

    {"kafka.topics", "create", kChoice, kChoiceNames<CreateTopics>,
     "Who creates a missing topic before its first record. `never`: walrelay does not; brokers "
     "with `auto.create.topics.enable` do, with their own defaults. `check`: no topic is created, "
     "also not by the brokers; publishing is blocked until an operator creates it. `create`: "
     "walrelay creates it, as `[[kafka.topics.rules]]` say.",
     [](Config& config, const RawValue& value) {
       return ParseInto(value, config.kafka.topics.create);
     },
     [](const Config& config) { return ToToml(config.kafka.topics.create); }},

    Row<kPipeline, &PipelineConfig::id>(
        "pipeline", "id", kString,
        "The name of the pipeline in Kafka. Must be unique in the Kafka cluster, and the same for "
        "the instances of a pipeline. Default: `<database>.<slot>`."),
    ChoiceRow<kPipeline, &PipelineConfig::mode>(
        "pipeline", "mode",
        "What consumers see after a failure (docs/delivery.md). `slot`: at least once; publishing "
        "continues at the slot's confirmed position, and events published since are published "
        "again. `topics`: at least once; each record carries its position in the header `wr-pos`, "
        "and events that a partition already has are not sent again (docs/guides/progress.md). "
        "`exactly_once`: events are published in Kafka transactions, together with the record of "
        "progress; consumers with `isolation.level=read_committed` see each event once "
        "(docs/guides/exactly-once.md)."),
    ChoiceRow<kPipeline, &PipelineConfig::progress>(
        "pipeline", "progress",
        "Whether walrelay records in `kafka.progress_topic` what is published, and confirms the "
        "slot only up to that. With the record, it also notices after a restart that the server "
        "was restored, or that the slot was advanced or recreated (docs/guides/progress.md). "
        "`auto`: as the mode needs it: with `slot`, if the user may use the topic, otherwise a "
        "warning is logged; with `topics` and `exactly_once`, as `required`. `required`: nothing "
        "is published without the record. `off` is valid with `mode = \"slot\"` only."),
    Row<kPipeline, &PipelineConfig::atomic_rows>(
        "pipeline", "atomic_rows", kInteger,
        "With `mode = \"exactly_once\"`: the events of a database transaction with up to this "
        "many rows become visible to consumers together, unless it exceeds the limits for records "
        "in flight, or its publishing is interrupted."),
    Row<kPipeline, &PipelineConfig::max_in_flight_records>(
        "pipeline", "max_in_flight_records", kInteger,
        "Limit for records handed to Kafka and not yet acknowledged. At the limit, walrelay "
        "stops reading from Postgres and continues to send status updates."),
    SizeRow<kPipeline, &PipelineConfig::max_in_flight_bytes>(
        "pipeline", "max_in_flight_bytes",
        "Limit for the keys, values and headers of records in flight, plus 512 bytes per "
        "record; one record may always be in flight. Determines the memory of the process."),
    Row<kPipeline, &PipelineConfig::linger>(
        "pipeline", "linger", kDuration,
        "While more than 2,500 rows a second arrive, records are sent at this interval: fewer "
        "requests, which cost walrelay and the brokers less CPU time. `0ms`: send them as soon as "
        "the earlier ones are acknowledged. No effect with `mode = \"exactly_once\"`."),
    Row<kPipeline, &PipelineConfig::confirm_interval>(
        "pipeline", "confirm_interval", kDuration,
        "How often progress is confirmed to Postgres; a crash repeats at most this much."),
    Row<kPipeline, &PipelineConfig::drain_timeout>(
        "pipeline", "drain_timeout", kDuration,
        "How long a shutdown (SIGTERM) waits for acknowledgements. Keep it below the "
        "supervisor's timeout (Kubernetes: 30 s)."),

    ChoiceRow<kPrune, &PruneConfig::mode>(
        "prune", "mode",
        "What to do with rows of the outbox tables that are proven to be published and older than "
        "`keep`: `delete` them, `mark` them in `mark_column` (docs/guides/pruning.md), or `drop` "
        "the "
        "partitions that have only such rows, and create partitions ahead "
        "(docs/guides/partitioning.md). Rows for which there is no proof are kept, however old. "
        "Requires `pipeline.progress`, and a role that may do so."),
    Row<kPrune, &PruneConfig::keep>("prune", "keep", kDuration,
                                    "The age up to which published rows are kept."),
    Row<kPrune, &PruneConfig::interval>("prune", "interval", kDuration,
                                        "The time between two passes over the tables."),
    Row<kPrune, &PruneConfig::batch_rows>(
        "prune", "batch_rows", kInteger,
        "About how many rows one statement deletes or marks, in a transaction of its own."),
    Row<kPrune, &PruneConfig::max_rows_per_second>(
        "prune", "max_rows_per_second", kInteger,
        "Limit for the rows that are deleted or marked, and for the pages that are read."),
    Row<kPrune, &PruneConfig::time_column>(
        "prune", "time_column", kString,
        "The column with the time when a row was inserted: timestamptz, or timestamp in UTC. Its "
        "default should be `now()`."),
    Row<kPrune, &PruneConfig::mark_column>(
        "prune", "mark_column", kString,
        "With `mode = \"mark\"`: the column to set. A timestamp is set to `now()` where it is "
        "NULL, a boolean to true where it is not."),
    ChoiceRow<kPrune, &PruneConfig::partitions>(
        "prune", "partitions",
        "With `mode = \"drop\"`: the time that one new partition covers, in UTC."),
    Row<kPrune, &PruneConfig::partitions_ahead>(
        "prune", "partitions_ahead", kInteger,
        "With `mode = \"drop\"`: how many partitions to create ahead of the present one. Enough "
        "for "
        "a weekend, during which walrelay may be down: 96 with hourly partitions."),
    {"prune",
     "dsn",
     kString,
     {},
     "Another login for pruning, with the privilege to delete or update; the same database. "
     "Default: `source.dsn`.",
     [](Config& config, const RawValue& value) { return ParseInto(value, config.prune.dsn); },
     [](const Config& config) { return TomlString(MaskedDsn(config.prune.dsn)); }},
    Row<kPrune, &PruneConfig::password_file>("prune", "password_file", kString,
                                             "The file with the password for `prune.dsn`."),

    Row<&Config::http, &HttpConfig::listen>(
        "http", "listen", kString,
        "`address:port` for `/status`, `/livez`, `/readyz` and `/metrics`; `\"\"`: no HTTP "
        "server. GET only, no secrets, no TLS: keep it on loopback or inside the pod."),
    Row<&Config::metrics, &MetricsConfig::slot_poll_interval>(
        "metrics", "slot_poll_interval", kDuration,
        "How often walrelay polls the slot, over a separate connection."),
    Row<&Config::metrics, &MetricsConfig::table_count_interval>(
        "metrics", "table_count_interval", kDuration,
        "How often walrelay counts the rows of the outbox tables, for which the role needs "
        "`SELECT`; `\"0s\"`: never. A count takes a second at most; one that takes long makes the "
        "next one later (docs/monitoring.md)."),
    Row<&Config::metrics, &MetricsConfig::max_topics>(
        "metrics", "max_topics", kInteger,
        "Maximum number of topics with a separate series; further topics are counted as "
        "`__other__`."),
    ChoiceRow<kLog, &LogConfig::level>("log", "level", "Minimum log level."),
    ChoiceRow<kLog, &LogConfig::format>("log", "format",
                                        "`auto`: text on a terminal, JSON lines otherwise."),
};

}  // namespace

bool HoldsSecret(const Option& option) {
  return option.type == OptionType::kSecret || option.key == "dsn";
}

std::string Option::Name() const {
  return fmt::format("{}.{}", section, key);
}

// Names of options have ASCII letters only; the process runs in the C locale.
std::string VariableOf(const Option& option) {
  std::string variable = "WALRELAY_";
  for (const char c : option.Name()) {
    variable += c == '.' ? "__" : std::string(1, static_cast<char>(std::toupper(c)));
  }
  return variable;
}

std::span<const Option> Options() {
  return kOptions;
}

const Option* FindOption(std::string_view section, std::string_view key) {
  const auto* found = std::find_if(
      std::begin(kOptions), std::end(kOptions),
      [&](const Option& option) { return option.section == section && option.key == key; });
  return found == std::end(kOptions) ? nullptr : found;
}

// Errs on the side of masking: a property that is not secret may be hidden, never the reverse.
bool IsSecretProperty(std::string_view property) {
  // Parts of property names. ".pem" properties hold the key itself, not a path; oauthbearer.config
  // may hold a token.
  constexpr std::string_view kSecrets[] = {"password", "passphrase", "secret", ".pem",
                                           "oauthbearer.config"};
  return std::any_of(std::begin(kSecrets), std::end(kSecrets), [&](std::string_view part) {
    return property.find(part) != std::string_view::npos;
  });
}

const Option* FindOption(std::string_view name) {
  // The last dot, because a section may contain one: "source.columns.id".
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? nullptr
                                       : FindOption(name.substr(0, dot), name.substr(dot + 1));
}

}  // namespace walrelay
