#include "recover/scanned_topics.h"

#include <chrono>

#include "walrelay/error.h"

namespace walrelay {
namespace {

// A topic may have gigabytes since the time from which it is read.
constexpr std::chrono::minutes kReadTimeout{30};

}  // namespace

absl::StatusOr<std::string> ScannedTopics::Read(const std::string& topic,
                                                std::optional<WallTime> since,
                                                const OnRecord& on_record) {
  if (reader_ == nullptr) {
    WR_ASSIGN_OR_RETURN(reader_, sinks_.OpenReader());
  }
  return reader_->Scan(topic, since, kReadTimeout, [&](const TopicRecord& record) {
    return on_record(record.key(), record.value(), record.Header("id"));
  });
}

}  // namespace walrelay
