#include "debezium/java_properties.h"

#include <fmt/format.h>

#include <set>

#include "base/properties_reader.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {

absl::StatusOr<JavaProperties> ParseJavaProperties(std::string_view text) {
  JavaProperties out;
  std::set<std::string_view> names;
  Arena arena;
  PropertiesReader reader(text, arena);
  while (const auto property = reader.Next()) {
    if (!property->well_formed) {
      return Error(
          ErrorCode::kConfigSyntax,
          fmt::format("line {}: expected four hexadecimal digits after \\u", reader.line()));
    }
    // Java would use the last value without a message. Here the first one might be the one that the
    // operator has in mind, so the file is rejected.
    if (!names.insert(property->name).second) {
      return Error(ErrorCode::kConfigSyntax,
                   fmt::format("line {}: \"{}\" is given twice", reader.line(),
                               Printable(property->name, 80)));
    }
    out.emplace_back(property->name, property->value);
  }
  return out;
}

}  // namespace walrelay
