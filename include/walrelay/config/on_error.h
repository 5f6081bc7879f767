// [on_error]: what happens to a row that cannot be published.
// Filled and validated by src/config; docs/configuration.md describes each key.
#pragma once

#include <cstdint>
#include <string>

namespace walrelay {

// How walrelay handles a row that cannot be published, for one cause.
// kStop blocks publishing before the row; the others let the relay continue behind it, after a log
// line that is never suppressed (LogAudit()).
enum class OnError : uint8_t { kStop, kDeadLetter, kSkip };

// How walrelay handles a row that cannot be published, by cause.
// `dead_letter_topic` is set if any cause is kDeadLetter. Causes: WR-3003 null_route, WR-3004
// null_key, WR-3005 topic, WR-3006 too_large, WR-3007 value, WR-4003 refused.
struct ErrorPolicy {
  OnError null_route = OnError::kStop;
  OnError null_key = OnError::kStop;
  OnError topic = OnError::kStop;
  OnError too_large = OnError::kStop;
  OnError value = OnError::kStop;
  OnError refused = OnError::kStop;  // by the brokers, for a reason other than its size
  std::string dead_letter_topic;

  bool operator==(const ErrorPolicy&) const = default;
};

}  // namespace walrelay
