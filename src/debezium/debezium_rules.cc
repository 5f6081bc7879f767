#include "debezium/debezium_rules.h"

#include <fmt/format.h>

#include "base/text.h"

namespace walrelay {
namespace {

// Case does not matter, as in Debezium's EnumeratedValue.
PropertyResult Checked(const FixedOption& fixed, const std::string& value) {
  return JavaLower(value) == fixed.value ? Equivalent("same behaviour")
                                         : Refused(fmt::format("\"{}\" is not supported: {}",
                                                               Printable(value, 80), fixed.reason),
                                                   std::string(fixed.setting));
}

}  // namespace

std::optional<PropertyResult> CheckedAmong(std::span<const FixedOption> options,
                                           std::string_view name, const std::string& value) {
  for (const FixedOption& fixed : options) {
    if (fixed.name == name) {
      return Checked(fixed, value);
    }
  }
  return std::nullopt;
}

}  // namespace walrelay
