// RecoverySlot: a temporary slot that becomes the slot of a pipeline.
//
// It belongs to a walsender of its own, and Postgres drops it when that connection ends, whatever
// became of this process. So an unfinished recovery retains no WAL.
//
// Not thread-safe. Blocks like PgConnection.
//
// Source: Postgres documentation, "Streaming Replication Protocol" (CREATE_REPLICATION_SLOT,
// ALTER_REPLICATION_SLOT), "Replication Management Functions" (pg_copy_logical_replication_slot)
// and "Snapshot Synchronization Functions".
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "recover/new_slot.h"
#include "walrelay/config/source.h"

namespace walrelay {

// Whether the server has failover slots: Postgres 17.
bool HasFailover(int server_version);

class RecoverySlot {
 public:
  // Creates RecoverySlotOf(source.slot). Waits until the transactions that run at that moment have
  // ended, at most for the lock_timeout of the session contract. Errors: WR-2102 if another
  // recovery has one; those of a connection, of the role (WR-2007) and of the server (WR-2008,
  // WR-2011).
  static absl::StatusOr<RecoverySlot> Create(const SourceConfig& source);

  // `snapshot` can be imported until Replace() is called, and as long as this object exists.
  const NewSlot& slot() const { return slot_; }

  // Drops the pipeline's slot, if it exists, and copies this one to its name, which is a single
  // step: position and snapshot of the catalog are those of this slot. `failover` requires Postgres
  // 17. Errors: WR-2102 if a process has acquired the old slot meanwhile; those of the server.
  absl::Status Replace(bool failover);

  // Makes the pipeline's slot, which works, a failover slot. REQUIRES: HasFailover(). Errors:
  // WR-2102 if a process reads it; those of a connection and of the server.
  static absl::Status EnableFailover(const SourceConfig& source);

 private:
  RecoverySlot(PgConnection connection, const SourceConfig& source, NewSlot slot)
      : connection_(std::move(connection)), source_(source), slot_(std::move(slot)) {}

  PgConnection connection_;  // the walsender, which owns slot and snapshot
  SourceConfig source_;
  NewSlot slot_;
};

}  // namespace walrelay
