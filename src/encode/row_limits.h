// RowLimits: how much of a row is taken in to make a record of it.
//
// Memory for one row must not depend on what writers put into it. Each limit is above what fits
// into a record of kafka.max_record_bytes, so that nothing is refused here that could have been
// published (but for JSON of which more than three quarters would be left out: spaces, escapes,
// members that are null).
#pragma once

#include <cstddef>
#include <cstdint>

namespace walrelay {

struct RowLimits {
  // Of all columns that a record is made of, as they are in the stream. Hex takes two bytes for
  // one, JSON's escapes up to three for one of text.
  size_t raw_bytes = 0;
  // Values of one JSON document, at all levels together; also of what it is expanded to. Each takes
  // two bytes of a record at least.
  size_t json_values = 0;
  // Names in a schema that is inferred from a document. Nested structs repeat the names of those
  // around them.
  size_t schema_bytes = 0;

  static constexpr RowLimits For(int64_t max_record_bytes) {
    const auto bytes = static_cast<size_t>(max_record_bytes);
    return {.raw_bytes = 4 * bytes, .json_values = bytes / 2 + 1, .schema_bytes = 32 * bytes};
  }
};

}  // namespace walrelay
