#include "relay/row_errors.h"

#include <fmt/format.h>

namespace walrelay {

bool IsAboutTheRow(ErrorCode code) {
  return (code >= ErrorCode::kColumnMissing && code <= ErrorCode::kUpdateRefused) ||
         code == ErrorCode::kDeliveryRefused;
}

std::optional<OnError> PolicyFor(ErrorCode code, const ErrorPolicy& policy) {
  switch (code) {
    case ErrorCode::kRouteMissing:
      return policy.null_route;
    case ErrorCode::kKeyMissing:
      return policy.null_key;
    case ErrorCode::kTopicInvalid:
      return policy.topic;
    case ErrorCode::kRecordTooLarge:
      return policy.too_large;
    case ErrorCode::kValueInvalid:
      return policy.value;
    case ErrorCode::kDeliveryRefused:
      return policy.refused;
    default:
      return std::nullopt;
  }
}

absl::Status RowErrorOf(const absl::Status& refusal) {
  if (!HasCode(refusal, ErrorCode::kBatchTooLarge)) {
    return refusal;
  }
  return Error(ErrorCode::kRecordTooLarge,
               fmt::format("{}; a single record exceeds the topic's limit", MessageOf(refusal)),
               "Raise the topic's max.message.bytes; walrelay retries the event automatically. To "
               "skip such rows, set on_error.too_large to \"dead_letter\" or \"skip\".");
}

}  // namespace walrelay
