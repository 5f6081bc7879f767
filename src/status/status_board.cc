#include "status/status_board.h"

#include <utility>

#include "walrelay/error.h"

namespace walrelay {
namespace {

// One hour of points at ten-second intervals.
constexpr size_t kMaxPoints = 360;

}  // namespace

std::string_view NameOf(RelayState state) {
  switch (state) {
    case RelayState::kStarting:
      return "starting";
    case RelayState::kStandby:
      return "standby";
    case RelayState::kCatchingUp:
      return "catching_up";
    case RelayState::kStreaming:
      return "streaming";
    case RelayState::kDegraded:
      return "degraded";
    case RelayState::kBlocked:
      return "blocked";
    case RelayState::kDraining:
      return "draining";
    case RelayState::kStopped:
      return "stopped";
  }
  return "?";
}

std::string_view NameOf(TransactionState state) {
  switch (state) {
    case TransactionState::kClaiming:
      return "claiming";
    case TransactionState::kIdle:
      return "idle";
    case TransactionState::kOpen:
      return "open";
    case TransactionState::kCommitting:
      return "committing";
  }
  return "?";
}

// A standby is ready: it would take over, and an orchestrator must not restart it because it waits.
// A blocked relay is not, although a restart would not help: readiness is what operators watch.
bool IsReady(RelayState state) {
  return state == RelayState::kStandby || state == RelayState::kCatchingUp ||
         state == RelayState::kStreaming;
}

// A slot without a sample yet is not held against the instance.
bool IsReady(const StatusSnapshot& snapshot) {
  // A slot at risk needs an operator before events are lost, so the instance is not ready, although
  // it still publishes.
  const bool slot_is_safe = !snapshot.slot || snapshot.slot->risk < SlotRisk::kCritical;
  return IsReady(snapshot.relay.state) && snapshot.source_problem.ok() && slot_is_safe;
}

void StatusBoard::NoteError(const absl::Status& error, WallTime now) {
  const std::lock_guard lock(mutex_);
  errors_.Add(error, now);
}

// The lag is added here, because the sampler's thread knows it and the relay's does not.
void StatusBoard::AddPoint(HistoryPoint point) {
  const std::lock_guard lock(mutex_);
  if (shown_.slot && shown_.slot->exists) {
    point.lag_bytes = shown_.slot->lag_bytes();
  }
  if (history_.size() >= kMaxPoints) {
    history_.pop_front();
  }
  history_.push_back(point);
}

// One lock for all parts, so that they belong together.
StatusSnapshot StatusBoard::Snapshot() const {
  const std::lock_guard lock(mutex_);
  StatusSnapshot snapshot = shown_;
  snapshot.errors = errors_.errors();
  snapshot.history.assign(history_.begin(), history_.end());
  return snapshot;
}

StatusSnapshot WithoutRowData(StatusSnapshot snapshot) {
  const auto hide = [](absl::Status& error) {
    if (!error.ok() && ScopeOf(error) == Scope::kRow) {
      error = Error(CodeOf(error), Describe(CodeOf(error)).title);
    }
  };
  hide(snapshot.relay.error);
  for (PastError& past : snapshot.errors) {
    hide(past.error);
  }
  // The detail of a gap has positions only.
  if (!snapshot.relay.gap && !snapshot.relay.detail.empty()) {
    snapshot.relay.detail = "the log names the row (http.row_data = false)";
  }
  return snapshot;
}

}  // namespace walrelay
