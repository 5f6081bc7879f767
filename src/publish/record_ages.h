// The ages of records that are to be published, compared with how long their topics keep records.
//
// A topic deletes a record with the commit time of an event that is older than that soon after the
// record was acknowledged.
//
// Pure, except for ReadDeletedAtOnce().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/string_hash.h"
#include "walrelay/clock.h"
#include "walrelay/sink_factory.h"

namespace walrelay {

// Records of a topic that it would delete at once.
struct DeletedAtOnce {
  std::string topic;
  Micros kept{0};
  uint64_t records = 0;
  uint64_t of = 0;  // of this topic

  friend bool operator==(const DeletedAtOnce&, const DeletedAtOnce&) = default;
};

// The ages of records that are to be published, by topic. Memory: 15 MB at most.
class RecordAges {
 public:
  // Records of further topics are only counted: rows choose the topics, and route.max_topics may
  // allow any number.
  static constexpr size_t kMostTopics = 10'000;
  // The hours that are told apart, over all topics, besides one for each. Rows may choose any time:
  // a record of a further hour counts as one of an earlier hour that has records.
  static constexpr size_t kMostHours = 100'000;

  // `time`: of the record; nullopt: the sink's clock, so the record is new.
  void Note(std::string_view topic, std::optional<WallTime> time);

  // By name.
  std::vector<std::string> topics() const;
  // Records whose age is not known, because they are for further topics.
  uint64_t uncompared() const { return uncompared_; }
  // The topics that would delete records at once, by name. `kept`: see
  // SinkFactory::ReadRetention(). Records within an hour count as its oldest one does.
  std::vector<DeletedAtOnce> DeletedBy(const std::map<std::string, Micros, std::less<>>& kept,
                                       WallTime now) const;

 private:
  struct Ages {
    uint64_t records = 0;
    std::map<std::chrono::sys_time<std::chrono::hours>, uint64_t> by_hour;
  };
  StringMap<Ages> topics_;
  size_t hours_ = 0;  // entries of by_hour, over all topics
  uint64_t uncompared_ = 0;
};

// "3 of 10 records for topic orders are older than the 7 days for which it keeps records".
std::string Describe(const DeletedAtOnce& deleted);

// Asks the brokers how long the topics of `ages` keep records. A topic that does not exist yet, or
// whose settings the user may not read, is not compared. Blocks for 30 seconds at most. Errors:
// those of SinkFactory::ReadRetention(); WR-4038 if `ages` has uncompared records.
absl::StatusOr<std::vector<DeletedAtOnce>> ReadDeletedAtOnce(SinkFactory& sinks,
                                                             const RecordAges& ages, WallTime now);

}  // namespace walrelay
