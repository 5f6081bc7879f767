// Comparison: compares the records in the topics with the expected records.
//
// Not thread-safe. Its methods block on the brokers.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/string_hash.h"
#include "dryrun/record_difference.h"
#include "walrelay/clock.h"
#include "walrelay/sink_factory.h"

namespace walrelay {

// Owns the expected and the stored records: memory grows with both, so it is for a minute of events
// or for single rows, not for a whole topic.
class Comparison {
 public:
  // `sinks` must outlive the comparison. `since`: older records in the topics are ignored.
  // Connects to nothing yet. The topics to read are those of `expected`. nullopt for `since`: all
  // records of the topics. `ignored_header`: a header of this name is not compared; "": every one
  // is.
  Comparison(SinkFactory& sinks, std::vector<ExpectedRecord> expected,
             std::optional<WallTime> since, const std::string& ignored_header);

  // Reads the topics until every event is found or `timeout` has passed. An event that is not found
  // is a difference, not an error. Errors: those of reading the topics.
  // Reads the topics from their beginning (or `since`) each time, with a pause of one second, and
  // once even if `timeout` is 0. One reading may itself take 30 seconds. REQUIRES: called before
  // PrintDifferences().
  absl::Status Find(Micros timeout);

  // Prints the first differences to standard output; returns how many events differ.
  // At most twenty are printed; all are counted. A repeated event is compared by its first record.
  // Does not connect.
  size_t PrintDifferences() const;

 private:
  void Index();
  // The first record with the identity; nullptr if there is none.
  const StoredRecord* Stored(const ExpectedRecord& record) const;
  // Asks for the partition counts, with which the partition of a key is computed.
  absl::Status CountPartitions();
  std::string Differs(const ExpectedRecord& record, const StoredRecord& stored) const;

  SinkFactory& sinks_;
  const std::optional<WallTime> since_;
  const std::string ignored_header_;
  std::vector<ExpectedRecord> expected_;
  std::vector<std::string> topics_;
  std::vector<StoredRecord> stored_;
  StringMap<const StoredRecord*> index_;                // by identity; points into stored_
  std::map<std::string, int, std::less<>> partitions_;  // by topic
};

}  // namespace walrelay
