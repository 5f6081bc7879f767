#include "stream/start_position.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "stream/publication_change.h"
#include "stream/slot_loss.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr Lsn kEndless(UINT64_MAX);  // the end of a timeline that has not ended

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

// initdb creates the system identifier, and physical copies keep it. Timelines grow with each
// promotion: a smaller one is another history of the same system.
absl::Status CheckIdentity(const ResumeState& memory, const ServerInfo& server) {
  if (server.system_id != memory.system_id) {
    return Error(ErrorCode::kSystemChanged, fmt::format("system identifier {}, previously {}",
                                                        server.system_id, memory.system_id));
  }
  if (server.timeline < memory.timeline) {
    return Error(ErrorCode::kTimelineChanged,
                 fmt::format("timeline {}, previously {}", server.timeline, memory.timeline));
  }
  // A BEGIN tells where its COMMIT is: the server had that WAL, too.
  const LeftByStream* stream = memory.stream();
  const Lsn sent = stream != nullptr
                       ? std::max(stream->resume, stream->unfinished.transaction.commit_lsn)
                       : memory.frontier;
  if (server.timeline == memory.timeline && sent > server.wal_end) {
    return Error(ErrorCode::kServerBehind,
                 fmt::format("its WAL ends at {}, but it had already sent {}",
                             server.wal_end.ToString(), sent.ToString()));
  }
  // Its WAL may have grown past that position since.
  const uint64_t ended = memory.horizons.empty() ? 0 : memory.horizons.back().xid;
  const bool assigns_again = server.next_xid != 0 && server.next_xid < ended;
  if (server.timeline == memory.timeline && assigns_again) {
    return Error(ErrorCode::kServerBehind,
                 fmt::format("its next transaction has xid {}, but all before {} had ended",
                             server.next_xid, ended));
  }
  return absl::OkStatus();
}

// The history of a server's timelines, the current one last.
// Each entry is a timeline and the position where the next one branched off. Only the common prefix
// of two such lists describes the same WAL.
std::vector<TimelineEnd> Descent(const std::vector<TimelineEnd>& ancestors, uint32_t timeline) {
  std::vector<TimelineEnd> descent = ancestors;
  descent.push_back({timeline, kEndless});
  return descent;
}

// The position up to which the server has the same WAL as was read before: kEndless on the same
// timeline, otherwise the position of the fork.
// Without the history of one side, an equal number counts as the same timeline. With both, even
// that is compared: two servers may have been promoted to the same number independently.
absl::StatusOr<Lsn> CommonLog(const ResumeState& memory, const ServerInfo& server) {
  const bool unknown = memory.ancestors.empty() || server.ancestors.empty();
  if (server.timeline == memory.timeline && unknown) {
    return kEndless;
  }
  const auto mine = Descent(memory.ancestors, memory.timeline);
  const auto theirs = Descent(server.ancestors, server.timeline);
  std::optional<Lsn> common;
  for (size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) {
    if (mine[i].timeline != theirs[i].timeline) {
      break;
    }
    common = std::min(mine[i].end, theirs[i].end);
    if (mine[i].end != theirs[i].end) {
      break;
    }
  }
  if (!common) {
    return Error(ErrorCode::kTimelineChanged,
                 fmt::format("timeline {} has no common history with timeline {}", server.timeline,
                             memory.timeline));
  }
  return *common;
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

absl::Status CheckServer(const std::optional<ResumeState>& memory, const ServerInfo& server) {
  WR_CHECK(!memory || !memory->stream() || memory->frontier <= memory->stream()->resume,
           "what is confirmed was handled");
  return memory && !server.in_recovery ? CheckIdentity(*memory, server) : absl::OkStatus();
}

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
  WR_ASSIGN_OR_RETURN(const Lsn fork, CommonLog(*memory, info.server));
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

Lsn CommonWalEnd(const ResumeState& memory, const ServerInfo& server) {
  const auto common = CommonLog(memory, server);
  return common.ok() ? *common : Lsn();
}

// From here on nothing earlier is compared: the operator has accepted that it does not match.
ResumeState AcceptedResumeState(const SourceInfo& info) {
  ResumeState memory{.system_id = info.server.system_id,
                     .timeline = info.server.timeline,
                     .ancestors = info.server.ancestors,
                     .latest_commit = info.server.now};
  const bool usable =
      info.slot && !info.slot->lost() && info.slot->confirmed_flush_lsn <= info.server.wal_end;
  if (!usable) {
    memory.source = AwaitsSlot();
    return memory;
  }
  memory.frontier = info.slot->confirmed_flush_lsn;
  memory.source = LeftByStream{.resume = memory.frontier, .last_handled = {}, .unfinished = {}};
  memory.slot_was_taken = info.slot->active;
  return memory;
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
      problems.push_back(Error(ErrorCode::kTableNotPublished,
                               fmt::format("{} is not in publication \"{}\"", name, publication)));
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
