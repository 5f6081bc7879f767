#include "encode/properties_text.h"

#include "base/properties_reader.h"

namespace walrelay {

std::optional<std::string_view> PropertyIn(std::string_view text, std::string_view key,
                                           Arena& arena) {
  std::optional<std::string_view> found;
  PropertiesReader reader(text, arena);
  // To the end: the last value of a name counts, as in Properties.load().
  while (const auto property = reader.Next()) {
    if (property->name == key) {
      found = property->value;
    }
  }
  return found;
}

}  // namespace walrelay
