#include "config/debezium_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/text.h"
#include "config/file_reader.h"
#include "config/option.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

absl::Status Wrong(std::string_view what) {
  return Error(ErrorCode::kConfigValue, what);
}

// As Java's trim() does.
std::string Trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= 0x20) {
    text.remove_prefix(1);
  }
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= 0x20) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

std::string Lower(std::string_view text) {
  std::string out = Trimmed(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// As Java's split() does: nothing behind the last separator is no part.
std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  while (parts.size() > 1 && parts.back().empty()) {
    parts.pop_back();
  }
  return parts;
}

// What becomes of an option of the router. `meanings` are "theirs=ours, …"; "": taken as it is.
struct RouterOption {
  std::string_view name;
  std::string_view setting;  // "": nothing
  std::string_view meanings;
};

constexpr std::string_view kBoolean = "true=true, false=false";

constexpr RouterOption kRouterOptions[] = {
    {"table.op.invalid.behavior", "source.on_update", "warn=ignore, error=ignore, fatal=fail"},
    {"table.field.event.id", "source.columns.id", ""},
    {"table.field.event.key", "source.columns.aggregate_id", ""},
    {"table.field.event.payload", "source.columns.payload", ""},
    {"table.field.event.schema.version", "source.columns.version", ""},
    {"table.field.event.timestamp", "route.timestamp", ""},
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

// Options of which walrelay has one value: another would change bytes without a word.
struct FixedOption {
  std::string_view name;
  std::string_view value;
  std::string_view reason;
};

constexpr FixedOption kFixedRouterOptions[] = {
    {"field.name.adjustment.mode", "none", "Debezium loses the value of each member it renames"},
    {"predicate", "", "walrelay reads outbox tables and nothing else; name them as its tables"},
};

constexpr FixedOption kFixedConnectorOptions[] = {
    {"time.precision.mode", "adaptive", "columns are shown as in mode \"adaptive\""},
    {"decimal.handling.mode", "precise", "columns are shown as in mode \"precise\""},
    {"binary.handling.mode", "bytes", "columns are shown as in mode \"bytes\""},
    {"skipped.operations", "t", "the router fails at each TRUNCATE that is not skipped"},
    {"errors.tolerance", "none",
     "with \"all\" a row that cannot be published is lost silently; "
     "choose [on_error] skip or dead_letter instead"},
};

absl::StatusOr<std::string> Meaning(const RouterOption& option, const std::string& value) {
  if (option.meanings.empty()) {
    return value;
  }
  for (const std::string& pair : Split(option.meanings, ',')) {
    const auto parts = Split(Trimmed(pair), '=');
    if (parts[0] == Lower(value)) {
      return parts[1];
    }
  }
  return Wrong(
      fmt::format("{} = \"{}\": Debezium knows no such value", option.name, Printable(value, 80)));
}

absl::Status CheckFixed(const FixedOption& fixed, const DebeziumOptions& options) {
  const auto found = options.find(std::string(fixed.name));
  return found == options.end() || Lower(found->second) == fixed.value
             ? absl::OkStatus()
             : Wrong(fmt::format("{} = \"{}\" is not carried over: {}", fixed.name,
                                 Printable(found->second, 80), fixed.reason));
}

// column:placement[:alias]
absl::StatusOr<Placement> ParsePlacement(const std::string& entry) {
  const auto parts = Split(Trimmed(entry), ':');
  if (parts.size() < 2 || parts.size() > 3) {
    return Wrong(
        fmt::format("table.fields.additional.placement: \"{}\" is not "
                    "column:placement[:alias]",
                    Printable(entry, 80)));
  }
  Placement out{.column = Trimmed(parts[0])};
  out.name = Trimmed(parts[parts.size() == 3 ? 2 : 0]);
  const std::string where = Lower(parts[1]);
  if (where == "envelope") {
    out.where = Placement::Where::kEnvelope;
  } else if (where == "partition") {
    out.where = Placement::Where::kPartition;
  } else if (where != "header") {
    return Wrong(
        fmt::format("table.fields.additional.placement: \"{}\" is neither header, "
                    "envelope nor partition",
                    Printable(parts[1], 80)));
  }
  return out;
}

// "org.apache.kafka.connect.json.JsonConverter" and its schemas.enable, "": an unknown class.
std::string_view FormatOf(std::string_view converter, const DebeziumOptions& options,
                          const std::string& prefix) {
  if (converter.ends_with("StringConverter")) {
    return "string";
  }
  if (converter.ends_with("JsonConverter")) {
    const auto schemas = options.find(prefix + ".schemas.enable");
    const bool enabled = schemas == options.end() || Lower(schemas->second) != "false";
    return enabled ? "json_schema" : "json";
  }
  const bool bytes = converter.ends_with("ByteArrayConverter") ||
                     converter.ends_with("BinaryDataConverter") ||
                     converter.ends_with("ByteBufferConverter");
  return bytes ? "bytes" : "";
}

// The converter of the key or the value.
absl::Status TranslateConverter(std::string_view part, const DebeziumOptions& options,
                                DebeziumTranslation& out) {
  const std::string name = fmt::format("{}.converter", part);
  const std::string delegate = name + ".delegate.converter.type";
  for (const auto& [option, setting] :
       {std::pair(name, fmt::format("format.{}", part)),
        std::pair(delegate, fmt::format("format.{}_delegate", part))}) {
    const auto found = options.find(option);
    if (found == options.end()) {
      continue;
    }
    const std::string_view format = FormatOf(Trimmed(found->second), options, option);
    if (format.empty()) {
      return Wrong(fmt::format("{} = \"{}\" is not one that walrelay reproduces", option,
                               Printable(found->second, 120)));
    }
    out.settings[setting] = format;
  }
  return absl::OkStatus();
}

absl::Status TranslateRouter(const DebeziumOptions& options, DebeziumTranslation& out) {
  for (const RouterOption& option : kRouterOptions) {
    if (const auto found = options.find(std::string(option.name)); found != options.end()) {
      WR_ASSIGN_OR_RETURN(out.settings[std::string(option.setting)],
                          Meaning(option, found->second));
    }
  }
  if (const auto time = options.find("table.field.event.timestamp"); time != options.end()) {
    out.settings["route.timestamp"] = "column:" + time->second;
  }
  for (const FixedOption& fixed : kFixedRouterOptions) {
    WR_RETURN_IF_ERROR(CheckFixed(fixed, options));
  }
  const auto placements = options.find("table.fields.additional.placement");
  if (placements != options.end()) {
    for (const std::string& entry : Split(placements->second, ',')) {
      WR_ASSIGN_OR_RETURN(Placement placement, ParsePlacement(entry));
      out.placements.push_back(std::move(placement));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DebeziumTranslation> TranslateDebezium(const DebeziumOptions& router,
                                                      const DebeziumOptions& connector) {
  DebeziumTranslation out;
  // Debezium's own defaults, where walrelay's differ.
  out.settings = {{"source.columns.id", "id"},
                  {"source.columns.aggregate_type", "aggregatetype"},
                  {"source.columns.aggregate_id", "aggregateid"},
                  {"source.columns.payload", "payload"},
                  {"source.columns.event_type", ""},
                  {"source.columns.trace_id", ""},
                  {"route.rules", "debezium"},
                  {"route.timestamp", "now"},
                  {"format.headers", "simple"},
                  {"format.context_headers", "true"}};
  WR_RETURN_IF_ERROR(TranslateRouter(router, out));
  for (const FixedOption& fixed : kFixedConnectorOptions) {
    WR_RETURN_IF_ERROR(CheckFixed(fixed, connector));
  }
  if (const auto prefix = connector.find("topic.prefix"); prefix != connector.end()) {
    out.settings["format.schema_prefix"] = prefix->second;
  }
  if (const auto headers = connector.find("extended.headers.enabled"); headers != connector.end()) {
    out.settings["format.context_headers"] = Lower(headers->second) == "false" ? "false" : "true";
  }
  WR_RETURN_IF_ERROR(TranslateConverter("key", connector, out));
  WR_RETURN_IF_ERROR(TranslateConverter("value", connector, out));
  return out;
}

absl::Status ApplyTranslation(const DebeziumTranslation& translation, Config& config) {
  for (const auto& [name, text] : translation.settings) {
    const size_t dot = name.rfind('.');
    const Option* option =
        FindOption(std::string_view(name).substr(0, dot), std::string_view(name).substr(dot + 1));
    WR_ASSIGN_OR_RETURN(const RawValue value, FromText(option->type, text));
    WR_RETURN_IF_ERROR(Annotate(ApplyOption(*option, value, config), name));
  }
  config.source.tables.front().placements = translation.placements;
  return absl::OkStatus();
}

}  // namespace walrelay
