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
  if (!scanner_) {
    WR_ASSIGN_OR_RETURN(scanner_, TopicScanner::Create(config_));
  }
  return scanner_->Scan(topic, since, kReadTimeout, [&](const ScannedRecord& record) {
    return on_record(record.key(), record.value(), record.Header("id"));
  });
}

}  // namespace walrelay
