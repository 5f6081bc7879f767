#include "stream/start_position.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/quote.h"
#include "stream/publication_change.h"
#include "stream/slot_loss.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// START_REPLICATION rejects such slots too, but its messages name no remedy.
absl::Status CheckSlotKind(const SlotInfo& slot, const ServerInfo& server) {
  if (!slot.logical) {
    return Error(ErrorCode::kSlotUnusable, "it is a physical slot");
  }
  if (slot.plugin != "pgoutput") {
    return Error(ErrorCode::kSlotUnusable,
                 fmt::format("its plugin is {}, not pgoutput", slot.plugin));
  }
  if (slot.database != server.database) {
    return Error(ErrorCode::kSlotUnusable,
                 fmt::format("it belongs to database {}, not {}", slot.database, server.database));
  }
  if (slot.temporary) {
    return Error(ErrorCode::kSlotUnusable, "it is temporary and ends with its session");
  }
  return absl::OkStatus();
}

// Checks the slot after its loss was accepted: it must be a new and readable one.
absl::Status CheckAwaitedSlot(const SourceInfo& info) {
  if (!info.slot) {
    return Error(ErrorCode::kSlotMissing,
                 "the gap was accepted; publishing continues as soon as the slot exists");
  }
  WR_RETURN_IF_ERROR(CheckSlotKind(*info.slot, info.server));
  const bool usable = !info.slot->lost() && info.slot->confirmed_flush_lsn <= info.server.wal_end;
  return usable ? absl::OkStatus()
                : Error(ErrorCode::kSlotUnusable,
                        "the gap was accepted, but this slot is no longer readable",
                        "Drop the slot and create a new one with walrelay setup --apply; "
                        "publishing continues automatically.");
}

// A missing slot is a gap only for a relay that has read it: on the first start the operator has
// not created it yet.
absl::Status CheckSlot(const SourceInfo& info, const std::optional<ResumeState>& memory) {
  if (info.recovery_pid != 0) {
    return Error(ErrorCode::kSlotMissing,
                 fmt::format("walrelay recover is replacing the slot (process {} of the server)",
                             info.recovery_pid),
                 "Wait until walrelay recover has ended, then start the relay again. If it was "
                 "killed, the server process ends with it: run walrelay recover again.");
  }
  if (memory && memory->awaits_slot()) {
    return CheckAwaitedSlot(info);
  }
  if (!info.slot) {
    return memory
               ? Error(ErrorCode::kSlotGone,
                       fmt::format("the slot no longer exists; everything before {} was published",
                                   memory->frontier.ToString()))
               : Error(ErrorCode::kSlotMissing, "the slot does not exist");
  }
  const SlotInfo& slot = *info.slot;
  WR_RETURN_IF_ERROR(CheckSlotKind(slot, info.server));
  if (slot.lost()) {
    return SlotLostError(
        slot,
        fmt::format("confirmed up to {}; reason: {}", slot.confirmed_flush_lsn.ToString(),
                    slot.invalidation_reason.empty() ? "wal_removed" : slot.invalidation_reason));
  }
  if (slot.confirmed_flush_lsn > info.server.wal_end) {
    return Error(ErrorCode::kSlotAheadOfLog,
                 fmt::format("confirmed {}, but the WAL ends at {}",
                             slot.confirmed_flush_lsn.ToString(), info.server.wal_end.ToString()));
  }
  return absl::OkStatus();
}

// Events of transactions that committed before this position are published, or were handled.
Lsn SettledBefore(const ResumeState& memory, const PublishedTransaction& last, Lsn fork) {
  return std::min(std::max(memory.settled_before, last.behind()), fork);
}

// Where a record names a transaction, the stream shows whether the server has it. Behind it, the
// record alone would decide what is skipped: only what the slot, or the beginning of the server's
// timeline, shows as well is believed. `fork`: nothing behind it is believed in any case.
absl::Status CheckEvidence(const ResumeState& memory, Lsn confirmed, Lsn fork,
                           const ServerInfo& server) {
  const bool named =
      memory.last_published.valid() && memory.settled_before <= memory.last_published.behind();
  if (memory.record() == nullptr || named || memory.partial.valid()) {
    return absl::OkStatus();
  }
  const Lsn begun = server.ancestors.empty() ? Lsn() : server.ancestors.back().end;
  if (SettledBefore(memory, {}, fork) <= std::max(confirmed, begun)) {
    return absl::OkStatus();
  }
  return Error(ErrorCode::kProgressUnproven,
               fmt::format("it says that everything before {} is published, and names no last "
                           "transaction; the slot is confirmed up to {}",
                           memory.settled_before.ToString(), confirmed.ToString()));
}

// An unknown time stays unknown while the server may send such a transaction again: its clock may
// have been set back, or the transaction may have the time of another server.
WallTime LatestCommit(const ResumeState& memory, const StartDecision& decision,
                      const ServerInfo& server) {
  const bool sent_again = decision.settled_before.commit_lsn > decision.position;
  const bool unknown = memory.latest_commit == WallTime::max();
  const WallTime latest = unknown && !sent_again ? server.now : memory.latest_commit;
  const LeftByStream* stream = memory.stream();
  const WallTime begun =
      stream != nullptr ? stream->unfinished.transaction.commit_time : WallTime::min();
  return std::max({latest, begun, memory.partial.transaction.commit_time});
}

// The stream starts at the slot's position, although more was handled: only what the server sends
// shows whether it still has the history of the memory. `fork`: only what was published before it
// counts, and records in flight do not.
StartDecision CompareHistory(const ResumeState& memory, Lsn confirmed, Lsn fork) {
  const LeftByStream* stream = memory.stream();
  const bool published_only = stream == nullptr || fork != kEndless;
  const PublishedTransaction& last = published_only ? memory.last_published : stream->last_handled;
  const bool kept = last.valid() && last.commit_lsn < fork;
  StartDecision decision{.position = confirmed,
                         .keep_in_flight = !published_only,
                         .settled_before = {SettledBefore(memory, last, fork), Lsn(), 0},
                         .last_published = kept ? last : PublishedTransaction(),
                         .recorded_settled = SettledBefore(memory, memory.last_published, fork)};
  for (const XidHorizon& horizon : memory.horizons) {
    if (horizon.insert_lsn <= fork) {
      decision.horizons.push_back(horizon);
    }
  }
  if (published_only) {
    decision.published_before = std::min(memory.frontier, fork);
  }
  // As the server decides it: a transaction is sent if its COMMIT record begins at the confirmed
  // position or after it (SnapBuildXactNeedsSkip in snapbuild.c).
  if (kept && last.commit_lsn >= confirmed) {
    decision.expected = last;
  }
  const PartialTransaction& partial = memory.partial;
  const Lsn partly = partial.transaction.commit_lsn;
  if (published_only && partial.valid() && partly >= decision.settled_before.commit_lsn &&
      partly < fork) {
    decision.partial = partial;
    decision.expected_next = partial.transaction;
    decision.settled_before = partial.last_row().Next();
  } else if (!published_only && stream->unfinished.next > decision.settled_before) {
    decision.expected_next = stream->unfinished.transaction;
    decision.settled_before = stream->unfinished.next;
  }
  return decision;
}

}  // namespace

// The order of the checks is that of their weight: a different server explains a different slot,
// and a slot that moved explains a position that does not fit.
absl::StatusOr<StartDecision> DecideStart(const std::optional<ResumeState>& memory,
                                          const SourceInfo& info) {
  if (info.server.in_recovery) {
    return Error(ErrorCode::kInRecovery, "pg_is_in_recovery() is true");
  }
  WR_RETURN_IF_ERROR(CheckServer(memory, info.server));
  WR_RETURN_IF_ERROR(CheckSlot(info, memory));
  WR_CHECK(info.slot.has_value(), "a checked slot exists");
  const Lsn confirmed = info.slot->confirmed_flush_lsn;
  if (!memory || memory->awaits_slot()) {
    return StartDecision{
        .position = confirmed, .keep_in_flight = false, .latest_commit = info.server.now};
  }
  // Only walrelay confirms this slot, so a position beyond the frontier was confirmed by another
  // process: by an instance that was seen holding the slot, or by pg_replication_slot_advance().
  if (confirmed > memory->frontier) {
    if (!memory->slot_was_taken) {
      return Error(ErrorCode::kSlotMoved,
                   fmt::format("confirmed up to {} when walrelay last used it, now {}",
                               memory->frontier.ToString(), confirmed.ToString()));
    }
    return StartDecision{.position = confirmed,
                         .keep_in_flight = false,
                         .taken_over = true,
                         .latest_commit = info.server.now};
  }
  WR_CHECK(info.server.system_id == memory->system_id && info.server.timeline >= memory->timeline,
           "positions are compared on one system, on this timeline or a later one");
  WR_ASSIGN_OR_RETURN(const Lsn fork, CommonWal(*memory, info.server));
  WR_RETURN_IF_ERROR(CheckEvidence(*memory, confirmed, fork, info.server));
  StartDecision decision = CompareHistory(*memory, confirmed, fork);
  decision.latest_commit = LatestCommit(*memory, decision, info.server);
  if (fork != kEndless) {
    if (confirmed > fork && !memory->slot_was_taken) {
      return Error(ErrorCode::kSlotMoved,
                   fmt::format("timeline {} forked at {} from the WAL that was read, and the slot "
                               "is at {}: it was created or advanced there",
                               info.server.timeline, fork.ToString(), confirmed.ToString()));
    }
    // Positions after the fork are not comparable. The slot holds the valid position on this
    // timeline.
    decision.timeline_switched = true;
    decision.fork = fork;
    decision.taken_over = confirmed > fork;
  }
  return decision;
}

// The server first: while it is another one, no reading of the publication or the slot can be
// compared.
absl::Status FindGap(const std::optional<ResumeState>& memory,
                     const std::optional<PublicationState>& publication, const SourceInfo& info) {
  if (info.server.in_recovery) {
    return absl::OkStatus();
  }
  WR_RETURN_IF_ERROR(CheckServer(memory, info.server));
  if (publication) {
    const PublicationState& now = info.publication_state;
    const std::string change = HidingChange(publication->identity, now.identity);
    if (!change.empty()) {
      return Error(ErrorCode::kPublicationChanged,
                   fmt::format("{}; rows written between {} and {} may be missing", change,
                               publication->before.ToString(), now.after.ToString()));
    }
  }
  if (info.slot && info.slot->active) {
    return absl::OkStatus();
  }
  const absl::Status start = DecideStart(memory, info).status();
  return start.ok() || ReactionTo(start) == Reaction::kGap ? start : absl::OkStatus();
}

namespace {

// The leaves whose rows walrelay does not receive. OK: none. The table itself is checked before.
absl::Status LeafProblem(const TableInfo& table) {
  constexpr size_t kMostNamed = 3;
  std::string causes;
  size_t count = 0;
  ErrorCode code = ErrorCode::kTableUnlogged;
  for (const TableLeaf& leaf : table.leaves) {
    if (leaf.stream == LeafStream::kSent || leaf.oid == table.oid) {
      continue;
    }
    if (++count <= kMostNamed) {
      causes += fmt::format("{}{}", causes.empty() ? "" : ", ", WhyUnsent(leaf));
    }
    code = leaf.stream == LeafStream::kUnlogged ? code : ErrorCode::kTableLeafUnsent;
  }
  if (count == 0) {
    return absl::OkStatus();
  }
  return Error(code,
               fmt::format("a part of {}.{}: {}{}", table.schema, table.name, causes,
                           count > kMostNamed ? fmt::format(", and {} others", count - kMostNamed)
                                              : std::string()));
}

}  // namespace

std::vector<absl::Status> PublicationProblems(const SourceInfo& info,
                                              std::string_view publication) {
  std::vector<absl::Status> problems;
  if (!info.publication.exists) {
    problems.push_back(Error(ErrorCode::kPublicationMissing, fmt::format("\"{}\"", publication)));
    return problems;
  }
  if (!info.publication.publishes_insert) {
    problems.push_back(Error(ErrorCode::kPublicationHidesRows,
                             fmt::format("\"{}\" does not publish inserts", publication)));
  }
  // At most one problem per table: the first one makes the others irrelevant.
  for (const TableInfo& table : info.tables) {
    if (table.name.empty()) {
      continue;  // logical messages only
    }
    const std::string name = fmt::format("{}.{}", table.schema, table.name);
    if (table.oid == 0) {
      problems.push_back(Error(ErrorCode::kTableMissing, name));
    } else if (table.unlogged) {
      problems.push_back(Error(ErrorCode::kTableUnlogged, name));
    } else if (!table.sent_as.empty()) {
      problems.push_back(
          Error(ErrorCode::kTableSentAs, fmt::format("{} is sent as {}", name, table.sent_as)));
    } else if (!table.published) {
      problems.push_back(Error(
          ErrorCode::kTableNotPublished,
          fmt::format("{} is not in publication \"{}\"", name, publication),
          fmt::format("ALTER PUBLICATION {} ADD TABLE {};  -- rows inserted "
                      "before that are not sent",
                      QuoteIdentifier(publication), QuoteQualified(table.schema, table.name))));
    } else if (table.partitioned && !info.publication.via_partition_root) {
      problems.push_back(Error(ErrorCode::kPartitionLeaves, name));
    } else if (table.row_filter) {
      problems.push_back(Error(ErrorCode::kPublicationHidesRows,
                               fmt::format("{} is published with a row filter", name)));
    } else if (const absl::Status problem = LeafProblem(table); !problem.ok()) {
      problems.push_back(problem);
    }
  }
  return problems;
}

}  // namespace walrelay
