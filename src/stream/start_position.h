// Decides where streaming starts on a new connection, and when it must not start.
//
// Postgres does not check the position: one beyond the end of its WAL, or one of another server, is
// accepted without an error, and every commit until the WAL gets there is skipped silently.
// Therefore the relay compares the server, the slot and its own memory before each
// START_REPLICATION, and refuses to start if they disagree. Its memory consists of plain values of
// this process, which begin with those of a progress record if there is one.
//
// Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

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

// An operator has accepted that there is no usable slot. The relay waits until someone creates one,
// and reads that one from its confirmed position. It does not know what is published.
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

struct StartDecision {
  Lsn position;                // for START_REPLICATION
  bool keep_in_flight = true;  // records in the sink still count
  bool timeline_switched = false;
  Lsn fork;                 // position of the fork, if the timeline was switched
  bool taken_over = false;  // another instance published in between
  // Events of transactions that committed before it were published, though the stream contains
  // them; 0/0: none.
  Lsn published_before;
  // Rows before it are not sent again. Less than `published_before` where the record shows that no
  // events were published in between: there are some only if the server was restored to a state in
  // between. Greater where the first rows of a transaction behind it were published.
  Position settled_before;
  // The stream must contain these transactions, in this order, if they are valid. Some rows of the
  // second one were published or handled before.
  PublishedTransaction expected;
  PublishedTransaction expected_next;
  PublishedTransaction last_published;  // up to where the stream starts, or `published_before`
  PartialTransaction partial;           // behind `published_before`
  // No transaction that counts as published committed later. The largest time: unknown.
  WallTime latest_commit = WallTime::max();
  Lsn recorded_settled;              // Progress::settled_before, of the stream
  std::vector<XidHorizon> horizons;  // of the memory, up to the fork
};

// Whether this is the same server as before, and whether it has all the WAL that it had sent. Call
// it at each check, even when streaming cannot start: the WAL of a restored server grows past what
// it had sent, and then the loss is no longer visible. A standby server is not checked: it may lag.
// Errors: WR-2201 to 2203.
absl::Status CheckServer(const std::optional<ResumeState>& memory, const ServerInfo& server);

// After a failover the WAL of the two servers is identical up to a fork. A slot that is beyond the
// fork, without having been read by this relay, was created or advanced there: it is not the slot
// that was read before.
//
// Errors: those of the slot (WR-2101 to 2107), of the system (WR-2201 to 2203), WR-2206 for a
// record that skips events without evidence, WR-2010. REQUIRES: the frontier that a stream has left
// is not beyond where it resumes.
absl::StatusOr<StartDecision> DecideStart(const std::optional<ResumeState>& memory,
                                          const SourceInfo& info);

// Whether a reading of the source shows that events may be missing: errors with the reaction kGap
// (server, slot, or WR-2110 for the publication), otherwise OK. `publication`: the last reading
// without a problem. A standby server is not checked, nor a slot that another process reads: that
// process is responsible for it.
absl::Status FindGap(const std::optional<ResumeState>& memory,
                     const std::optional<PublicationState>& publication, const SourceInfo& info);

// The position up to which the server has the WAL that was read before; the largest position if it
// has all of it. 0/0: no common history.
Lsn CommonWalEnd(const ResumeState& memory, const ServerInfo& server);

// The memory after an operator accepted that events are missing: the current reading, and no
// earlier state.
ResumeState AcceptedResumeState(const SourceInfo& info);

// Further problems that would make events go missing, as far as the catalog shows them: publication
// and tables. Empty when there are none; the most basic problem first.
std::vector<absl::Status> PublicationProblems(const SourceInfo& info, std::string_view publication);

}  // namespace walrelay
