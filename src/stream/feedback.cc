#include "stream/feedback.h"

#include <algorithm>

#include "base/check.h"

namespace walrelay {
namespace {

// With wal_sender_timeout = 0 the server never disconnects. A dead server would then stay unnoticed
// until TCP gives up, after a quarter of an hour with Linux' defaults.
constexpr Micros kDefaultTimeout{60'000'000};

}  // namespace

// A third of the timeout: two updates in a row may be late before the server disconnects.
Feedback::Feedback(const Options& options, MonoTime now)
    : options_(options),
      timeout_(options.wal_sender_timeout.count() > 0 ? options.wal_sender_timeout
                                                      : kDefaultTimeout),
      interval_(std::min(options.longest_interval, timeout_ / 3)),
      last_received_(now),
      last_sent_(now),
      requests_since_(now) {
  WR_CHECK(timeout_ > Micros(0), "there is always a timeout");
}

// While a server shuts down, it requests a reply, and after the reply the next one, until the
// client has confirmed all that was sent (WalSndDone). In normal operation the position moves
// between two requests, or half a timeout passes.
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
  WR_CHECK(now >= last_sent_, "time does not move backwards");
  sent_frontier_ = frontier;
  last_sent_ = now;
  reply_wanted_ = false;
  if (ping) {
    last_ping_ = now;
  }
}

// The ping is checked first: it carries the frontier as well, and so serves every other cause.
std::optional<FeedbackCause> Feedback::Due(MonoTime now, Lsn frontier) const {
  WR_CHECK(frontier >= sent_frontier_, "the frontier does not move backwards in a session");
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

// The mirror of Due(): each condition there has its time here, or the loop would sleep through it.
MonoTime Feedback::NextDue(Lsn frontier) const {
  WR_CHECK(frontier >= sent_frontier_, "the frontier does not move backwards in a session");
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
