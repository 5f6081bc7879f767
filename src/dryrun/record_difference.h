// Compares a record in a topic with the record that walrelay would have published. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "walrelay/record.h"
#include "walrelay/sink_factory.h"

namespace walrelay {

// A record that owns its bytes.
struct ExpectedRecord {
  // Copies all bytes of `record`, whose views need not outlive the call.
  explicit ExpectedRecord(const Record& record);

  std::string topic;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  std::optional<int32_t> partition;   // if the row determines it
  std::optional<WallTime> timestamp;  // if a column determines it

  // The header "id", which identifies an event; nullptr if absent.
  const std::string* id() const;
};

// Identifies an event in its topic: by the header "id", or by key and value without that header.
// The topic is part of the identity: the same id in two topics is two events. A header "id" with a
// null value counts as absent.
std::string IdentityOf(const ExpectedRecord& expected);
// All identities by which this record can be found.
// One by content, and one for each header "id".
std::vector<std::string> IdentitiesOf(const StoredRecord& stored);

// Describes the first difference, in the order partition, key, headers, value, timestamp; "" if
// there is none. Headers of Debezium's context are compared by name only: their values depend on
// the process. `key_partition`: where the topic has records with the key; nullopt: unknown.
// Long values are shown from shortly before the first different byte, escaped and truncated to 200
// bytes. Timestamps are compared in milliseconds, which is what Kafka stores, and only if both are
// known. After the number of partitions was raised, older records may differ in the partition.
std::string DifferenceOf(const ExpectedRecord& expected, const StoredRecord& stored,
                         std::optional<int32_t> key_partition);

}  // namespace walrelay
