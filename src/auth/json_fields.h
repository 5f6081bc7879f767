// The members of a small JSON object, as identity services answer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "walrelay/secret.h"

namespace walrelay {

// Strings and numbers at the top level by name; other members are ignored. Every value may be a
// secret.
class JsonFields {
 public:
  // nullopt: `text` is not a JSON object.
  static std::optional<JsonFields> Parse(std::string_view text);

  // "" for a member that is absent or not a string.
  const Secret& Text(std::string_view name) const;
  // nullopt for a member that is absent, or not a whole number of 64 bits; a fraction is cut off.
  std::optional<int64_t> Number(std::string_view name) const;

 private:
  std::map<std::string, Secret, std::less<>> texts_;
  std::map<std::string, int64_t, std::less<>> numbers_;
};

}  // namespace walrelay
