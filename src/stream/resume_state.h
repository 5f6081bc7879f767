// ResumeState: the relay's memory of a server's WAL, and of what it has published from it; and
// whether a server is still the one that it remembers.
//
// Plain values of this process, which begin with those of a progress record if there is one.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "walrelay/lsn.h"
#include "walrelay/position.h"
#include "walrelay/progress.h"
#include "walrelay/replication_source.h"
#include "walrelay/xid_horizon.h"

namespace walrelay {

// A transaction that was not handled to its end.
struct UnfinishedTransaction {
  PublishedTransaction transaction;  // not valid: none
  Position next;                     // rows before it were handled
};

// A stream of this process, or an operator's acceptance, has left the memory.
struct LeftByStream {
  Lsn resume;  // AckTracker::resume(), not before the frontier
  // The last transaction with events before `resume`; its records may be in flight.
  PublishedTransaction last_handled;
  // The transaction whose first rows the stream has handled, if it has not handled all of them.
  UnfinishedTransaction unfinished;
};

// The memory is that of a progress record, and no stream of this process has begun from it.
struct Recorded {};

// An operator has accepted that no usable slot exists. The relay waits for a new slot, and reads it
// from its confirmed position. It does not know what is published.
struct AwaitsSlot {};

// The relay's memory of a server's WAL, and of what it has published from it.
struct ResumeState {
  std::string system_id;
  uint32_t timeline = 0;
  std::vector<TimelineEnd> ancestors;
  Lsn frontier;                 // everything before it is published, and may have been confirmed
  bool slot_was_taken = false;  // another process was seen holding the slot since
  // The last transaction with events before the frontier.
  PublishedTransaction last_published;
  // The transaction behind the frontier whose first rows are published, as far as that is recorded.
  PartialTransaction partial;
  Lsn settled_before;  // Progress::settled_before; what was handled since is behind it
  // No transaction that was handled committed later; the largest time: unknown.
  WallTime latest_commit = WallTime::max();
  // Passed by a stream of this timeline; ascending. The WAL before them is flushed: no crash makes
  // the server assign the xids again that had ended there.
  std::vector<XidHorizon> horizons;
  std::variant<LeftByStream, Recorded, AwaitsSlot> source;

  const LeftByStream* stream() const { return std::get_if<LeftByStream>(&source); }
  const Recorded* record() const { return std::get_if<Recorded>(&source); }
  bool awaits_slot() const { return std::holds_alternative<AwaitsSlot>(source); }
};

// Checks that this is the same server as before, and that it has all the WAL that it had sent. Call
// it at each check, even when streaming cannot start: the WAL of a restored server grows past the
// positions that the server had sent, and hides the loss. The function does not check a standby
// server, which may lag.
// Errors: WR-2201 to 2203.
absl::Status CheckServer(const std::optional<ResumeState>& memory, const ServerInfo& server);

// The end of a timeline that has not ended.
constexpr Lsn kEndless(UINT64_MAX);

// The position up to which the server has the same WAL as was read before: kEndless on the same
// timeline, otherwise the position of the fork. Errors: WR-2203 without a common history.
absl::StatusOr<Lsn> CommonWal(const ResumeState& memory, const ServerInfo& server);

// The same; 0/0: no common history.
Lsn CommonWalEnd(const ResumeState& memory, const ServerInfo& server);

// The memory after an operator accepted that events are missing: the current reading, and no
// earlier state.
ResumeState AcceptedResumeState(const SourceInfo& info);

}  // namespace walrelay
