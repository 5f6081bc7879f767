// Record: what goes to Kafka for one event.
//
// Only views: a record owns nothing. Whoever hands one out says how long its bytes stay (the
// router: until its next call, and no longer than the replication message they were read from). A
// producer copies what it keeps before Produce() returns.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "walrelay/clock.h"

namespace walrelay {

// A record header. A null value is not an empty value: Kafka keeps the difference, and so do we.
struct Header {
  std::string_view name;
  std::optional<std::string_view> value;
};

struct Record {
  std::string_view topic;
  std::optional<std::string_view> key;
  std::optional<std::string_view> value;  // nullopt: a tombstone
  std::span<const Header> headers;        // in this order, duplicates allowed
  std::optional<int32_t> partition;       // nullopt: murmur2 of the key, as Java's producer does
  std::optional<WallTime> timestamp;      // nullopt: the producer's clock. Kafka keeps milliseconds

  // What the record counts for in the in-flight window, bytes.
  size_t payload_bytes() const { return (key ? key->size() : 0) + (value ? value->size() : 0); }
};

}  // namespace walrelay
