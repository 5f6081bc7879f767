#include "stream/published_xids.h"

#include <algorithm>

#include "stream/progress_record.h"
#include "stream/resume_state.h"

namespace walrelay {

std::optional<PublishedXids> PublishedXidsOf(const Progress& record, const ServerInfo& server) {
  const bool restored = record.timeline == server.timeline && server.wal_end < record.frontier;
  if (record.system_id != server.system_id || restored || !record.published_from.valid()) {
    return std::nullopt;
  }
  const Lsn common = CommonWalEnd(ResumeStateOf(record), server);
  // Ascending: the last one before the fork is the newest.
  for (auto horizon = record.horizons.rbegin(); horizon != record.horizons.rend(); ++horizon) {
    if (horizon->insert_lsn <= common) {
      return horizon->xid > record.published_from.xid
                 ? std::optional(PublishedXids{.from = record.published_from,
                                               .before = horizon->xid,
                                               .as_of = horizon->taken})
                 : std::nullopt;
    }
  }
  return std::nullopt;
}

// Counted backwards, in numbers without a sign: the range may contain a multiple of 2^32.
bool PublishedXids::Include(uint32_t xmin) const {
  return static_cast<uint32_t>(before - 1) - xmin < length();
}

}  // namespace walrelay
