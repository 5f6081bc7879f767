// Reads the text format of java.util.Properties: comments, continued lines, escapes.
//
// Source: java.util.Properties.load(Reader).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/arena.h"

namespace walrelay {

struct Property {
  std::string_view name;
  std::string_view value;
  bool well_formed = true;  // false: \u is not followed by four hexadecimal digits, and means "u"
};

class PropertiesReader {
 public:
  // Both outlive the reader and the properties, which point into them. A property uses at most as
  // much of the arena as its text is long, and nothing if it has no escapes.
  PropertiesReader(std::string_view text, Arena& arena) : text_(text), rest_(text), arena_(arena) {}

  // The next property, in the order of the text; nullopt at the end.
  // Never fails: every text is a sequence of properties. A property without a separator has an
  // empty value.
  std::optional<Property> Next();

  // The first line of the last property, counted from 1.
  size_t line() const;

 private:
  bool SkipToProperty();
  void SkipBlanks();
  std::string_view TakeUntil(std::string_view ends);
  std::string_view Unescape(std::string_view escaped, bool& well_formed);

  const std::string_view text_;
  std::string_view rest_;
  size_t start_ = 0;  // of the last property
  Arena& arena_;
};

}  // namespace walrelay
