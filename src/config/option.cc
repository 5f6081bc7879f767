#include "config/option.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "config/masked_dsn.h"
#include "config/option_rows.h"

namespace walrelay {
namespace {

absl::Status SetTable(Config& config, const RawValue& value) {
  std::string name;
  WR_RETURN_IF_ERROR(Take(value, name));
  const size_t dot = name.find('.');
  OutboxTable& table = config.source.tables.front();
  table.schema = dot == std::string::npos ? "public" : name.substr(0, dot);
  table.name = dot == std::string::npos ? name : name.substr(dot + 1);
  if (name.empty()) {
    table.schema.clear();
    return absl::OkStatus();  // none: messages alone
  }
  return table.schema.empty() || table.name.empty() ? Wrong("a table is written \"schema.table\"")
                                                    : absl::OkStatus();
}

std::string ShowTable(const Config& config) {
  const OutboxTable& table = config.source.tables.front();
  return TomlString(table.name.empty() ? "" : fmt::format("{}.{}", table.schema, table.name));
}

absl::Status SetTimestamp(Config& config, const RawValue& value) {
  std::string text;
  WR_RETURN_IF_ERROR(Take(value, text));
  constexpr std::string_view kColumn = "column:";
  if (text == "commit") {
    config.route.timestamp = TimestampSource::kCommit;
  } else if (text == "now") {
    config.route.timestamp = TimestampSource::kNow;
  } else if (text.starts_with(kColumn) && text.size() > kColumn.size()) {
    config.route.timestamp = TimestampSource::kColumn;
    config.route.timestamp_column = text.substr(kColumn.size());
  } else {
    return Wrong("\"commit\", \"now\" or \"column:NAME\" is wanted");
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

using enum OptionType;
constexpr auto kSource = &Config::source;
constexpr auto kRoute = &Config::route;
constexpr auto kFormat = &Config::format;
constexpr auto kOnError = &Config::on_error;
constexpr auto kKafka = &Config::kafka;
constexpr auto kPipeline = &Config::pipeline;

constexpr Option kOptions[] = {
    {"source",
     "dsn",
     kString,
     {},
     "Where Postgres is: a libpq connection URI or string. Of several hosts the first one that is "
     "a "
     "primary is used, unless `target_session_attrs` says otherwise. `PG*` variables and "
     "`~/.pgpass` work as with psql. Connect to the server itself, not to a pooler.",
     [](Config& config, const RawValue& value) { return Take(value, config.source.dsn); },
     [](const Config& config) { return TomlString(MaskedDsn(config.source.dsn)); }},
    Row<kSource, &SourceConfig::password>(
        "source", "password", kSecret,
        "The password. Better in a file (`password_file`), in `PGPASSWORD` or in `~/.pgpass`."),
    Row<kSource, &SourceConfig::password_file>("source", "password_file", kString,
                                               "A file that holds the password. Read again at each "
                                               "connection, so that a rotated password needs no "
                                               "restart. Must not be readable by others."),
    Row<kSource, &SourceConfig::slot>("source", "slot", kString,
                                      "The replication slot: lower-case letters, digits and "
                                      "underscores. It is also the lock: a second "
                                      "instance on the same slot waits as a standby."),
    Row<kSource, &SourceConfig::publication>(
        "source", "publication", kString,
        "The publication that holds the outbox tables. It must be older than the slot."),
    {"source",
     "table",
     kString,
     {},
     "The outbox table, `schema.table`. Several: `[[source.tables]]`, see below. `\"\"`: none, "
     "where events are messages alone.",
     SetTable,
     ShowTable},
    Row<kSource, &SourceConfig::message_prefixes>(
        "source", "message_prefixes", kList,
        "Prefixes of logical messages that are events (`pg_logical_emit_message(true, prefix, "
        "json)`), as globs. Their members are mapped as the first table's columns are. Needs "
        "Postgres 14. Empty: messages are not read."),
    ChoiceRow<kSource, &SourceConfig::on_update>(
        "source", "on_update",
        "What an UPDATE of an outbox row does: it is never an "
        "event. `ignore` counts it, `fail` stops the "
        "line."),
    ChoiceRow<kSource, &SourceConfig::missing_columns>(
        "source", "missing_columns",
        "What a `[[source.placement]]` does whose column the table does not have: `fail` stops the "
        "line at the table's next row, `ignore` leaves it out."),
    Row<kSource, &SourceConfig::create_slot>(
        "source", "create_slot", kBoolean,
        "Let `walrelay run` create the slot at its first connection when there is none. Off by "
        "default: a "
        "slot that is missing where there has been one means missing events. For a slot that "
        "survives a failover (Postgres 17 and later) use `walrelay setup --apply --failover`."),
    SizeRow<kSource, &SourceConfig::max_retained_wal, /*zero_is_none=*/true>(
        "source", "max_retained_wal",
        "How much log the slot may keep on the primary's disk, as far as you are concerned: alarms "
        "and forecasts go by this or by the server's `max_slot_wal_keep_size`, whichever is "
        "reached first. `\"0\"`: by the server's alone."),
    ChoiceRow<kSource, &SourceConfig::on_retained_limit>(
        "source", "on_retained_limit",
        "What happens when the slot keeps `max_retained_wal`. `alert` says so and drops nothing. "
        "`drop_slot` drops the slot, so that the primary's disk lives, and ends with exit code 4: "
        "events that were not published by then have to be sent again from the table. It does so "
        "whatever the reason: Kafka that is away, a relay that was stopped, a backlog that is "
        "being worked off, a transaction that is left open."),
    ChoiceRow<kSource, &SourceConfig::on_gap>(
        "source", "on_gap",
        "What happens when events may be missing (the slot was advanced, recreated or lost, the "
        "server was restored, the publication changed). `hold` keeps the process running, "
        "publishes nothing, is not ready, and reports the range until `walrelay resume "
        "--accept-gap`. `exit` ends with code 4."),
    SizeRow<kSource, &SourceConfig::decoding_memory, /*zero_is_none=*/true>(
        "source", "decoding_memory",
        "`logical_decoding_work_mem` of the replication session: how much memory the server may "
        "use to decode transactions before it spills them to its disk. `\"0\"`: the server's "
        "setting. Raise it where `walrelay doctor` reports spilled transactions; each reader of a "
        "slot "
        "may use that much."),
    Row<kSource, &SourceConfig::wait_visible>(
        "source", "wait_visible", kBoolean,
        "Publish a transaction only when other sessions on the primary can see it. Postgres sends "
        "a commit after its WAL flush, which is before it becomes visible and before synchronous "
        "standbys confirm it. Costs one query per burst on a connection of its own."),
    Row<kSource, &SourceConfig::binary>("source", "binary", kBoolean,
                                        "Ask Postgres (14 and later) for values in binary form. "
                                        "Needed for bytea payloads of hundreds of "
                                        "megabytes, which Postgres cannot send as text."),
    Row<kSource, &SourceConfig::connect_timeout>("source", "connect_timeout", kDuration,
                                                 "How long one attempt to connect to a host may "
                                                 "take. All hosts and the checks before the stream "
                                                 "together take 25 seconds at most."),
    Row<kSource, &SourceConfig::wal_sender_timeout>(
        "source", "wal_sender_timeout", kDuration,
        "Set for the replication session: how long the server waits for a relay that is gone "
        "before it frees "
        "the slot for a standby. `\"0\"` keeps what the server has."),
    Row<kSource, &SourceConfig::allow_insecure>(
        "source", "allow_insecure", kBoolean,
        "Allow a connection to another host without verified TLS (`sslmode` below `verify-full`)."),

    ColumnRow<&ColumnNames::id>("id", "Header `id`. Default: `id`. `\"\"`: none."),
    ColumnRow<&ColumnNames::aggregate_type>(
        "aggregate_type",
        "What the topic is made of. Default: `aggregate_type`, else Debezium's `aggregatetype`."),
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
        "W3C trace context, header `traceparent`; none where it is NULL. Default: `traceparent` "
        "where the column exists."),
    ColumnRow<&ColumnNames::tracestate>("tracestate", "Likewise, header `tracestate`."),
    ColumnRow<&ColumnNames::span_context>(
        "span_context",
        "Debezium's: the text of java.util.Properties, of which `traceparent` and `tracestate` "
        "become headers. Default: `tracingspancontext` where the column exists."),
    ColumnRow<&ColumnNames::version>(
        "version", "An int4 column that is the version of the envelope's schema. Default: none."),

    Row<kRoute, &RouteConfig::topic>("route", "topic", kString,
                                     "The topic, made from what `regex` found: `${name}` and `$1` "
                                     "stand for its groups, `\\` escapes."),
    Row<kRoute, &RouteConfig::regex>("route", "regex", kString,
                                     "Must match the whole aggregate type; one that does not match "
                                     "is itself the topic. Java's syntax as "
                                     "far as RE2 has it: no look-around, no back references."),
    Row<kRoute, &RouteConfig::allow>(
        "route", "allow", kList,
        "Topics that rows may reach, as globs (`outbox.event.*`). Empty: all. Set it where the "
        "writers of "
        "rows are not trusted with every topic that walrelay may write."),
    Row<kRoute, &RouteConfig::max_topics>("route", "max_topics", kInteger,
                                          "How many topics rows may name in the life of the "
                                          "process; the next one is a row that cannot be "
                                          "routed."),
    {"route",
     "timestamp",
     kString,
     {},
     "The record's timestamp: `\"commit\"` (of the transaction), `\"now\"`, or `\"column:NAME\"` "
     "(timestamptz, timestamp as UTC, or bigint milliseconds; NULL falls back to the commit).",
     SetTimestamp,
     ShowTimestamp},
    Row<kRoute, &RouteConfig::tombstone_on_empty>(
        "route", "tombstone_on_empty", kBoolean,
        "A payload that is empty or blank makes a tombstone, as NULL does; not an empty bytea."),
    ChoiceRow<kRoute, &RouteConfig::compatibility>(
        "route", "compatibility",
        "Whose rules hold where Debezium's EventRouter differs. "
        "`debezium`: a NULL key is published; "
        "the aggregate type must be text, the partition int4, the "
        "timestamp a `timestamp` (infinity "
        "has its number, NULL leaves it to the producer)."),

    FormatRow<&FormatConfig::key, &PartFormat::format>(
        "key",
        "How the key's column becomes bytes. `raw`: as it stands. The others are byte for byte "
        "those "
        "of Connect's converters: `string` (StringConverter), `json` and `json_schema` "
        "(JsonConverter without and with schemas), `bytes` (ByteArrayConverter). They show types, "
        "and a default in place of NULL, as Debezium does."),
    FormatRow<&FormatConfig::key, &PartFormat::delegate>(
        "key_delegate",
        "With `key = \"bytes\"`, the format of what is no bytea (BinaryDataConverter's delegate)."),
    FormatRow<&FormatConfig::value, &PartFormat::format>(
        "value", "The same for the value. An envelope needs `json` or `json_schema`."),
    FormatRow<&FormatConfig::value, &PartFormat::delegate>(
        "value_delegate", "With `value = \"bytes\"`, the format of what is no bytea."),
    ChoiceRow<kFormat, &FormatConfig::headers>(
        "format", "headers",
        "`raw`: columns as they stand. `simple`: as Connect's SimpleHeaderConverter writes them."),
    Row<kFormat, &FormatConfig::expand_json>(
        "format", "expand_json", kBoolean,
        "A text payload that is a JSON object becomes a value with members instead of a string "
        "(Debezium's `table.expand.json.payload`)."),
    ChoiceRow<kFormat, &FormatConfig::json_nulls>("format", "json_nulls",
                                                  "Members that are null, when expanding."),
    ChoiceRow<kFormat, &FormatConfig::json_empty_arrays>("format", "json_empty_arrays",
                                                         "Members that are `[]`, when expanding."),
    ChoiceRow<kFormat, &FormatConfig::message_nulls>(
        "format", "message_nulls",
        "Members of a logical message that are null: `ignore` takes them for absent (Debezium's "
        "`fields.null.include = false`), `optional_bytes` for NULL."),
    Row<kFormat, &FormatConfig::schema_prefix>(
        "format", "schema_prefix", kString,
        "What the names of envelopes' schemas begin with (Debezium's `topic.prefix`), as in "
        "`PREFIX.public.outbox.order.Value`."),
    Row<kFormat, &FormatConfig::context_headers>(
        "format", "context_headers", kBoolean,
        "Puts Debezium's `__debezium.context.*` headers before the others: connectorLogicalName "
        "(`schema_prefix`), taskId, connectorName, runId."),

    ChoiceRow<kOnError, &ErrorPolicy::null_route>("on_error", "null_route",
                                                  "A row without an aggregate type."),
    ChoiceRow<kOnError, &ErrorPolicy::null_key>("on_error", "null_key",
                                                "A row without an aggregate id."),
    ChoiceRow<kOnError, &ErrorPolicy::topic>(
        "on_error", "topic", "A row whose topic is illegal, not allowed, or one too many."),
    ChoiceRow<kOnError, &ErrorPolicy::too_large>(
        "on_error", "too_large",
        "A row whose record is larger than `kafka.max_record_bytes`, or than its topic takes."),
    ChoiceRow<kOnError, &ErrorPolicy::value>(
        "on_error", "value", "A row with a partition, a timestamp or bytes that cannot be used."),
    ChoiceRow<kOnError, &ErrorPolicy::refused>(
        "on_error", "refused",
        "A row whose record the brokers refuse: an invalid record or timestamp, a policy "
        "violation. (A record that is too large for its topic: `too_large`.)"),
    Row<kOnError, &ErrorPolicy::dead_letter_topic>(
        "on_error", "dead_letter_topic", kString,
        "Where rows go under `dead_letter`: whole (the beginning of each value where the row is "
        "too "
        "large), with the reason, as "
        "`proto/walrelay/events/v1/dead_letter.proto`. Their acknowledgement counts like any "
        "other."),

    Row<kKafka, &KafkaConfig::bootstrap_servers>("kafka", "bootstrap_servers", kString,
                                                 "Brokers to ask first: `host:port,host:port`."),
    Row<kKafka, &KafkaConfig::client_id>("kafka", "client_id", kString,
                                         "How walrelay calls itself to the brokers."),
    Row<kKafka, &KafkaConfig::compression>("kafka", "compression", kChoice, "Of record batches.",
                                           "none, lz4, zstd, gzip, snappy"),
    SizeRow<kKafka, &KafkaConfig::max_record_bytes>(
        "kafka", "max_record_bytes",
        "The largest record that is sent; not above the topics' `max.message.bytes`."),
    SizeRow<kKafka, &KafkaConfig::max_batch_bytes>(
        "kafka", "max_batch_bytes",
        "The largest batch of records. Brokers measure a topic's `max.message.bytes` against the "
        "batch; "
        "where one refuses, walrelay goes on with smaller ones by itself."),
    Row<kKafka, &KafkaConfig::security_protocol>("kafka", "security_protocol", kChoice,
                                                 "How to talk to the brokers.",
                                                 "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
    Row<kKafka, &KafkaConfig::sasl_mechanism>(
        "kafka", "sasl_mechanism", kString,
        "`SCRAM-SHA-512`, `SCRAM-SHA-256`, `PLAIN`, `GSSAPI` …"),
    Row<kKafka, &KafkaConfig::sasl_username>("kafka", "sasl_username", kString, "The user."),
    Row<kKafka, &KafkaConfig::sasl_password>("kafka", "sasl_password", kSecret,
                                             "The password. Better in a file."),
    Row<kKafka, &KafkaConfig::sasl_password_file>(
        "kafka", "sasl_password_file", kString,
        "A file that holds the password. Read again every "
        "two seconds: a rotated password needs no restart. "
        "Must not be readable by others."),
    Row<kKafka, &KafkaConfig::ssl_ca_file>(
        "kafka", "ssl_ca_file", kString,
        "Certificates of the authorities to trust (PEM). Default: the system's. When this or one "
        "of "
        "the files below changes, walrelay goes on with a new producer, without a restart."),
    Row<kKafka, &KafkaConfig::ssl_certificate_file>(
        "kafka", "ssl_certificate_file", kString,
        "The client's certificate chain (PEM), for mutual TLS."),
    Row<kKafka, &KafkaConfig::ssl_key_file>("kafka", "ssl_key_file", kString,
                                            "The client's private key (PEM)."),
    Row<kKafka, &KafkaConfig::ssl_key_password>("kafka", "ssl_key_password", kSecret,
                                                "Of the private key. Better in a file."),
    Row<kKafka, &KafkaConfig::ssl_key_password_file>(
        "kafka", "ssl_key_password_file", kString,
        "A file that holds it. Must not be readable by others."),
    Row<kKafka, &KafkaConfig::allow_insecure>("kafka", "allow_insecure", kBoolean,
                                              "Allow brokers on another host without TLS."),

    Row<kPipeline, &PipelineConfig::max_in_flight_records>(
        "pipeline", "max_in_flight_records", kInteger,
        "Records handed to Kafka and not yet acknowledged. When there are so many, walrelay stops "
        "reading "
        "from Postgres and goes on reporting to it."),
    SizeRow<kPipeline, &PipelineConfig::max_in_flight_bytes>(
        "pipeline", "max_in_flight_bytes",
        "Their keys, values and headers, and 512 bytes for each; one record may always be in "
        "flight. "
        "Determines the memory of the process."),
    Row<kPipeline, &PipelineConfig::confirm_interval>(
        "pipeline", "confirm_interval", kDuration,
        "How soon after a progress it is confirmed to Postgres: what a crash at most repeats."),
    Row<kPipeline, &PipelineConfig::drain_timeout>(
        "pipeline", "drain_timeout", kDuration,
        "How long a stop (SIGTERM) waits for acknowledgements. Keep it below the supervisor's own "
        "patience "
        "(Kubernetes: 30 s)."),

    Row<&Config::http, &HttpConfig::listen>("http", "listen", kString,
                                            "`address:port` of `/status`, `/livez`, `/readyz` and "
                                            "`/metrics`; "
                                            "`\"\"`: none. GET only, no secrets, no TLS: "
                                            "keep it on loopback or inside the pod."),
    Row<&Config::metrics, &MetricsConfig::slot_poll_interval>(
        "metrics", "slot_poll_interval", kDuration,
        "How often the slot is looked at, over a connection of its own."),
    Row<&Config::metrics, &MetricsConfig::max_topics>(
        "metrics", "max_topics", kInteger,
        "Topics with a series of their own; the others are counted as `__other__`."),
    Row<&Config::log, &LogConfig::level>("log", "level", kChoice, "Least level that is written.",
                                         "debug, info, warning, error"),
    Row<&Config::log, &LogConfig::format>("log", "format", kChoice,
                                          "`auto`: text on a terminal, JSON lines otherwise.",
                                          "auto, text, json"),
};

}  // namespace

std::string_view RenamedTo(std::string_view old_name) {
  constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
      {"metrics.slot_interval", "metrics.slot_poll_interval"},
      {"route.rules", "route.compatibility"},
  };
  const auto* found = std::find_if(std::begin(kRenamed), std::end(kRenamed),
                                   [&](const auto& names) { return names.first == old_name; });
  return found == std::end(kRenamed) ? "" : found->second;
}

std::string Option::Name() const {
  return fmt::format("{}.{}", section, key);
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

bool IsSecretProperty(std::string_view property) {
  constexpr std::string_view kSecrets[] = {"password", "passphrase", "secret", ".pem",
                                           "oauthbearer.config"};
  return std::any_of(std::begin(kSecrets), std::end(kSecrets), [&](std::string_view part) {
    return property.find(part) != std::string_view::npos;
  });
}

const Option* FindOption(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? nullptr
                                       : FindOption(name.substr(0, dot), name.substr(dot + 1));
}

}  // namespace walrelay
