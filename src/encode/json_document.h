// JsonDocument: a JSON text as a tree that keeps what Jackson's would.
//
// simdjson finds the structure; numbers stay text, so that none is refused for its size, and
// strings keep lone surrogates. Of members of the same name the last counts, in the place of the
// first. Text behind the first value is ignored.
//
// A tree has a bounded number of values, whatever the text: one takes 32 bytes, and one with others
// in it about 100 more. Not thread-safe. A tree lives until the next Parse().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/arena.h"

namespace walrelay {

struct JsonValue {
  enum class Kind : uint8_t { kNull, kBoolean, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  // Of kNumber as it stands, of kString without escapes; of kArray and kObject as they stand, if
  // they are members of the document itself.
  std::string_view text;

  struct Members {
    std::vector<std::string_view> names;  // of kObject, one for each of items
    std::vector<JsonValue> items;
  };
  std::unique_ptr<Members> members;  // nullptr: none

  const std::vector<std::string_view>& names() const { return MembersOrNone().names; }
  const std::vector<JsonValue>& items() const { return MembersOrNone().items; }

 private:
  const Members& MembersOrNone() const {
    static const Members kNone;
    return members != nullptr ? *members : kNone;
  }
};

class JsonDocument {
 public:
  // `most_values`: of a document, at all levels together.
  explicit JsonDocument(size_t most_values);
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  // The tree of an object or an array that `text` begins with; nullptr for anything else: another
  // value, malformed text, more than 1000 levels. Errors: WR-3006 for too many values.
  absl::StatusOr<const JsonValue*> Parse(std::string_view text);

 private:
  struct Parser;  // simdjson's

  size_t most_values_;
  std::unique_ptr<Parser> parser_;
  std::string padded_;
  Arena arena_;
  JsonValue root_;
};

}  // namespace walrelay
