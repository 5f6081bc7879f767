// Decides where streaming starts on a new connection, and when it must not start.
//
// Postgres does not check the position: one beyond the end of its WAL, or one of another server, is
// accepted without an error, and every commit until the WAL gets there is skipped silently.
// Therefore the relay compares the server, the slot and its own memory before each
// START_REPLICATION, and refuses to start if they disagree (resume_state.h).
//
// Pure functions.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "stream/resume_state.h"
#include "walrelay/lsn.h"
#include "walrelay/position.h"
#include "walrelay/progress.h"
#include "walrelay/replication_source.h"
#include "walrelay/xid_horizon.h"

namespace walrelay {

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

// Further problems that would make events go missing, as far as the catalog shows them: publication
// and tables. Empty when there are none; the most basic problem first.
std::vector<absl::Status> PublicationProblems(const SourceInfo& info, std::string_view publication);

}  // namespace walrelay
