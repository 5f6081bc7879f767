// Rows of the tables that translate a connector's properties.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "debezium/debezium_translation.h"

namespace walrelay {

// A name that ends in "*" matches every name with that prefix.
// The reason is shown in the report, after the property's name and value.
struct PropertyRule {
  std::string_view name;
  std::string_view reason;
};

inline bool Fits(std::string_view rule, std::string_view name) {
  return rule.ends_with('*') ? name.starts_with(rule.substr(0, rule.size() - 1)) : rule == name;
}

// The first matching rule, or nullptr.
inline const PropertyRule* FindRule(std::span<const PropertyRule> rules, std::string_view name) {
  for (const PropertyRule& rule : rules) {
    if (Fits(rule.name, name)) {
      return &rule;
    }
  }
  return nullptr;
}

// Options of which walrelay supports one value: another would silently change bytes.
struct FixedOption {
  std::string_view name;
  std::string_view value;
  std::string_view reason;
  std::string_view setting = "";  // the setting with which an operator can override
};

// The result of an option of the table: equivalent with the value of its row, and refused with any
// other. nullopt if the name is not in the table.
std::optional<PropertyResult> CheckedAmong(std::span<const FixedOption> options,
                                           std::string_view name, const std::string& value);

}  // namespace walrelay
