// RowClasses: which rows of an outbox table are to be counted as unpublished.
//
// Two facts decide. Every row that a snapshot shows was committed before the position of the WAL
// that was read after it: if the frontier has passed this position, all of them are published. This
// holds also for rows of subtransactions, and while an old transaction is open. Otherwise the
// horizons decide: a row whose xmin is at or above the newest horizon is not known to be published.
// That is an upper bound: rows of the seconds before the stream stopped, of transactions that
// outlasted one of an outbox row, and updated rows may be among them.
//
// A reading of a few seconds ago is compared with the frontier of now, so that the count of a
// pipeline that keeps up is 0, and not what happens to be in flight.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "walrelay/progress.h"
#include "walrelay/xid_horizon.h"

namespace walrelay {

// The bounds have their epoch; they are less than 2^31 transactions old.
struct RowClasses {
  // Every row that was committed at the time of the reading is published, except for `unproven`.
  bool all_published = false;
  // Rows whose xmin is at or above it are not known to be published. Absent: nothing is known.
  std::optional<uint64_t> unpublished_from;
  // Rows whose xmin is less are from before the slot or an accepted gap; at most
  // `unpublished_from`. Absent: not known.
  std::optional<uint64_t> unproven_before;

  friend bool operator==(const RowClasses&, const RowClasses&) = default;
};

// `proof`: as a record says it, or a running relay (PublishedProof). `reading`: of the server of
// the table, and of the present timeline. A proof of another system or timeline proves nothing:
// after a promotion the relay's next record does.
RowClasses RowClassesOf(const Progress& proof, const XidReading& reading);

}  // namespace walrelay
