// A JSON or YAML text as a tree of names and values: the formats of a connector's configuration.
//
// Strict, because the text decides what is published: a name given twice is an error, and so is
// text after the value. Depth and number of nodes are bounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace walrelay {

// Scalars keep their text, because Connect passes every value as text.
struct PropertyNode {
  enum class Kind : uint8_t { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  std::string text;                // of kScalar: "true", "5432", a string without its quotes
  std::vector<std::string> names;  // of kMap, one for each of items
  std::vector<PropertyNode> items;

  // nullptr if there is no such member.
  const PropertyNode* Find(std::string_view name) const;
};

// Errors: WR-1001, with line and column where the syntax is wrong.
// At most 32 levels and 20,000 nodes; more is WR-1001, too. The same limits apply to YAML, whose
// aliases count as often as they are used.
absl::StatusOr<PropertyNode> ParseJson(std::string_view text);

// A list of the text's documents. Errors: WR-1001, with line and column.
absl::StatusOr<PropertyNode> ParseYaml(std::string_view text);

}  // namespace walrelay
