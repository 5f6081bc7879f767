// StoredEvents: which events a partition already has, as the headers at its end show.
//
// Records of a sink are delivered in order and without a gap. So of each transaction that has a
// record at the end of the partition, everything up to the greatest position is there. The
// greatest, not the last: after a start without headers to go by, older events may have been sent
// again.
//
// When in doubt an event is sent again: headers count only if they are of the WAL that is being
// read, of the same routing, and of the same number of partitions. And an event of a transaction
// without such a record is not stored, also if later ones are: a server that was restored to an
// older state may have rewritten the WAL without a new timeline.
//
// Not thread-safe; no I/O.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "absl/status/statusor.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"
#include "walrelay/position.h"
#include "walrelay/record_position.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// The id of a timeline of a pipeline's source. `generation`: the number of accepted gaps; after
// each, positions are not comparable even on the same timeline.
uint64_t HistoryId(std::string_view pipeline, std::string_view system_id, uint32_t timeline,
                   uint64_t generation);
WalHistory HistoryOf(std::string_view pipeline, const ServerInfo& server, uint64_t generation,
                     uint32_t routing);

// Whether every record that can be read from a partition is stored as safely as an acknowledged
// one. `min_in_sync`: min.insync.replicas of the topic; nullopt: unknown.
bool IsStoredSafely(int in_sync, int replicas, std::optional<int64_t> min_in_sync);

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

  // The greatest position; nullopt: no header counts.
  const std::optional<Position>& last() const { return last_; }
  // Whether older records of the partition may be of transactions that do not commit before
  // `unpublished`: none of the records at the end is older.
  bool MayGoFurtherBack(Lsn unpublished) const;

 private:
  using Transaction = std::tuple<Lsn, uint32_t, WallTime>;  // commit position, xid, commit time

  std::map<Transaction, Position> greatest_;  // of each one with a record at the end
  std::optional<Position> last_;
};

}  // namespace walrelay
