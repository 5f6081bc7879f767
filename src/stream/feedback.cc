#include "stream/feedback.h"

#include <algorithm>

#include "base/check.h"

namespace walrelay {
namespace {

constexpr Micros kDefaultTimeout{60'000'000};

}  // namespace

Feedback::Feedback(const Options& options, MonoTime now)
    : options_(options),
      timeout_(options.wal_sender_timeout.count() > 0 ? options.wal_sender_timeout
                                                      : kDefaultTimeout),
      interval_(std::min(options.longest_interval, timeout_ / 3)),
      last_received_(now),
      last_sent_(now),
      requests_since_(now) {}

void Feedback::OnKeepalive(MonoTime now, Lsn wal_end, bool reply_requested) {
  if (!reply_requested) {
    return;
  }
  reply_wanted_ = true;
  if (wal_end != requested_wal_end_ || now - requests_since_ > kLeavingWindow) {
    requested_wal_end_ = wal_end;
    requests_since_ = now;
    stalled_requests_ = 0;
  }
  ++stalled_requests_;
}

void Feedback::OnSent(MonoTime now, Lsn frontier, bool ping) {
  WR_CHECK(frontier >= sent_frontier_, "the confirmed position never moves backwards");
  sent_frontier_ = frontier;
  last_sent_ = now;
  reply_wanted_ = false;
  if (ping) {
    last_ping_ = now;
  }
}

std::optional<FeedbackCause> Feedback::Due(MonoTime now, Lsn frontier) const {
  if (now >= PingDue()) {
    return FeedbackCause::kPing;
  }
  if (reply_wanted_ && now >= last_sent_ + options_.reply_spacing) {
    return FeedbackCause::kRequested;
  }
  if (frontier > sent_frontier_ && now >= last_sent_ + options_.progress_delay) {
    return FeedbackCause::kProgress;
  }
  if (now >= last_sent_ + interval_) {
    return FeedbackCause::kInterval;
  }
  return std::nullopt;
}

MonoTime Feedback::NextDue(Lsn frontier) const {
  MonoTime next = std::min(PingDue(), last_sent_ + interval_);
  if (reply_wanted_) {
    next = std::min(next, last_sent_ + options_.reply_spacing);
  }
  if (frontier > sent_frontier_) {
    next = std::min(next, last_sent_ + options_.progress_delay);
  }
  return std::min(next, last_received_ + timeout_);
}

// One ping per period of silence: the next is due half a timeout after the last byte or the last
// ping, whichever is later.
MonoTime Feedback::PingDue() const {
  return std::max(last_received_, last_ping_.value_or(last_received_)) + timeout_ / 2;
}

}  // namespace walrelay
