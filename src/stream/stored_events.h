// StoredEvents: which events a partition already has, as the headers at its end show.
//
// A partition holds a gapless prefix of its events, because records of a producer are delivered in
// order and without a gap. So everything up to the greatest position in it is there. The greatest,
// not the last: after a start without headers to go by, older events may have been sent again.
//
// When in doubt an event is sent again: headers count only if they are of the WAL that is being
// read, of the same routing, and of the same number of partitions.
//
// Not thread-safe; no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "walrelay/record_position.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// The id of a timeline of a pipeline's source. `generation`: the number of accepted gaps; after
// each, positions are not comparable even on the same timeline.
uint64_t HistoryId(std::string_view pipeline, std::string_view system_id, uint32_t timeline,
                   uint64_t generation);
WalHistory HistoryOf(std::string_view pipeline, const ServerInfo& server, uint64_t generation,
                     uint32_t routing);

class StoredEvents {
 public:
  // No event is known to be stored.
  StoredEvents() = default;

  // A record at the end of the partition, in any order, of a topic that now has `partitions`.
  void OnRecord(const RecordPosition& record, uint32_t record_partitions, const WalHistory& history,
                uint32_t partitions);

  // Whether the partition has the event. WR-2204 if it has one of another transaction at the same
  // position: then the server's WAL is not the one that was published.
  absl::StatusOr<bool> Contains(const RecordPosition& event) const;

  const std::optional<RecordPosition>& last() const { return last_; }

 private:
  std::optional<RecordPosition> last_;
};

}  // namespace walrelay
