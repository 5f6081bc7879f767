// Where streaming starts on a new connection, and when it must not start at all.
//
// Postgres checks nothing: a position beyond its log, or one of another server, is accepted without
// an error, and every commit until the log gets there is skipped silently. So the relay compares
// what the server, the slot and its own memory say before each START_REPLICATION, and refuses
// rather than guess. What it remembers are plain values, today those of the process; nothing is
// kept on disk, the slot is the one durable position.
//
// Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "walrelay/lsn.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// What is remembered of the last session, or of the gap that was accepted last. A plain value: it
// may as well be loaded from elsewhere.
struct StreamMemory {
  std::string system_id;
  uint32_t timeline = 0;
  std::vector<TimelineEnd> ancestors;
  Lsn frontier;                 // AckTracker::frontier(): the most that was ever confirmed
  Lsn resume;                   // AckTracker::resume()
  bool slot_was_taken = false;  // another process was seen holding the slot since
  // An operator accepted that there is no usable slot: the next one is read from where it stands.
  // It is waited for, not created.
  bool awaits_slot = false;
};

struct StartDecision {
  Lsn position;                // for START_REPLICATION
  bool keep_in_flight = true;  // what the producer still holds goes on counting
  bool timeline_switched = false;
  Lsn fork;                 // where it parted from what was read before, if it was switched
  bool taken_over = false;  // another instance relayed in between
};

// Whether this is still the server that was read from, and has all that it sent. To be asked at
// each look, whether or not streaming can start then: the log of a server that was restored grows
// past what it had sent, and nothing shows any more. A standby is not asked: it may lag. Errors:
// WR-2201 to 2203.
absl::Status CheckServer(const std::optional<StreamMemory>& memory, const ServerFacts& server);

// After a failover the two servers' logs are the same up to a fork. A slot that stands beyond it,
// without us, was made or advanced there: it is not the one that was read before.
//
// Errors: those of the slot (WR-2101 to 2106), of the system (WR-2201 to 2203), WR-2010.
absl::StatusOr<StartDecision> DecideStart(const std::optional<StreamMemory>& memory,
                                          const SourceFacts& facts);

// Whether a look at the source shows that events may be missing: errors with the reaction kGap
// (server, slot, or WR-2110 for the publication), else OK. `publication`: the last look that found
// nothing wrong. Nothing is said of a standby, nor of a slot that somebody reads: its reader
// answers for it.
absl::Status FindGap(const std::optional<StreamMemory>& memory,
                     const std::optional<PublicationLook>& publication, const SourceFacts& facts);

// Up to where the server has the WAL that was read before; the largest position when all of it.
// 0/0: nothing in common, as far as its history tells.
Lsn CommonWalEnd(const StreamMemory& memory, const ServerFacts& server);

// What is remembered once an operator has accepted that events are missing: what the look found,
// and nothing of before.
StreamMemory AcceptedMemory(const SourceFacts& facts);

// Everything else that would make events go missing, as far as the catalog shows it: publication
// and tables. Empty when all is well; the most basic problem first.
std::vector<absl::Status> PublicationProblems(const SourceFacts& facts,
                                              std::string_view publication);

}  // namespace walrelay
