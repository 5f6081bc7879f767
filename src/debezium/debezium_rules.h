// Rows of the tables that translate a connector's properties.
#pragma once

#include <span>
#include <string_view>

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

}  // namespace walrelay
