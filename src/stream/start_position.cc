#include "stream/start_position.h"

#include <fmt/format.h>

#include <algorithm>

#include "stream/publication_change.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr Lsn kEndless(UINT64_MAX);  // the end of a timeline that has not ended

absl::Status CheckSlotKind(const SlotFacts& slot, const ServerFacts& server) {
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

bool IsLost(const SlotFacts& slot) {
  return slot.wal_status == "lost" || !slot.invalidation_reason.empty();
}

// Checks the slot after its loss was accepted: it must be a new and readable one.
absl::Status CheckAwaitedSlot(const SourceFacts& facts) {
  if (!facts.slot) {
    return Error(ErrorCode::kSlotMissing,
                 "the gap was accepted; publishing continues as soon as the slot exists");
  }
  WR_RETURN_IF_ERROR(CheckSlotKind(*facts.slot, facts.server));
  const bool usable = !IsLost(*facts.slot) && facts.slot->confirmed_flush <= facts.server.wal_end;
  return usable ? absl::OkStatus()
                : Error(ErrorCode::kSlotUnusable,
                        "the gap was accepted, but this slot is no longer readable",
                        "Drop the slot and create a new one with walrelay setup --apply; "
                        "publishing continues automatically.");
}

absl::Status CheckSlot(const SourceFacts& facts, const std::optional<StreamMemory>& memory) {
  if (memory && memory->awaits_slot) {
    return CheckAwaitedSlot(facts);
  }
  if (!facts.slot) {
    return memory
               ? Error(ErrorCode::kSlotGone,
                       fmt::format("the slot no longer exists; everything before {} was published",
                                   memory->frontier.ToString()))
               : Error(ErrorCode::kSlotMissing, "the slot does not exist");
  }
  const SlotFacts& slot = *facts.slot;
  WR_RETURN_IF_ERROR(CheckSlotKind(slot, facts.server));
  if (IsLost(slot)) {
    return Error(
        ErrorCode::kSlotLost,
        fmt::format("confirmed up to {}; reason: {}", slot.confirmed_flush.ToString(),
                    slot.invalidation_reason.empty() ? "wal_removed" : slot.invalidation_reason));
  }
  if (slot.confirmed_flush > facts.server.wal_end) {
    return Error(ErrorCode::kSlotAheadOfLog,
                 fmt::format("confirmed {}, but the WAL ends at {}",
                             slot.confirmed_flush.ToString(), facts.server.wal_end.ToString()));
  }
  return absl::OkStatus();
}

absl::Status CheckIdentity(const StreamMemory& memory, const ServerFacts& server) {
  if (server.system_id != memory.system_id) {
    return Error(ErrorCode::kSystemChanged, fmt::format("system identifier {}, previously {}",
                                                        server.system_id, memory.system_id));
  }
  if (server.timeline < memory.timeline) {
    return Error(ErrorCode::kTimelineChanged,
                 fmt::format("timeline {}, previously {}", server.timeline, memory.timeline));
  }
  if (server.timeline == memory.timeline && memory.resume > server.wal_end) {
    return Error(ErrorCode::kServerBehind,
                 fmt::format("its WAL ends at {}, but it had already sent {}",
                             server.wal_end.ToString(), memory.resume.ToString()));
  }
  return absl::OkStatus();
}

// The history of a server's timelines, the current one last.
std::vector<TimelineEnd> Descent(const std::vector<TimelineEnd>& ancestors, uint32_t timeline) {
  std::vector<TimelineEnd> descent = ancestors;
  descent.push_back({timeline, kEndless});
  return descent;
}

// The position up to which the server has the same WAL as was read before: kEndless on the same
// timeline, otherwise the position of the fork.
absl::StatusOr<Lsn> CommonLog(const StreamMemory& memory, const ServerFacts& server) {
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

}  // namespace

absl::Status CheckServer(const std::optional<StreamMemory>& memory, const ServerFacts& server) {
  return memory && !server.in_recovery ? CheckIdentity(*memory, server) : absl::OkStatus();
}

absl::StatusOr<StartDecision> DecideStart(const std::optional<StreamMemory>& memory,
                                          const SourceFacts& facts) {
  if (facts.server.in_recovery) {
    return Error(ErrorCode::kInRecovery, "pg_is_in_recovery() is true");
  }
  WR_RETURN_IF_ERROR(CheckServer(memory, facts.server));
  WR_RETURN_IF_ERROR(CheckSlot(facts, memory));
  const Lsn confirmed = facts.slot->confirmed_flush;
  if (!memory || memory->awaits_slot) {
    return StartDecision{.position = confirmed, .keep_in_flight = false};
  }
  if (confirmed > memory->frontier) {
    if (!memory->slot_was_taken) {
      return Error(ErrorCode::kSlotMoved,
                   fmt::format("confirmed up to {} when walrelay last used it, now {}",
                               memory->frontier.ToString(), confirmed.ToString()));
    }
    return StartDecision{.position = confirmed, .keep_in_flight = false, .taken_over = true};
  }
  WR_ASSIGN_OR_RETURN(const Lsn fork, CommonLog(*memory, facts.server));
  if (fork != kEndless) {
    if (confirmed > fork && !memory->slot_was_taken) {
      return Error(ErrorCode::kSlotMoved,
                   fmt::format("timeline {} forked at {} from the WAL that was read, and the slot "
                               "is at {}: it was created or advanced there",
                               facts.server.timeline, fork.ToString(), confirmed.ToString()));
    }
    // Positions after the fork are not comparable. The slot holds the valid position on this
    // timeline.
    return StartDecision{.position = confirmed,
                         .keep_in_flight = false,
                         .timeline_switched = true,
                         .fork = fork,
                         .taken_over = confirmed > fork};
  }
  // The server may have lost the last confirmed position (after a crash, and before PG 17 also
  // after a restart): our memory is ahead of the slot and avoids the repetition.
  return StartDecision{.position = memory->resume, .keep_in_flight = true};
}

absl::Status FindGap(const std::optional<StreamMemory>& memory,
                     const std::optional<PublicationLook>& publication, const SourceFacts& facts) {
  if (facts.server.in_recovery) {
    return absl::OkStatus();
  }
  WR_RETURN_IF_ERROR(CheckServer(memory, facts.server));
  if (publication) {
    const PublicationLook& now = facts.publication_look;
    const std::string change = HidingChange(publication->identity, now.identity);
    if (!change.empty()) {
      return Error(ErrorCode::kPublicationChanged,
                   fmt::format("{}; rows written between {} and {} may be missing", change,
                               publication->before.ToString(), now.after.ToString()));
    }
  }
  if (facts.slot && facts.slot->active) {
    return absl::OkStatus();
  }
  const absl::Status start = DecideStart(memory, facts).status();
  return start.ok() || ReactionTo(start) == Reaction::kGap ? start : absl::OkStatus();
}

Lsn CommonWalEnd(const StreamMemory& memory, const ServerFacts& server) {
  const auto common = CommonLog(memory, server);
  return common.ok() ? *common : Lsn();
}

StreamMemory AcceptedMemory(const SourceFacts& facts) {
  StreamMemory memory{.system_id = facts.server.system_id,
                      .timeline = facts.server.timeline,
                      .ancestors = facts.server.ancestors};
  const bool usable =
      facts.slot && !IsLost(*facts.slot) && facts.slot->confirmed_flush <= facts.server.wal_end;
  memory.awaits_slot = !usable;
  if (usable) {
    memory.frontier = memory.resume = facts.slot->confirmed_flush;
    memory.slot_was_taken = facts.slot->active;
  }
  return memory;
}

std::vector<absl::Status> PublicationProblems(const SourceFacts& facts,
                                              std::string_view publication) {
  std::vector<absl::Status> problems;
  if (!facts.publication.exists) {
    problems.push_back(Error(ErrorCode::kPublicationMissing, fmt::format("\"{}\"", publication)));
    return problems;
  }
  if (!facts.publication.publishes_insert) {
    problems.push_back(Error(ErrorCode::kPublicationHidesRows,
                             fmt::format("\"{}\" does not publish inserts", publication)));
  }
  for (const TableFacts& table : facts.tables) {
    if (table.name.empty()) {
      continue;  // logical messages only
    }
    const std::string name = fmt::format("{}.{}", table.schema, table.name);
    if (table.oid == 0) {
      problems.push_back(Error(ErrorCode::kTableMissing, name));
    } else if (table.unlogged) {
      problems.push_back(Error(ErrorCode::kTableUnlogged, name));
    } else if (!table.published) {
      problems.push_back(Error(ErrorCode::kTableNotPublished,
                               fmt::format("{} is not in publication \"{}\"", name, publication)));
    } else if (table.partitioned && !facts.publication.via_partition_root) {
      problems.push_back(Error(ErrorCode::kPartitionLeaves, name));
    } else if (table.row_filter) {
      problems.push_back(Error(ErrorCode::kPublicationHidesRows,
                               fmt::format("{} is published with a row filter", name)));
    }
  }
  return problems;
}

}  // namespace walrelay
