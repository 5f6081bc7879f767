#include "stream/stored_events.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fnv.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr Lsn kOpenEnd(UINT64_MAX);  // of the current timeline

bool IsPart(const WalHistory& history, const RecordPosition& record) {
  return std::any_of(history.parts.begin(), history.parts.end(), [&](const auto& part) {
    return part.id == record.history && record.position.commit_lsn < part.end;
  });
}

}  // namespace

uint64_t HistoryId(std::string_view pipeline, std::string_view system_id, uint32_t timeline,
                   uint64_t generation) {
  Fnv64 id;
  id.Add(pipeline);
  id.Add(system_id);
  id.Add(fmt::format("{}", timeline));
  id.Add(fmt::format("{}", generation));
  return id.value();
}

WalHistory HistoryOf(std::string_view pipeline, const ServerInfo& server, uint64_t generation,
                     uint32_t routing) {
  WalHistory history{.parts = {}, .routing = routing};
  // A later timeline may have branched off before the end of an earlier one.
  Lsn end = kOpenEnd;
  history.parts.push_back(
      {HistoryId(pipeline, server.system_id, server.timeline, generation), end});
  for (auto ancestor = server.ancestors.rbegin(); ancestor != server.ancestors.rend(); ++ancestor) {
    end = std::min(end, ancestor->end);
    history.parts.push_back(
        {HistoryId(pipeline, server.system_id, ancestor->timeline, generation), end});
  }
  std::reverse(history.parts.begin(), history.parts.end());
  return history;
}

void StoredEvents::OnRecord(const RecordPosition& record, uint32_t record_partitions,
                            const WalHistory& history, uint32_t partitions) {
  const bool counts = record.routing == history.routing && record_partitions == partitions &&
                      IsPart(history, record);
  if (counts && (!last_ || last_->position < record.position)) {
    last_ = record;
  }
}

absl::StatusOr<bool> StoredEvents::Contains(const RecordPosition& event) const {
  if (!last_ || last_->position < event.position) {
    return false;
  }
  if (last_->position.commit_lsn == event.position.commit_lsn && last_->xid != event.xid) {
    return Error(ErrorCode::kHistoryRewritten,
                 fmt::format("at {}, the topic has events of transaction {}, and the server sends "
                             "transaction {}",
                             event.position.commit_lsn.ToString(), last_->xid, event.xid));
  }
  return true;
}

}  // namespace walrelay
