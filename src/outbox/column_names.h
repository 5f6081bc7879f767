// The names that outbox tables give to the columns of each part of an event.
//
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace walrelay {

enum class ColumnUse : uint8_t {
  kId,
  kAggregateType,
  kTopic,  // the value is already the name of a destination
  kAggregateId,
  kEventType,
  kPayload,
  kTime,
  kTraceId,
  kTraceparent,
  kTracestate,
  kHeader,
  kMark,      // set when an event was published
  kState,     // of a process that polls the table: status, attempts, locks
  kEncoding,  // says that the payload is compressed or encrypted
};

// The usual names of a column with this use, in the form of NormalizedName(), the most specific
// one first. Literals.
std::span<const std::string_view> UsualNames(ColumnUse use);

// In lower case, without anything but letters and digits: "aggregateId", "AGGREGATE_ID" and
// "aggregate-id" are the same name.
std::string NormalizedName(std::string_view name);

}  // namespace walrelay
