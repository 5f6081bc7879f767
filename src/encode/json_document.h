// JsonDocument: parses a JSON text into a tree equivalent to Jackson's.
//
// simdjson finds the structure. Numbers stay text, so that none is rejected for its size, and
// strings keep lone surrogates. If members have the same name, the last value is used, at the
// position of the first. Text after the first value is ignored.
//
// The number of values in a tree is bounded, whatever the text: a value takes 32 bytes, and one
// with children about 100 more. Not thread-safe. A tree is valid until the next Parse().
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

// A value of the tree. Movable, not copyable; 32 bytes, because a document may have many.
struct JsonValue {
  enum class Kind : uint8_t { kNull, kBoolean, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  // kNumber: the unchanged text. kString: the text without escapes. kArray and kObject: the
  // unchanged text, if they are members of the document itself.
  std::string_view text;

  struct Members {
    std::vector<std::string_view> names;  // of kObject, one per item
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
  // `most_values`: limit per document, over all levels.
  explicit JsonDocument(size_t most_values);
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  // The tree of the object or array at the start of `text`; nullptr for anything else: another
  // value, malformed text, more than 1000 levels. Errors: WR-3006 for too many values.
  // Copies `text`, which need not outlive the call. Numbers of more than 1000 characters are
  // malformed, as in Jackson since 2.15.
  absl::StatusOr<const JsonValue*> Parse(std::string_view text);

 private:
  // Hidden, so that this header does not need simdjson's.
  struct Parser;  // simdjson's

  size_t most_values_;
  std::unique_ptr<Parser> parser_;
  // The text with simdjson's padding behind it.
  std::string padded_;
  // For strings with escapes.
  Arena arena_;
  JsonValue root_;
};

}  // namespace walrelay
