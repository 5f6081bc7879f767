#include "stream/resume_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

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

}  // namespace

absl::Status CheckServer(const std::optional<ResumeState>& memory, const ServerInfo& server) {
  WR_CHECK(!memory || !memory->stream() || memory->frontier <= memory->stream()->resume,
           "what is confirmed was handled");
  return memory && !server.in_recovery ? CheckIdentity(*memory, server) : absl::OkStatus();
}

// Without the history of one side, an equal number counts as the same timeline. With both, even
// that is compared: two servers may have been promoted to the same number independently.
absl::StatusOr<Lsn> CommonWal(const ResumeState& memory, const ServerInfo& server) {
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

Lsn CommonWalEnd(const ResumeState& memory, const ServerInfo& server) {
  const auto common = CommonWal(memory, server);
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

}  // namespace walrelay
