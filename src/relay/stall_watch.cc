#include "relay/stall_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {

bool StallWatch::ShouldExamine(MonoTime now, std::optional<MonoTime> waiting_since,
                               Micros timeout) {
  WR_CHECK(timeout > Micros(0), "a request has a timeout");
  timeout_ = timeout;
  if (waiting_since != waiting_since_) {
    Forget();
    waiting_since_ = waiting_since;
    examine_at_ = waiting_since.value_or(now) + Patience();
  }
  if (!waiting_since_ || now < examine_at_) {
    return false;
  }
  examine_at_ = now + timeout_;
  return true;
}

// A result that arrives after there was progress is of no use.
bool StallWatch::OnExamined(MonoTime now, const absl::Status& brokers) {
  if (!waiting_since_ || now - *waiting_since_ < Patience()) {
    return false;
  }
  if (!brokers.ok()) {
    able_since_.reset();
    cause_ = brokers;
    examine_at_ = now + Patience();  // each examination logs in: less often than the client itself
    return false;
  }
  able_since_ = able_since_.value_or(now);
  cause_ = Error(ErrorCode::kClientStalled, fmt::format("nothing was acknowledged for {}",
                                                        FormatDuration(now - *waiting_since_)));
  return now - *able_since_ >= Patience() * (1 << replacements_);
}

void StallWatch::OnReplaced(Lsn frontier) {
  Forget();
  replacements_ = std::min(replacements_ + 1, kMostDoublings);
  replaced_at_ = frontier;
}

void StallWatch::OnFrontier(Lsn frontier) {
  if (replacements_ > 0 && frontier > replaced_at_) {
    replacements_ = 0;
  }
}

void StallWatch::Forget() {
  waiting_since_.reset();
  able_since_.reset();
  cause_ = absl::OkStatus();
}

}  // namespace walrelay
