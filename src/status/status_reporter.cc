#include "status/status_reporter.h"

#include <utility>

#include "base/log.h"
#include "status/relay_description.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Often enough for a page that refreshes each second, rare enough to cost nothing.
constexpr Micros kInterval = std::chrono::milliseconds(200);

}  // namespace

bool StatusReporter::OnTurn(MonoTime now, bool finished) {
  if (now < due_ && !finished) {
    return false;
  }
  due_ = now + kInterval;
  return true;
}

void StatusReporter::Publish(const RelayView& view) {
  RelayStatus status = Describe(view, published_state_);
  NoteChange(status, view);
  status.since = published_since_;
  NoteIncoming(status.figures.incoming_bytes);
  gauges_.Update(view, status.state);
  if (auto point = deliveries_.TakePoint(view.now, view.wall)) {
    board_.AddPoint(*std::move(point));
  }
  PublishProof(view);
  board_.Publish(std::move(status));
  metrics_.ready->Set(board_.ready() ? 1 : 0);
}

// Messages differ in positions and counts; only another code is a change that is worth a log line.
// A degraded state without a stream is a lost connection, which was logged when it happened.
void StatusReporter::NoteChange(const RelayStatus& status, const RelayView& view) {
  const bool same_error = status.error.ok() == published_error_.ok() &&
                          (status.error.ok() || CodeOf(status.error) == CodeOf(published_error_));
  if (status.state == published_state_ && same_error) {
    return;
  }
  if (status.state == RelayState::kBlocked ||
      (status.state == RelayState::kDegraded && view.stream)) {
    LogStatus(LogLevel::kError, NameOf(status.state), status.error, {{"where", status.detail}});
    board_.NoteError(status.error, view.wall);
  } else if (status.state != RelayState::kStopped) {
    LogInfo("state", NameOf(status.state));
  }
  published_since_ = status.state != published_state_ ? view.wall : published_since_;
  published_state_ = status.state;
  published_error_ = status.error;
}

// The last line of a process that the kernel kills, because the row does not fit into memory.
void StatusReporter::NoteIncoming(uint64_t bytes) {
  constexpr uint64_t kLarge = uint64_t{64} << 20;
  const bool large = bytes >= kLarge;
  if (large && !large_row_noted_) {
    LogInfo("large_row", "a row of many megabytes is arriving", {{"bytes", bytes}});
  }
  large_row_noted_ = large;
}

// While a gap is held, the last proof may be of another server.
void StatusReporter::PublishProof(const RelayView& view) {
  if (view.held) {
    board_.ForgetPublished();
  } else {
    board_.SetPublished(view.proof);
  }
}

}  // namespace walrelay
