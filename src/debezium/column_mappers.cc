#include "debezium/column_mappers.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <vector>

#include "base/text.h"
#include "debezium/debezium_rules.h"
#include "route/java_regex.h"

namespace walrelay {
namespace {

constexpr PropertyRule kMappers[] = {{"column.mask.*", "walrelay publishes columns unchanged"},
                                     {"column.truncate.*", "walrelay publishes columns unchanged"}};

// The columns that a record is built from, by the names in the connector's file.
std::vector<std::string> PublishedColumns(const DebeziumTranslation& translation) {
  constexpr std::string_view kColumns = "source.columns.";
  constexpr std::string_view kTimestamp = "column:";
  std::vector<std::string> columns = {"tracingspancontext"};
  for (const auto& [setting, value] : translation.settings) {
    if (setting.starts_with(kColumns) && !value.empty()) {
      columns.push_back(value);
    }
    if (setting == "route.timestamp" && value.starts_with(kTimestamp)) {
      columns.push_back(value.substr(kTimestamp.size()));
    }
  }
  for (const Placement& placement : translation.placements) {
    columns.push_back(placement.column);
  }
  return columns;
}

// nullopt: the connector does not name its tables one by one.
std::optional<std::vector<std::string>> Tables(const DebeziumOptions& connector) {
  std::vector<std::string> tables;
  for (const std::string& entry : JavaSplit(ValueOr(connector, "table.include.list", ""), ',')) {
    tables.push_back(LiteralOf(JavaTrim(entry)));
    if (tables.back().empty()) {
      return std::nullopt;
    }
  }
  return tables;
}

// As Debezium matches: the whole name, in any case. True also for an expression that cannot be
// evaluated here.
bool MayMatch(const std::string& expression, const std::string& name) {
  const auto translated = ToRe2Syntax(expression);
  if (!translated.ok()) {
    return true;
  }
  RE2::Options options;
  options.set_log_errors(false);
  options.set_case_sensitive(false);
  const RE2 regex(*translated, options);
  return !regex.ok() || RE2::FullMatch(name, regex);
}

}  // namespace

std::optional<PropertyResult> TranslateColumnMapper(std::string_view name, const std::string& value,
                                                    const DebeziumOptions& connector,
                                                    const DebeziumTranslation& translation) {
  const PropertyRule* rule = FindRule(kMappers, name);
  if (rule == nullptr) {
    return std::nullopt;
  }
  const auto tables = Tables(connector);
  // A value that a config provider supplies is not known here.
  if (!tables || value.find("${") != std::string::npos) {
    return Refused(std::string(rule->reason));
  }
  for (const std::string& entry : JavaSplit(value, ',')) {
    const std::string expression = JavaTrim(entry);
    for (const std::string& table : *tables) {
      for (const std::string& column : PublishedColumns(translation)) {
        const std::string column_name = fmt::format("{}.{}", table, column);
        if (MayMatch(expression, column_name)) {
          return Refused(fmt::format("{}, and \"{}\" may match {}", rule->reason,
                                     Printable(expression, 120), Printable(column_name, 200)));
        }
      }
    }
  }
  return Meaningless("concerns no published column");
}

}  // namespace walrelay
