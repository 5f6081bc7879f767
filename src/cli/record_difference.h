// What tells a record that stands in a topic from the one that should.
//
// Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kafka/topic_dump.h"
#include "walrelay/record.h"

namespace walrelay {

// A record with bytes of its own.
struct ExpectedRecord {
  explicit ExpectedRecord(const Record& record);

  std::string topic;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  std::optional<int32_t> partition;   // where the row names it
  std::optional<WallTime> timestamp;  // where a column gives it

  // The header "id", by which an event is known; nullptr: there is none.
  const std::string* id() const;
};

// By what an event is known in its topic: the header "id", or key and value where it has none.
std::string IdentityOf(const ExpectedRecord& expected);
// Those by which this record may be known.
std::vector<std::string> IdentitiesOf(const StoredRecord& stored);

// The first difference, in words: partition, key, headers, value, timestamp, in this order; ""
// where there is none. Headers of Debezium's context are compared by name: their values name the
// process. `partitions`: of the topic; a key's own partition is compared where it is not 0.
std::string DifferenceOf(const ExpectedRecord& expected, const StoredRecord& stored,
                         int partitions);

}  // namespace walrelay
