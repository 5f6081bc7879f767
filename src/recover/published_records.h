// PublishedRecords: which records the topics have already, of those that a recovery would publish.
//
// A topic is read when the first record for it comes. Fingerprints of what was read are kept, up to
// a limit that bounds the memory. Where anything is in doubt, a record counts as missing, and is
// published again: too many records in the topic, or records that may not be stored safely.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "recover/fingerprint.h"
#include "walrelay/clock.h"
#include "walrelay/record.h"

namespace walrelay {

// The seam to the topics.
class TopicTails {
 public:
  using OnRecord = std::function<absl::Status(std::optional<std::string_view> key,
                                              std::optional<std::string_view> value,
                                              std::optional<std::string_view> id)>;

  virtual ~TopicTails() = default;
  // Passes on all records of a topic; with `since`, of each partition the first one at that time or
  // later, and all after it. Blocks. Returns why they do not count; "": they count. An error of
  // `on_record` ends the reading.
  virtual absl::StatusOr<std::string> Read(const std::string& topic, std::optional<WallTime> since,
                                           const OnRecord& on_record) = 0;
  // Frees what reading needs, until the next Read().
  virtual void Release() {}
};

class PublishedRecords {
 public:
  static constexpr size_t kMostRecords = 1'000'000;  // 16 MB

  // `tails` must outlive it; nullptr: nothing is compared, and every record is missing.
  // `since`: see TopicTails::Read().
  PublishedRecords(TopicTails* tails, std::optional<WallTime> since,
                   size_t most_records = kMostRecords)
      : tails_(tails), since_(since), most_records_(most_records) {}

  // Errors: those of reading the topic.
  absl::StatusOr<bool> Contains(const Record& record);

  uint64_t records_read() const { return records_read_; }
  // Records that were read, and are not compared.
  uint64_t over_limit() const { return over_limit_; }
  // Why topics do not count, one text for each.
  const std::vector<std::string>& doubts() const { return doubts_; }

 private:
  absl::Status Load(const std::string& topic);

  TopicTails* tails_;
  std::optional<WallTime> since_;
  size_t most_records_;
  Fingerprinter fingerprinter_;
  std::set<std::string, std::less<>> topics_;  // that were read
  std::vector<Fingerprint> records_;           // sorted
  uint64_t records_read_ = 0;
  uint64_t over_limit_ = 0;
  std::vector<std::string> doubts_;
};

// The header "id" of a record; nullopt: none, or null.
std::optional<std::string_view> IdOf(const Record& record);

}  // namespace walrelay
