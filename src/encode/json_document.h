// JsonDocument: a JSON text as a tree that keeps what Jackson's would.
//
// simdjson finds the structure; numbers stay text, so that none is refused for its size, and
// strings keep lone surrogates. Of members of the same name the last counts, in the place of the
// first. Text behind the first value is ignored.
//
// Not thread-safe. A tree lives until the next Parse().
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"

namespace walrelay {

struct JsonValue {
  enum class Kind : uint8_t { kNull, kBoolean, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  // Of kNumber as it stands, of kString without escapes; of kArray and kObject as they stand, if
  // they are members of the document itself.
  std::string_view text;
  std::vector<std::string_view> names;  // of kObject, one for each of items
  std::vector<JsonValue> items;
};

class JsonDocument {
 public:
  JsonDocument();
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  // The tree of an object or an array that `text` begins with; nullptr for anything else: another
  // value, malformed text, more than 1000 levels.
  const JsonValue* Parse(std::string_view text);

 private:
  struct Parser;  // simdjson's

  std::unique_ptr<Parser> parser_;
  std::string padded_;
  Arena arena_;
  JsonValue root_;
};

}  // namespace walrelay
