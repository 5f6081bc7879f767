// Record: the Kafka record of one event.
//
// Only views: a record owns nothing. The function that returns a record specifies how long its
// bytes stay valid (the router: until its next call, and no longer than the replication message
// they were read from). A sink copies what it keeps before Produce() returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "walrelay/clock.h"
#include "walrelay/record_position.h"

namespace walrelay {

// A record header. A null value differs from an empty value, as in Kafka.
struct Header {
  std::string_view name;
  std::optional<std::string_view> value;
};

// One record to be produced.
// REQUIRES: `topic` is a legal name (route/topic_name.h), and `partition`, if present, is not
// negative; whether the topic has that partition is checked by the sink.
struct Record {
  std::string_view topic;
  std::optional<std::string_view> key;
  std::optional<std::string_view> value;  // nullopt: a tombstone
  std::span<const Header> headers;        // in this order, duplicates allowed
  std::optional<int32_t> partition;       // nullopt: murmur2 of the key, as Java's sink does
  std::optional<WallTime> timestamp;      // nullopt: the sink's clock. Kafka keeps milliseconds
  std::optional<RecordPosition> position = std::nullopt;  // nullopt: without the header "wr-pos"

  // Key and value, bytes.
  size_t payload_bytes() const { return (key ? key->size() : 0) + (value ? value->size() : 0); }

  // The record's size in the in-flight window, bytes: about the memory that a sink uses for it.
  size_t window_bytes() const { return WindowBytes(payload_bytes(), headers); }

  // The same, when the record itself no longer exists.
  static size_t WindowBytes(size_t payload_bytes, std::span<const Header> headers) {
    size_t bytes = kOverheadBytes + payload_bytes;
    for (const Header& header : headers) {
      bytes += header.name.size() + (header.value ? header.value->size() : 0);
    }
    return bytes;
  }

  // librdkafka's own structures for a message and its headers, rounded up.
  static constexpr size_t kOverheadBytes = 512;
};

}  // namespace walrelay
