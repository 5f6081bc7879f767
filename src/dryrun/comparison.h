// Comparison: compares the records in the topics with the expected records.
//
// Not thread-safe. Its methods block on Kafka.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/string_hash.h"
#include "dryrun/record_difference.h"
#include "kafka/topic_reader.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"

namespace walrelay {

class Comparison {
 public:
  // `kafka` must outlive the comparison. `since`: older records in the topics are ignored.
  Comparison(const KafkaConfig& kafka, std::vector<ExpectedRecord> expected,
             std::optional<WallTime> since);

  // Reads the topics until every event is found or `timeout` has passed. An event that is not found
  // is a difference, not an error. Errors: those of reading the topics.
  absl::Status Find(Micros timeout);

  // Prints the first differences to standard output; returns how many events differ.
  size_t PrintDifferences() const;

 private:
  void Index();
  // The first record with the identity; nullptr if there is none.
  const StoredRecord* Stored(const ExpectedRecord& record) const;
  // Asks for the partition counts, with which the partition of a key is computed.
  absl::Status CountPartitions();
  std::string Differs(const ExpectedRecord& record, const StoredRecord& stored) const;

  const KafkaConfig& kafka_;
  const std::optional<WallTime> since_;
  std::vector<ExpectedRecord> expected_;
  std::vector<std::string> topics_;
  std::vector<StoredRecord> stored_;
  StringMap<const StoredRecord*> index_;  // by identity; points into stored_
  StringMap<int> partitions_;             // by topic
};

}  // namespace walrelay
