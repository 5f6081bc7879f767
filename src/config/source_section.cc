#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/masked_dsn.h"
#include "config/option_rows.h"
#include "config/outbox_table_rules.h"
#include "config/section.h"
#include "config/table_name.h"

namespace walrelay {
namespace {

// Slot names are inserted into replication commands, whose grammar has no parameters. Postgres
// allows exactly these names.
// 63 bytes: NAMEDATALEN - 1.
bool IsSlotName(std::string_view name) {
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// A publication's name is inserted, quoted, into the same commands.
bool IsPublicationName(std::string_view name) {
  return !name.empty() && name.size() <= 63 &&
         std::none_of(name.begin(), name.end(),
                      [](unsigned char c) { return c < 0x20 || c == 0x7F || c == '\\'; });
}

// It becomes a label of every series: the characters need no escapes in a query.
bool IsSourceName(std::string_view name) {
  return name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("._-:/").find(c) != std::string_view::npos;
         });
}

// Postgres limits logical_decoding_work_mem, which is in kB.
bool IsDecodingMemory(int64_t bytes) {
  constexpr int64_t kMin = 64 * 1024;
  constexpr int64_t kMax = int64_t{2147483647} * 1024;
  return bytes == 0 || (bytes >= kMin && bytes <= kMax);
}

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

std::string ShowTable(const Config& config) {
  const OutboxTable& table = config.source.tables.front();
  return TomlString(table.name.empty() ? "" : QualifiedName(table));
}

using enum OptionType;
constexpr auto kSource = &Config::source;

constexpr Option kSourceRows[] = {
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
    Within(
        Row<kSource, &SourceConfig::name>(
            "source", "name", kString,
            "The name of this database in metrics, logs, status and alerts, such as `orders-db`: "
            "letters, digits and `._-:/`. All instances on one slot must use the same name. "
            "Default: `host/database`, with the first host of the DSN, and its port if that is not "
            "5432. A Unix socket and a loopback address count as the name of this machine; a "
            "service counts as its name."),
        "at most 128 letters, digits and \"._-:/\"",
        [](const Config& config) { return IsSourceName(config.source.name); }),
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
    Within(Row<kSource, &SourceConfig::slot>(
               "source", "slot", kString,
               "The replication slot: lower-case letters, digits and underscores. The slot is also "
               "the lock: a second instance on the same slot waits as a standby."),
           "at most 63 lower-case letters, digits and underscores",
           [](const Config& config) { return IsSlotName(config.source.slot); }),
    Within(Row<kSource, &SourceConfig::publication>(
               "source", "publication", kString,
               "The publication of the outbox tables. It must be older than the slot."),
           "at most 63 bytes without backslash or control character",
           [](const Config& config) { return IsPublicationName(config.source.publication); }),
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
    Within(
        SizeRow<kSource, &SourceConfig::decoding_memory, /*zero_is_none=*/true>(
            "source", "decoding_memory",
            "`logical_decoding_work_mem` of the replication session: how much memory the server "
            "may use to decode transactions before it spills them to disk. `\"0\"`: the server's "
            "setting. Raise it if `walrelay doctor` reports spilled transactions; each reader of "
            "a slot may use that much."),
        "\"0\", or between \"64KiB\" and \"2047GiB\"",
        [](const Config& config) { return IsDecodingMemory(config.source.decoding_memory); }),
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
    Within(Row<kSource, &SourceConfig::connect_timeout>(
               "source", "connect_timeout", kDuration,
               "Timeout of one connection attempt to a host. All hosts and the checks before the "
               "stream together take at most 25 seconds."),
           "at least one second",
           [](const Config& config) {
             return config.source.connect_timeout >= std::chrono::seconds(1);
           }),
    Within(Row<kSource, &SourceConfig::wal_sender_timeout>(
               "source", "wal_sender_timeout", kDuration,
               "`wal_sender_timeout` of the replication session: how long the server waits for a "
               "silent relay before it releases the slot for a standby. `\"0\"`: the server's "
               "setting."),
           "\"0\", or at least one second",
           [](const Config& config) {
             return config.source.wal_sender_timeout == Micros(0) ||
                    config.source.wal_sender_timeout >= std::chrono::seconds(1);
           }),
    Row<kSource, &SourceConfig::allow_insecure>(
        "source", "allow_insecure", kBoolean,
        "Allow a connection to another host without verified TLS (`sslmode` below `verify-full`, "
        "the default, which requires `sslrootcert`)."),

    ColumnRow<&ColumnMapping::id>("id", "Header `id`. Default: `id`. `\"\"`: none."),
    ColumnRow<&ColumnMapping::aggregate_type>(
        "aggregate_type",
        "The value that selects the topic. Default: `aggregate_type`, else Debezium's "
        "`aggregatetype`."),
    ColumnRow<&ColumnMapping::aggregate_id>(
        "aggregate_id",
        "The record's key. Default: `aggregate_id`, else Debezium's `aggregateid`."),
    ColumnRow<&ColumnMapping::event_type>(
        "event_type",
        "Header `event_type`. Default: `event_type`, else Debezium's `type`, else none."),
    ColumnRow<&ColumnMapping::payload>("payload",
                                       "The record's value, byte for byte. Default: `payload`."),
    ColumnRow<&ColumnMapping::trace_id>(
        "trace_id", "Header `trace_id`. Default: `trace_id` where the column exists."),
    ColumnRow<&ColumnMapping::traceparent>(
        "traceparent",
        "W3C trace context, header `traceparent`; no header for NULL. Default: `traceparent` "
        "where the column exists."),
    ColumnRow<&ColumnMapping::tracestate>("tracestate", "Likewise, header `tracestate`."),
    ColumnRow<&ColumnMapping::span_context>(
        "span_context",
        "Debezium's span context: the text of java.util.Properties, whose `traceparent` and "
        "`tracestate` become headers. Default: `tracingspancontext` where the column exists."),
    ColumnRow<&ColumnMapping::version>(
        "version", "An int4 column with the version of the envelope's schema. Default: none."),
};

// The server, if the command needs one.
void CheckServer(const Config& config, ConfigNeeds needs, ConfigErrors& errors) {
  if (needs.postgres && config.source.dsn.empty()) {
    errors.Reject("source.dsn", "source.dsn is missing",
                  "Set the Postgres server: dsn = "
                  "\"postgresql://walrelay@host/database?sslmode=verify-full&sslrootcert=FILE\" in "
                  "[source], --dsn, or WALRELAY_SOURCE__DSN.");
  }
}

// One source of the password: which of two would be used could not be seen in the file.
void CheckPassword(const Config& config, ConfigErrors& errors) {
  const SourceConfig& source = config.source;
  if (source.password_command.empty()) {
    return;
  }
  if (source.password_command.front().empty()) {
    errors.Expect("source.password_command", "a program and its arguments");
  } else if (!source.password.empty() || !source.password_file.empty()) {
    errors.Reject("source.password_command",
                  "source.password_command excludes source.password and source.password_file");
  }
}

// Dropping the slot requires an explicit limit, and excludes the automatic creation of a slot.
void CheckRetention(const Config& config, ConfigErrors& errors) {
  const SourceConfig& source = config.source;
  if (source.on_retained_limit != OnRetainedLimit::kDropSlot) {
    return;
  }
  if (source.max_retained_wal <= 0) {
    errors.Reject(
        "source.on_retained_limit",
        "source.on_retained_limit \"drop_slot\" requires source.max_retained_wal",
        "Set how much WAL the slot may retain: max_retained_wal = \"50GiB\" in [source]; or "
        "leave on_retained_limit at \"alert\".");
  } else if (source.create_slot) {
    errors.Reject("source.on_retained_limit",
                  "source.on_retained_limit \"drop_slot\" excludes source.create_slot: the next "
                  "start would recreate the dropped slot, and skip the events not published",
                  "Remove create_slot, and create the slot with walrelay setup --apply.");
  }
}

// An empty prefix would match no message, and is usually a comma too many.
void CheckMessages(const Config& config, ConfigErrors& errors) {
  const SourceConfig& source = config.source;
  if (std::count(source.message_prefixes.begin(), source.message_prefixes.end(), "") > 0) {
    errors.Reject("source.message_prefixes", "source.message_prefixes: a prefix is empty");
  }
  if (source.tables.front().name.empty() && source.message_prefixes.empty()) {
    errors.Reject("source.table",
                  "source.table is empty: name a table, or message prefixes in "
                  "source.message_prefixes");
  }
}

void CheckSource(const Config& config, ConfigNeeds needs, ConfigErrors& errors) {
  CheckServer(config, needs, errors);
  CheckPassword(config, errors);
  CheckRetention(config, errors);
  CheckOutboxTables(config, errors);
  CheckMessages(config, errors);
}

}  // namespace

const Section kSourceSection = {kSourceRows, CheckSource};

}  // namespace walrelay
