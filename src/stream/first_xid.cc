#include "stream/first_xid.h"

#include <algorithm>

#include "stream/progress_record.h"
#include "stream/resume_state.h"

namespace walrelay {

// Every xid below that of a horizon had ended before the horizon's position. The newest such
// horizon repeats the fewest rows.
std::optional<uint64_t> FirstXidAfter(const Progress& record, const ServerInfo& server, Lsn lsn) {
  const bool restored = record.timeline == server.timeline && server.wal_end < record.frontier;
  if (record.system_id != server.system_id || restored) {
    return std::nullopt;
  }
  const Lsn end = std::min(lsn, CommonWalEnd(ResumeStateOf(record), server));
  const auto found =
      std::find_if(record.horizons.rbegin(), record.horizons.rend(),
                   [end](const XidHorizon& horizon) { return horizon.insert_lsn <= end; });
  return found == record.horizons.rend() ? std::nullopt : std::optional(found->xid);
}

}  // namespace walrelay
