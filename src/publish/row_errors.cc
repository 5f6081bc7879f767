#include "publish/row_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/text.h"

namespace walrelay {

OnError PolicyFor(const absl::Status& error, const ErrorPolicy& policy) {
  switch (CodeOf(error)) {
#define WALRELAY_ERROR(number, name, status, reaction, scope, title, meaning, remedy)
#define WALRELAY_ROW_ERROR(number, name, status, reaction, key, title, meaning, remedy) \
  case ErrorCode::k##name:                                                              \
    return policy.key;
#include "walrelay/config/on_error.h"
#include "walrelay/error_codes.def"
    default:
      return OnError::kStop;
  }
}

namespace {

// No limit for events: key, value and headers of almost every row are larger.
constexpr size_t kSmallestLimit = 1024;
// Clocks that agree differ by less.
constexpr Micros kSameTime = std::chrono::minutes(1);

absl::Status TooLarge(const absl::Status& refusal, const RefusedRecord& record) {
  if (record.bytes <= kSmallestLimit) {
    return Error(ErrorCode::kTopicRefuses,
                 fmt::format("{}; a record of {} bytes exceeds the topic's limit",
                             MessageOf(refusal), record.bytes),
                 "Raise the topic's max.message.bytes; walrelay retries the event automatically.");
  }
  return Error(ErrorCode::kRecordTooLarge,
               fmt::format("{}; a single record exceeds the topic's limit", MessageOf(refusal)),
               "Raise the topic's max.message.bytes; walrelay retries the event automatically. To "
               "skip such rows, set on_error.too_large to \"dead_letter\" or \"skip\".");
}

// The years that Rfc3339() can write: a column may have any, and differences of such times
// overflow.
WallTime Limited(WallTime time) {
  return std::clamp<WallTime>(time, std::chrono::sys_days(std::chrono::year(1) / 1 / 1),
                              std::chrono::sys_days(std::chrono::year(9999) / 12 / 31));
}

absl::Status TimeError(const absl::Status& refusal, const RefusedRecord& record) {
  const WallTime time = Limited(record.time.value_or(record.now));
  const std::string what = fmt::format("{}; its time is {}", MessageOf(refusal), Rfc3339(time));
  if (time > record.now + kSameTime) {
    return Error(ErrorCode::kRecordTimeRefused,
                 fmt::format("{}, {} ahead of this machine's clock", what,
                             FormatDuration(time - record.now)),
                 "Compare the clock of the database server, which gives an event its commit time, "
                 "with the brokers' clocks. walrelay retries automatically: Kafka accepts the "
                 "event when its clocks have come closer than the topic's "
                 "message.timestamp.after.max.ms. To publish earlier, raise that setting of the "
                 "topic, or set route.timestamp = \"now\" and restart walrelay.");
  }
  if (time < record.now - kSameTime) {
    return Error(
        ErrorCode::kRecordTimeRefused,
        fmt::format("{}, {} before this machine's clock", what, FormatDuration(record.now - time)),
        "Raise the topic's message.timestamp.before.max.ms: walrelay retries "
        "automatically. Or set route.timestamp = \"now\" and restart walrelay.");
  }
  return Error(ErrorCode::kRecordTimeRefused,
               fmt::format("{}, which agrees with this machine's clock", what),
               "Compare the clocks of this machine and of the brokers. walrelay retries "
               "automatically.");
}

// Whether the brokers would have accepted the row's commit time, as far as this can be known: a
// column with the time of the INSERT is as wrong as the clock of the database, and as old as the
// backlog.
bool IsOwnTime(const RefusedRecord& record) {
  if (!record.time || record.time == record.commit_time) {
    return false;
  }
  if (*record.time > record.now) {
    return record.commit_time <= record.now + kSameTime;
  }
  return record.commit_time - Limited(*record.time) >
         std::max<Micros>(record.now - record.commit_time, std::chrono::hours(1));
}

}  // namespace

absl::Status RowErrorOf(const absl::Status& refusal, const RefusedRecord& record) {
  if (HasCode(refusal, ErrorCode::kBatchTooLarge)) {
    return TooLarge(refusal, record);
  }
  if (!HasCode(refusal, ErrorCode::kRecordTimeRefused)) {
    return refusal;
  }
  const absl::Status error = TimeError(refusal, record);
  return IsOwnTime(record)
             ? Error(ErrorCode::kDeliveryRefused,
                     fmt::format("{}; the row's column for route.timestamp has this time",
                                 MessageOf(error)))
             : error;
}

}  // namespace walrelay
