// The name of a table as source.table contains it: "schema.table", a part in quotes where it needs
// them, as in SQL.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace walrelay {

struct OutboxTable;

struct TableName {
  std::string schema;  // "public" if the text names none
  std::string name;
};
// nullopt: more than two parts, an empty part, or a quote that is not closed.
std::optional<TableName> ParseTableName(std::string_view text);

// The inverse.
std::string QualifiedName(const OutboxTable& table);

}  // namespace walrelay
