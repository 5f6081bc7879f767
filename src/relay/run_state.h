// RunState: the values of the relay's state machine that its helpers read.
//
// Only Relay writes it. SlotConnector and SinkMonitor hold a const reference, on the same
// thread; it outlives them as a member of Relay. No value is shared with other threads: what they
// see is the StatusBoard.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "status/relay_view.h"
#include "stream/gap.h"
#include "walrelay/clock.h"
#include "walrelay/published_transaction.h"

namespace walrelay {

// A transaction at which the stream fails again and again, because the server cannot send it, or
// what it sends cannot be read.
struct StuckTransaction {
  PublishedTransaction transaction;
  uint64_t rows = 0;  // of it that were received
  // How an operator names it, in `walrelay resume`: the rest of the transaction is what would be
  // missing.
  Gap gap;
  bool accepted = false;  // an operator has decided to continue without the rest of it
};

// A struct of plain values rather than methods on Relay: its helpers see what they need, and cannot
// call back into the state machine.
struct RunState {
  using Phase = RelayView::Phase;

  Phase phase = Phase::kDisconnected;
  MonoTime retry_at;        // of the next connection attempt, unless streaming
  absl::Status last_error;  // of the last connection or sink, while there is no session
  // Blocked errors outlive the session that reported them, because the next one meets the same row.
  absl::Status blocked_error;  // why publishing is blocked, until there is progress again
  std::optional<StuckTransaction> stuck;
  std::string accepted_gap;  // the id of the gap, or stuck transaction, that was accepted last
  // A stream was started since the process began; it stays true.
  bool has_streamed = false;
  // Another instance held the slot at the last connection: it reports what is published, also while
  // this process reconnects.
  bool stood_by = false;
  // Nothing is read after the open transaction.
  bool draining = false;
  // The last state, in phase kDisconnected.
  bool finished = false;
  absl::Status result;  // why the relay finished; OK after a drain
  // For the age of unpublished rows: since then nothing could be read.
  MonoTime disconnected_since;
  MonoTime last_delivery;                      // or the time since which records are in flight
  std::optional<WallTime> oldest_unpublished;  // commit time, when the last session ended
  std::optional<WallTime> oldest_unread;       // the same, of rows that must be read again
};

}  // namespace walrelay
