// [route]: from a row to its topic and its timestamp.
// Filled and validated by src/config; docs/configuration.md describes each key.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "walrelay/config/column_names.h"

namespace walrelay {

// Where a record's timestamp comes from.
// kColumn falls back to the commit time for NULL, except under Debezium's rules. kNow: the record
// has no timestamp, and the producer sets it.
enum class TimestampSource : uint8_t { kCommit, kColumn, kNow };

// The rules that apply where Debezium's EventRouter and walrelay differ: the meaning of a NULL key,
// and the types that a part may have.
enum class Compatibility : uint8_t { kWalrelay, kDebezium };

// From the aggregate type to the topic.
// `regex` is in Java's syntax (route/java_regex.h). `max_topics` counts distinct topics during the
// life of the process.
struct RouteConfig {
  std::string regex = "(?<routedByValue>.*)";
  std::string topic = "outbox.event.${routedByValue}";
  std::vector<std::string> allow;  // globs over topic names; empty: all that Kafka allows
  int64_t max_topics = 1000;
  TimestampSource timestamp = TimestampSource::kCommit;
  ColumnNames timestamp_column;
  std::string commit_time_header;  // its name; "": records have none
  Compatibility compatibility = Compatibility::kWalrelay;
  bool tombstone_on_empty = false;

  bool operator==(const RouteConfig&) const = default;
};

}  // namespace walrelay
