// StatusReporter: turns the relay's state into what operators see: the status board, the gauges,
// and a log line for each change of state.
//
// It changes nothing in the relay, and knows it by a RelayView only. Single-threaded; other threads
// read the board and the metrics.
#pragma once

#include "absl/status/status.h"
#include "metrics/metrics.h"
#include "status/delivery_meter.h"
#include "status/relay_gauges.h"
#include "status/relay_view.h"
#include "status/status_board.h"
#include "walrelay/clock.h"

namespace walrelay {

// Operators act on what this class publishes: the errors of a session that has ended are shown
// until there is progress.
class StatusReporter {
 public:
  // The arguments must outlive it. It takes the points of the chart from `deliveries`.
  StatusReporter(Metrics& metrics, StatusBoard& board, DeliveryMeter& deliveries)
      : metrics_(metrics), board_(board), deliveries_(deliveries), gauges_(metrics) {}

  // Call it once a turn. True if the status is due to be published: at intervals, and always once
  // the relay has finished.
  bool OnTurn(MonoTime now, bool finished);
  // The next OnTurn() returns true: what is shown is outdated, and an operator acts on it.
  void PublishNext() { due_ = MonoTime(); }
  // Updates the board and the gauges, and logs a change of state. Call it when OnTurn() returned
  // true, at the end of the turn: the view is of the state that the turn left.
  void Publish(const RelayView& view);

 private:
  // Logs a state, or an error code, that differs from the published one.
  void NoteChange(const RelayStatus& status, const RelayView& view);
  // Logs that a large row arrives.
  void NoteIncoming(uint64_t bytes);
  // Shows other threads what the stream has published.
  void PublishProof(const RelayView& view);

  Metrics& metrics_;
  StatusBoard& board_;
  DeliveryMeter& deliveries_;
  RelayGauges gauges_;
  // Operators have seen these last; a line is logged when they change.
  RelayState published_state_ = RelayState::kStopped;
  absl::Status published_error_;
  WallTime published_since_;
  bool large_row_noted_ = false;
  MonoTime due_;  // when the board is updated next
};

}  // namespace walrelay
