#include "sinks/kafka/topics/progress_error.h"

#include <fmt/format.h>

#include <string>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

std::string ProgressAclRemedy(std::string_view topic) {
  return fmt::format(
      "kafka-acls.sh --bootstrap-server BROKER --add --allow-principal User:NAME --operation "
      "Create --operation Describe --operation DescribeConfigs --operation Read --operation Write "
      "--topic {}  (DescribeConfigs is optional; no group is needed)",
      Printable(topic, 80));
}

}  // namespace

absl::Status AboutProgress(const absl::Status& error, std::string_view topic) {
  if (error.ok()) {
    return error;
  }
  switch (CodeOf(error)) {
    case ErrorCode::kTopicDenied:
      return Error(ErrorCode::kProgressDenied, MessageOf(error), ProgressAclRemedy(topic));
    case ErrorCode::kTopicInvalid:
      return Error(ErrorCode::kProgressTopicInvalid, MessageOf(error));
    case ErrorCode::kTopicUnknown:  // deleted meanwhile: another attempt creates it
      return Error(ErrorCode::kKafkaUnreachable, MessageOf(error));
    default:
      return error;
  }
}

}  // namespace walrelay
