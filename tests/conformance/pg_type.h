// Parses a column type in SQL syntax: "numeric(10,2)", "text[]", "enum('a','b')".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace walrelay::conformance {

struct PgType {
  uint32_t oid = 0;  // 0: unknown type
  int32_t modifier = -1;
  std::vector<std::string> enum_labels;
};

PgType ParsePgType(std::string_view name);

}  // namespace walrelay::conformance
