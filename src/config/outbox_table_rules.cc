#include "config/outbox_table_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/table_name.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

// The place of the settings of a table: its own block, if there are several.
std::string PlaceOf(const Config& config, size_t table, std::string_view otherwise) {
  return config.source.tables.size() > 1 ? fmt::format("source.tables[{}]", table)
                                         : std::string(otherwise);
}

// A table without its required columns could publish nothing.
void CheckColumns(size_t index, const Config& config, ConfigErrors& errors) {
  const OutboxTable& table = config.source.tables[index];
  for (const auto& [key, name] : {std::pair("aggregate_type", &table.columns.aggregate_type),
                                  std::pair("aggregate_id", &table.columns.aggregate_id),
                                  std::pair("payload", &table.columns.payload)}) {
    if (*name && (*name)->empty()) {
      errors.Reject(
          fmt::format("source.columns.{}", key),
          fmt::format("source.columns.{}: {} requires this column", key, QualifiedName(table)));
    }
  }
  // A record has one partition, so a second column would silently lose.
  const auto partitions = std::count_if(
      table.placements.begin(), table.placements.end(),
      [](const Placement& placement) { return placement.where == Placement::Where::kPartition; });
  if (partitions > 1) {
    errors.Reject(PlaceOf(config, index, "source.placement"),
                  fmt::format("{}: only one column can be the partition", QualifiedName(table)));
  }
}

// An envelope is an object, which only JSON can represent. Its members have distinct names.
void CheckEnvelope(size_t index, const Config& config, ConfigErrors& errors) {
  const OutboxTable& table = config.source.tables[index];
  const std::string place = PlaceOf(config, index, "source.placement");
  // Every envelope has this member, whatever the placements are.
  std::vector<std::string_view> names = {"payload"};
  for (const Placement& placement : table.placements) {
    if (placement.where != Placement::Where::kEnvelope) {
      continue;
    }
    if (std::find(names.begin(), names.end(), placement.name) != names.end()) {
      errors.Reject(place, fmt::format("{}: the envelope has two members \"{}\"",
                                       QualifiedName(table), Printable(placement.name, 63)));
    }
    names.push_back(placement.name);
  }
  if (names.size() > 1 && config.format.value.format == Format::kRaw) {
    errors.Reject(place,
                  fmt::format("{}: an envelope requires format.value \"json\" or \"json_schema\"",
                              QualifiedName(table)));
  }
}

// A column has one value: the second transform would have no effect.
void CheckTransforms(size_t index, const Config& config, ConfigErrors& errors) {
  // Longer than any record that brokers accept by default; the text is kept in memory.
  constexpr int64_t kLongestMask = 1'000'000;
  const OutboxTable& table = config.source.tables[index];
  const std::string place = PlaceOf(config, index, "source.transform");
  if (table.name.empty() && !table.transforms.empty()) {
    errors.Reject(place,
                  "source.transform: messages have no columns that a transform could change");
  }
  for (size_t i = 0; i < table.transforms.size(); ++i) {
    const ColumnTransform& transform = table.transforms[i];
    if (transform.kind == ColumnTransform::Kind::kMask && transform.length > kLongestMask) {
      errors.Reject(place,
                    fmt::format("source.transform.length: expected at most {} for a mask, got {}",
                                kLongestMask, transform.length));
    }
    for (size_t j = 0; j < i; ++j) {
      for (const std::string& name : transform.column.all()) {
        if (table.transforms[j].column.Contains(name)) {
          errors.Reject(place, fmt::format("{}: column \"{}\" has two transforms",
                                           QualifiedName(table), Printable(name, 63)));
        }
      }
    }
  }
}

}  // namespace

void CheckOutboxTables(const Config& config, ConfigErrors& errors) {
  const std::vector<OutboxTable>& tables = config.source.tables;
  for (size_t i = 0; i < tables.size(); ++i) {
    CheckColumns(i, config, errors);
    CheckEnvelope(i, config, errors);
    CheckTransforms(i, config, errors);
    for (size_t j = 0; j < i; ++j) {
      // The second mapping would never be used. The comparison is quadratic; there are few
      // tables.
      if (tables[i].schema == tables[j].schema && tables[i].name == tables[j].name) {
        errors.Reject(PlaceOf(config, i, ""),
                      fmt::format("table {} is named twice", QualifiedName(tables[i])));
      }
    }
  }
}

}  // namespace walrelay
