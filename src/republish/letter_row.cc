#include "republish/letter_row.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/arena.h"
#include "base/text.h"
#include "encode/column_value.h"
#include "route/message_row.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The schema of a row that was a logical message, as MessageRow describes it.
constexpr std::string_view kMessageSchema = "pg_logical_emit_message";

const OutboxTable* TableOf(const StoredDeadLetter& letter, const SourceConfig& source) {
  const auto& tables = source.tables;
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const OutboxTable& table) {
    return table.schema == letter.schema && table.name == letter.table;
  });
  return found == tables.end() ? nullptr : &*found;
}

bool SameColumn(const pgoutput::CachedColumn& column, const StoredDeadLetter::Column& stored) {
  return column.name == stored.name && column.type_oid == stored.type_oid;
}

std::optional<std::string> TextOf(const StoredDeadLetter::Column& column) {
  if (!column.binary) {
    return column.value;
  }
  Arena arena;
  const auto text =
      ColumnBytes({.kind = pgoutput::TupleValue::Kind::kBinary, .bytes = *column.value},
                  column.type_oid, arena);
  return text.ok() && *text ? std::optional<std::string>(**text) : std::nullopt;
}

}  // namespace

absl::StatusOr<pgoutput::CachedRelation> RelationOf(const StoredDeadLetter& letter,
                                                    const SourceConfig& source,
                                                    const CurrentTables& current) {
  pgoutput::CachedRelation relation{.schema = letter.schema, .name = letter.table};
  for (const StoredDeadLetter::Column& column : letter.columns) {
    relation.columns.push_back({.name = column.name, .type_oid = column.type_oid});
  }
  if (IsMessage(letter) && !source.message_prefixes.empty()) {
    relation.oid = kMessageRelation;
    return relation;
  }
  for (const pgoutput::CachedRelation& table : current.relations) {
    if (table.schema != letter.schema || table.name != letter.table) {
      continue;
    }
    if (std::equal(table.columns.begin(), table.columns.end(), letter.columns.begin(),
                   letter.columns.end(), SameColumn)) {
      return table;
    }
    relation.oid = table.oid;
    return relation;
  }
  return Error(
      ErrorCode::kTableMissing,
      fmt::format("{}.{} is not a table of this configuration", Printable(letter.schema, 63),
                  Printable(letter.table, 63)),
      "Run the command with the configuration of the pipeline that wrote the dead letter.");
}

bool IsIncomplete(const StoredDeadLetter& letter, const SourceConfig& source) {
  const OutboxTable* const table = TableOf(letter, source);
  return letter.truncated() || (table != nullptr && !table->transforms.empty());
}

std::optional<std::string> RowIdOf(const StoredDeadLetter& letter, const SourceConfig& source) {
  const OutboxTable* const table = TableOf(letter, source);
  const ColumnNames names = table != nullptr ? table->columns.id.value_or("id") : "id";
  for (const std::string& name : names.all()) {
    for (const StoredDeadLetter::Column& column : letter.columns) {
      if (column.name == name) {
        return column.value && column.cut_from == 0 ? TextOf(column) : std::nullopt;
      }
    }
  }
  return std::nullopt;
}

bool IsMessage(const StoredDeadLetter& letter) {
  return letter.schema == kMessageSchema;
}

std::vector<pgoutput::TupleValue> ValuesOf(const StoredDeadLetter& letter) {
  using Kind = pgoutput::TupleValue::Kind;
  std::vector<pgoutput::TupleValue> values;
  for (const StoredDeadLetter::Column& column : letter.columns) {
    values.push_back(column.value
                         ? pgoutput::TupleValue{.kind = column.binary ? Kind::kBinary : Kind::kText,
                                                .bytes = *column.value}
                         : pgoutput::TupleValue{});
  }
  return values;
}

}  // namespace walrelay
