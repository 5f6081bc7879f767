// Whether a topic could be created: for `walrelay doctor`.
//
// Needs no privilege to read: the brokers check a request that is only validated in the same way as
// a real one.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "walrelay/config.h"

namespace walrelay {

struct TopicCreation {
  // The error of creating the topic, "" when it would succeed; absent without an answer.
  // As the brokers put it, for the operator.
  std::optional<std::string> refusal;
  bool denied = false;  // refused for lack of a privilege
};

// Sends a request that is only validated: nothing is created. Blocks for at most `timeout`. Errors:
// WR-4006.
// A topic that exists already is not refused. Without an answer within `timeout` the result is
// empty, which is no error.
absl::StatusOr<TopicCreation> CheckTopicCreation(const KafkaConfig& kafka, const std::string& topic,
                                                 Micros timeout);

}  // namespace walrelay
