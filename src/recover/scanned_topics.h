// ScannedTopics: the topics of a recovery, as they are stored.
//
// Not thread-safe. Blocks. The client exists from the first topic on, until
// Release().
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "recover/published_records.h"
#include "walrelay/clock.h"
#include "walrelay/sink_factory.h"

namespace walrelay {

class ScannedTopics final : public TopicTails {
 public:
  // `sinks` must outlive it.
  explicit ScannedTopics(SinkFactory& sinks) : sinks_(sinks) {}

  absl::StatusOr<std::string> Read(const std::string& topic, std::optional<WallTime> since,
                                   const OnRecord& on_record) override;
  void Release() override { reader_.reset(); }

 private:
  SinkFactory& sinks_;
  std::unique_ptr<TopicReader> reader_;
};

}  // namespace walrelay
