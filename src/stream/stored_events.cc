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

// With all replicas in sync, each has every record that can be read. With fewer, acks=all requires
// this number; a replica that returned to them has what it missed.
bool IsStoredSafely(int in_sync, int replicas, std::optional<int64_t> min_in_sync) {
  return in_sync > 0 && (in_sync >= replicas || (min_in_sync && in_sync >= *min_in_sync));
}

void StoredEvents::OnRecord(const RecordPosition& record, uint32_t record_partitions,
                            const WalHistory& history, uint32_t partitions) {
  const bool counts = record.routing == history.routing && record_partitions == partitions &&
                      IsPart(history, record);
  if (!counts) {
    return;
  }
  const Position& position = record.position;
  last_ = std::max(last_.value_or(position), position);
  Position& greatest = greatest_[{position.commit_lsn, record.xid, record.commit_time}];
  greatest = std::max(greatest, position);
}

bool StoredEvents::MayGoFurtherBack(Lsn unpublished) const {
  return unpublished.valid() && !greatest_.empty() &&
         std::get<Lsn>(greatest_.begin()->first) >= unpublished;
}

absl::StatusOr<bool> StoredEvents::Contains(const RecordPosition& event) const {
  const Position& position = event.position;
  if (!last_ || last_->commit_lsn < position.commit_lsn) {
    return false;
  }
  const Transaction sent{position.commit_lsn, event.xid, event.commit_time};
  const Transaction* other = nullptr;
  for (auto found = greatest_.lower_bound({position.commit_lsn, 0, WallTime::min()});
       found != greatest_.end() && std::get<Lsn>(found->first) == position.commit_lsn; ++found) {
    const auto& [transaction, greatest] = *found;
    if (transaction == sent) {
      return position <= greatest;
    }
    other = &transaction;
  }
  if (other != nullptr) {
    const auto xid = std::get<uint32_t>(*other);
    return Error(ErrorCode::kHistoryRewritten,
                 fmt::format("at {}, the topic has events of transaction {}, and the server sends "
                             "transaction {}{}",
                             position.commit_lsn.ToString(), xid, event.xid,
                             xid == event.xid ? " of another time" : ""));
  }
  return false;
}

}  // namespace walrelay
