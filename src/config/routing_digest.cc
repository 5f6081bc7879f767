#include "config/routing_digest.h"

#include <algorithm>
#include <string_view>

#include "base/fnv.h"
#include "config/option.h"
#include "config/toml_writer.h"
#include "walrelay/config.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

// The others of [source] are about the connection and the slot.
constexpr std::string_view kSourceKeys[] = {"publication", "table", "message_prefixes",
                                            "missing_columns"};

// max_record_bytes: a record that was too large became a dead letter, and later ones were sent.
bool DeterminesRecords(const Option& option) {
  if (option.section == "kafka") {
    return option.key == "max_record_bytes";
  }
  if (option.section == "source") {
    return std::find(std::begin(kSourceKeys), std::end(kSourceKeys), option.key) !=
           std::end(kSourceKeys);
  }
  return option.section.starts_with("source.") || option.section.starts_with("route") ||
         option.section.starts_with("format") || option.section == "on_error";
}

void AddColumn(const std::optional<ColumnNames>& column, Fnv64& digest) {
  digest.Add(column ? "=" : "auto");
  digest.Add(ToToml(column.value_or("")));
}

// Options show the columns of the first table only, and no salt.
void AddTable(const OutboxTable& table, Fnv64& digest) {
  digest.Add(table.schema);
  digest.Add(table.name);
  for (const auto* column : table.columns.all()) {
    AddColumn(*column, digest);
  }
  for (const Placement& placement : table.placements) {
    digest.Add(ToToml(placement.column));
    digest.Add(NameOfChoice(placement.where));
    digest.Add(placement.name);
  }
  for (const ColumnTransform& transform : table.transforms) {
    for (const auto& [key, value] : TransformMembers(transform)) {
      digest.Add(key);
      digest.Add(value);
    }
    digest.Add(transform.salt.Reveal());
  }
}

}  // namespace

uint32_t RoutingDigest(const Config& config) {
  Fnv64 digest;
  digest.Add(Version());
  for (const Option& option : Options()) {
    if (DeterminesRecords(option)) {
      digest.Add(option.Name());
      digest.Add(option.show(config));
    }
  }
  for (const OutboxTable& table : config.source.tables) {
    AddTable(table, digest);
  }
  return static_cast<uint32_t>(digest.value() ^ (digest.value() >> 32));
}

}  // namespace walrelay
