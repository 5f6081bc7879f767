// RowLimits: how much of a row is processed to build its record.
//
// The memory for one row must not depend on its content. Each limit is above what fits into a
// record of kafka.max_record_bytes, so no row that could be published is rejected here (except JSON
// of which more than three quarters would be dropped: spaces, escapes, members that are null).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace walrelay {

// Derived from one configured limit, so that they need no settings of their own.
struct RowLimits {
  // The size of all columns that the record is built from, as received. Hex takes two bytes per
  // byte, JSON's escapes up to three per byte of text.
  size_t raw_bytes = 0;
  // Values of one JSON document, over all levels, and of its expansion. Each takes at least two
  // bytes of a record.
  size_t json_values = 0;
  // Names in a schema that is inferred from a document. Nested structs repeat the names of the
  // enclosing ones.
  size_t schema_bytes = 0;

  // REQUIRES: max_record_bytes > 0; the configuration permits at most 1,000,000,000, so that no
  // product overflows.
  static constexpr RowLimits For(int64_t max_record_bytes) {
    WR_CHECK(max_record_bytes > 0, "the limit is a size");
    const auto bytes = static_cast<size_t>(max_record_bytes);
    return {.raw_bytes = 4 * bytes, .json_values = bytes / 2 + 1, .schema_bytes = 32 * bytes};
  }
};

}  // namespace walrelay
