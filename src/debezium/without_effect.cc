#include "debezium/without_effect.h"

#include <algorithm>
#include <cctype>

#include "walrelay/config/outbox_table.h"

namespace walrelay {
namespace {

// Properties that change schemas, but no value.
constexpr std::string_view kOnlySchemas[] = {"schema.name.adjustment.mode",
                                             "column.propagate.source.type",
                                             "datatype.propagate.source.type"};

constexpr std::string_view kFormatSettings[] = {"format.key", "format.value", "format.key_delegate",
                                                "format.value_delegate"};

bool PublishesSchemas(const DebeziumTranslation& translation,
                      const std::set<std::string>& overrides) {
  return std::any_of(
      std::begin(kFormatSettings), std::end(kFormatSettings), [&](std::string_view setting) {
        const auto found = translation.settings.find(std::string(setting));
        return overrides.contains(std::string(setting)) ||
               (found != translation.settings.end() && found->second == "json_schema");
      });
}

// Avro's names have letters, digits and underscores; mode "avro_unicode" escapes underscores too.
bool Adjusts(std::string_view mode, std::string_view column) {
  const bool plain = std::all_of(column.begin(), column.end(), [&](unsigned char c) {
    return std::isalnum(c) != 0 || (c == '_' && mode == "avro");
  });
  const bool digit = !column.empty() && std::isdigit(static_cast<unsigned char>(column[0])) != 0;
  return !plain || digit;
}

// The columns that settings and placements name.
bool AdjustsColumns(std::string_view mode, const DebeziumTranslation& translation) {
  constexpr std::string_view kTimestamp = "column:";
  const bool of_settings = std::any_of(
      translation.settings.begin(), translation.settings.end(), [&](const auto& setting) {
        const std::string_view value = setting.second;
        return (setting.first.starts_with("source.columns.") && Adjusts(mode, value)) ||
               (value.starts_with(kTimestamp) && Adjusts(mode, value.substr(kTimestamp.size())));
      });
  return of_settings || std::any_of(translation.placements.begin(), translation.placements.end(),
                                    [&](const Placement& placement) {
                                      return Adjusts(mode, placement.column.preferred());
                                    });
}

}  // namespace

std::string_view WhyWithoutEffect(std::string_view name, const DebeziumOptions& connector,
                                  std::string_view router, const DebeziumTranslation& translation,
                                  const std::set<std::string>& overrides) {
  const bool only_schemas =
      std::find(std::begin(kOnlySchemas), std::end(kOnlySchemas), name) != std::end(kOnlySchemas);
  if (only_schemas && !PublishesSchemas(translation, overrides)) {
    return "changes only schemas, which these converters do not write";
  }
  const std::string mode = JavaLower(ValueOr(connector, name, ""));
  const bool is_avro = mode == "avro" || mode == "avro_unicode";
  if (name == "field.name.adjustment.mode" && is_avro && !AdjustsColumns(mode, translation)) {
    return "changes no name of the columns that are published";
  }
  const std::string expand = std::string(router) + "table.expand.json.payload";
  if (name.starts_with(router) && name.substr(router.size()) == "field.name.adjustment.mode" &&
      JavaLower(ValueOr(connector, expand, "")) != "true") {
    return "has an effect only with table.expand.json.payload";
  }
  return "";
}

}  // namespace walrelay
