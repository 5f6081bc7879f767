// Whether a topic could be created: for `walrelay doctor`.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "walrelay/config.h"

namespace walrelay {

struct TopicCreation {
  // What creating the topic would end with, "" when it would be created; absent without an answer.
  std::optional<std::string> refusal;
  bool denied = false;  // the refusal is one of rights
};

// Asks by a request that only validates: nothing is created. Blocks, for `timeout` at most.
// Errors: WR-4006.
absl::StatusOr<TopicCreation> AskAboutCreation(const KafkaConfig& kafka, const std::string& topic,
                                               Micros timeout);

}  // namespace walrelay
