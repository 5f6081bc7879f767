#include "debezium/debezium_options.h"

#include <fmt/format.h>

#include "base/text.h"
#include "debezium/column_mappers.h"
#include "debezium/converter_options.h"
#include "debezium/debezium_rules.h"
#include "walrelay/config/outbox_table.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Translation of an option. `meanings`: "debezium=walrelay, …"; "": value unchanged.
struct TranslatedOption {
  std::string_view name;
  std::string_view setting;
  std::string_view meanings;
};

constexpr std::string_view kBoolean = "true=true, false=false";

// Options of EventRouter with an equivalent setting. Debezium logs and skips invalid operations
// with "warn" and "error", which is walrelay's "ignore".
constexpr TranslatedOption kRouterOptions[] = {
    {"table.op.invalid.behavior", "source.on_update", "warn=ignore, error=ignore, fatal=fail"},
    {"table.field.event.id", "source.columns.id", ""},
    {"table.field.event.key", "source.columns.aggregate_id", ""},
    {"table.field.event.payload", "source.columns.payload", ""},
    {"table.field.event.schema.version", "source.columns.version", ""},
    {"table.field.additional.missing", "source.missing_columns", "error=fail, ignore=ignore"},
    {"route.by.field", "source.columns.aggregate_type", ""},
    {"route.topic.regex", "route.regex", ""},
    {"route.topic.replacement", "route.topic", ""},
    {"route.tombstone.on.empty.payload", "route.tombstone_on_empty", kBoolean},
    {"table.expand.json.payload", "format.expand_json", kBoolean},
    {"table.json.payload.null.behavior", "format.json_nulls",
     "ignore=ignore, optional_bytes=optional_bytes"},
    {"table.json.payload.empty.array.behavior", "format.json_empty_arrays",
     "ignore=ignore, optional_string=optional_string"},
};

// Options of the connector for how values of some types are represented.
constexpr TranslatedOption kTypeModes[] = {
    {"decimal.handling.mode", "format.decimal", "precise=precise, double=double, string=string"},
    {"time.precision.mode", "format.time",
     "adaptive=adaptive, adaptive_time_microseconds=adaptive_time_microseconds, connect=connect, "
     "isostring=isostring, microseconds=microseconds, nanoseconds=nanoseconds, "
     "structured=structured"},
    {"binary.handling.mode", "format.binary",
     "bytes=bytes, base64=base64, base64-url-safe=base64_url_safe, hex=hex"},
    {"interval.handling.mode", "format.interval", "numeric=numeric, string=string"},
    {"hstore.handling.mode", "format.hstore", "json=json, map=map"},
    {"include.unknown.datatypes", "format.unknown_types", "true=bytes, false=reject"},
};

constexpr std::string_view kTracing =
    "has an effect only with OpenTelemetry on Connect's class path; in walrelay trace_id is a "
    "column";

constexpr PropertyRule kIgnoredRouterOptions[] = {
    {"type", "walrelay is the router"},
    {"table.field.event.type", "Debezium never reads it; publish the column as a header instead"},
    {"table.field.event.payload.id", "removed in Debezium 2.0"},
    {"table.fields.additional.error.on.missing", "ignored since Debezium 3.6"},
    {"debezium.op.invalid.behavior", "removed in Debezium 2.0"},
    {"table.field.payload.id", "removed in Debezium 2.0"},
    // Tutorials repeat these; Debezium does not read them.
    {"table.field.timestamp", "no option of the router; it is table.field.event.timestamp"},
    {"table.field.key", "no option of the router; it is table.field.event.key"},
    {"tracing.span.context.field", kTracing},
    {"tracing.operation.name", kTracing},
    {"tracing.with.context.field.only", kTracing},
    {"negate", "belongs to the predicate"},
};

constexpr FixedOption kFixedRouterOptions[] = {
    {"field.name.adjustment.mode", "none", "Debezium loses the value of each member it renames"},
    {"table.field.payload", "payload",
     "only Debezium 1 reads it; later versions read table.field.event.payload",
     "source.columns.payload"},
    {"table.field.schema.version", "",
     "only Debezium 1 reads it; later versions read table.field.event.schema.version",
     "source.columns.version"},
    // Evaluated by DebeziumTables, where the tables are known.
    {"predicate", "", "walrelay reads only outbox tables; name them as its tables", "source.table"},
};

constexpr FixedOption kFixedConnectorOptions[] = {
    {"schema.name.adjustment.mode", "none", "walrelay does not adjust schema names"},
    {"field.name.adjustment.mode", "none", "walrelay does not adjust column names"},
    {"topic.delimiter", ".", "walrelay joins schema names with \".\""},
    {"errors.tolerance", "none",
     "with \"all\" a row that cannot be published is lost silently; "
     "choose [on_error] skip or dead_letter instead",
     "on_error.value"},
};

// An unknown value is refused, not ignored: Debezium would reject it as well.
PropertyResult Meant(const TranslatedOption& option, const std::string& value,
                     DebeziumTranslation& out) {
  const std::string setting(option.setting);
  if (option.meanings.empty()) {
    return out.Set(setting, value);
  }
  for (const std::string& pair : JavaSplit(option.meanings, ',')) {
    const auto parts = JavaSplit(JavaTrim(pair), '=');
    if (parts[0] == JavaLower(value)) {
      return out.Set(setting, parts[1]);
    }
  }
  return Refused(fmt::format("\"{}\": unknown value in Debezium", Printable(value, 80)));
}

// column:placement[:alias]
absl::StatusOr<Placement> ParsePlacement(const std::string& entry) {
  const auto parts = JavaSplit(JavaTrim(entry), ':');
  if (parts.size() < 2 || parts.size() > 3) {
    return Error(
        ErrorCode::kConfigValue,
        fmt::format("expected column:placement[:alias], got \"{}\"", Printable(entry, 80)));
  }
  Placement out{.column = JavaTrim(parts[0])};
  // Without an alias the name is the column's.
  out.name = JavaTrim(parts[parts.size() == 3 ? 2 : 0]);
  const std::string where = JavaLower(parts[1]);
  if (where == "envelope") {
    out.where = Placement::Where::kEnvelope;
  } else if (where == "partition") {
    out.where = Placement::Where::kPartition;
  } else if (where != "header") {
    return Error(
        ErrorCode::kConfigValue,
        fmt::format("expected header, envelope or partition, got \"{}\"", Printable(parts[1], 80)));
  }
  return out;
}

// The placements are common to all tables, as in Debezium.
PropertyResult TranslatePlacements(const std::string& value, DebeziumTranslation& out) {
  for (const std::string& entry : JavaSplit(value, ',')) {
    auto placement = ParsePlacement(entry);
    if (!placement.ok()) {
      return Refused(MessageOf(placement.status()));
    }
    out.placements.push_back(*std::move(placement));
  }
  return Translated("[[source.placement]]");
}

// Updates and deletes are never events; inserts must not be skipped, truncates must be.
PropertyResult TranslateSkipped(const std::string& value, DebeziumTranslation& out) {
  // "t" is in Debezium's default. A list without it makes the connector pass truncates to the
  // router.
  bool truncates = false;
  for (const std::string& entry : JavaSplit(value, ',')) {
    const std::string operation = JavaLower(entry);
    truncates = truncates || operation == "t";
    if (operation == "c") {
      return Refused("with \"c\" no event is published");
    }
    if (operation == "u") {
      out.settings["source.on_update"] = "ignore";
    }
  }
  return truncates ? Equivalent("only inserts are events")
                   : Refused(fmt::format("\"{}\" is not supported: the router fails at each "
                                         "TRUNCATE that is not skipped",
                                         Printable(value, 80)));
}

// For callers that accept no refusal.
absl::Status AsError(std::string_view name, const std::optional<PropertyResult>& result) {
  return result && result->outcome == PropertyOutcome::kRefused
             ? Error(ErrorCode::kConfigValue,
                     fmt::format("{}: {}", WithoutSalt(name), result->note))
             : absl::OkStatus();
}

}  // namespace

// All that a connector without options does, because walrelay's own defaults differ.
DebeziumTranslation DebeziumDefaults() {
  DebeziumTranslation out;
  out.settings = {{"source.columns.id", "id"},
                  {"source.columns.aggregate_type", "aggregatetype"},
                  {"source.columns.aggregate_id", "aggregateid"},
                  {"source.columns.payload", "payload"},
                  {"source.columns.event_type", ""},
                  {"source.columns.trace_id", ""},
                  {"source.columns.traceparent", ""},
                  {"source.columns.tracestate", ""},
                  {"route.compatibility", "debezium"},
                  {"route.timestamp", "now"},
                  {"format.headers", "simple"},
                  {"format.context_headers", "true"}};
  return out;
}

// Debezium's names are looked up in three tables: translated, without effect, and fixed.
std::optional<PropertyResult> TranslateRouterOption(std::string_view name, const std::string& value,
                                                    DebeziumTranslation& out) {
  for (const TranslatedOption& option : kRouterOptions) {
    if (option.name == name) {
      return Meant(option, value, out);
    }
  }
  if (const PropertyRule* ignored = FindRule(kIgnoredRouterOptions, name)) {
    return Meaningless(ignored->reason);
  }
  if (name == "table.field.event.timestamp") {
    return out.Set("route.timestamp", "column:" + value);
  }
  if (name == "table.fields.additional.placement") {
    return TranslatePlacements(value, out);
  }
  return CheckedAmong(kFixedRouterOptions, name, value);
}

// Options of the converters and of the connector that decide how a value is represented; nullopt
// for all others.
std::optional<PropertyResult> TranslateFormatOption(std::string_view name, const std::string& value,
                                                    const DebeziumOptions& connector,
                                                    DebeziumTranslation& out) {
  if (auto converter = TranslateConverterOption(name, value, connector, out)) {
    return converter;
  }
  if (name == "topic.prefix") {
    return out.Set("format.schema_prefix", value);
  }
  if (name == "extended.headers.enabled") {
    return out.Set("format.context_headers", JavaLower(value) == "false" ? "false" : "true");
  }
  if (name == "skipped.operations") {
    return TranslateSkipped(value, out);
  }
  if (auto mapper = TranslateColumnMapper(name, value, connector, out)) {
    return mapper;
  }
  for (const TranslatedOption& mode : kTypeModes) {
    if (mode.name == name) {
      return Meant(mode, value, out);
    }
  }
  return CheckedAmong(kFixedConnectorOptions, name, value);
}

std::optional<PropertyResult> TranslateMessageDecoderOption(std::string_view name,
                                                            const std::string& value,
                                                            DebeziumTranslation& out) {
  if (name == "type") {
    return Translated("source.message_prefixes", "members are mapped like columns");
  }
  if (name == "fields.null.include") {
    return out.Set("format.message_nulls",
                   JavaLower(value) == "true" ? "optional_bytes" : "ignore");
  }
  return std::nullopt;
}

// Debezium's list contains regular expressions; walrelay's prefixes are globs. Only names without
// special characters mean the same in both.
PropertyResult TranslateMessagePrefixes(const std::string& value, DebeziumTranslation& out) {
  std::string prefixes;
  for (const std::string& entry : JavaSplit(value, ',')) {
    const std::string prefix = LiteralOf(JavaTrim(entry));
    // A "*" that the expression escapes is literal there, and a wildcard in a glob.
    if (prefix.empty() || prefix.find_first_of("*?") != std::string::npos) {
      return Refused(
          fmt::format("\"{}\" matches more than one prefix", Printable(JavaTrim(entry), 120)),
          "source.message_prefixes");
    }
    prefixes += (prefixes.empty() ? "" : ",") + prefix;
  }
  return out.Set("source.message_prefixes", prefixes);
}

absl::StatusOr<DebeziumTranslation> TranslateDebezium(const DebeziumOptions& router,
                                                      const DebeziumOptions& connector) {
  DebeziumTranslation out = DebeziumDefaults();
  for (const auto& [name, value] : router) {
    WR_RETURN_IF_ERROR(AsError(name, TranslateRouterOption(name, value, out)));
  }
  for (const auto& [name, value] : connector) {
    WR_RETURN_IF_ERROR(AsError(name, TranslateFormatOption(name, value, connector, out)));
  }
  return out;
}

}  // namespace walrelay
